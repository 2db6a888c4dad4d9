"""What a page asks about a lab beside the live stream: rows, tiles, curves, stories."""
