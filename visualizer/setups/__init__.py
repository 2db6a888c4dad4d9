"""A visitor's own set-up: a form that becomes a scenario, and what its failure costs over 20 seeds."""
