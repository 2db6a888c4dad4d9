"""Pure frame functions: each takes and returns frames, with the columns that its docstring names."""
