"""The live stream of a lab: frames, the socket's vocabulary, and sending to viewers."""
