"""What is changed, one thing at a time, to see what would have helped, and what is compared."""
