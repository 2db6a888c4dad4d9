"""Labs at work in this process: opening, running, saving and placing them."""
