"""The parts that the stories of all protocols share."""
