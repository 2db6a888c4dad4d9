"""Labs open in this process: opening, running, saving and placing them."""
