"""A set-up of one's own: a form that becomes a scenario, and what its failure costs over twenty seeds."""
