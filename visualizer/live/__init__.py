"""The live stream of a lab: frames, the messages of its socket, and sending to viewers."""
