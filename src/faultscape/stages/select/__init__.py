"""What `select` does to a study."""
