"""What templates of this site may call."""
