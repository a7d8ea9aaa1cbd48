"""What `compare` does to a study."""
