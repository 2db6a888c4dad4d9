"""Tags and filters for the templates of this site."""
