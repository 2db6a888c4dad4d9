"""What all tasks of the report worker share: their rows, their requests and their files."""
