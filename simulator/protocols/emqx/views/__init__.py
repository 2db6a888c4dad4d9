"""Views of a live EMQX for a page; read-only."""
