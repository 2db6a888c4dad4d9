"""What the stories of all protocols are made of."""
