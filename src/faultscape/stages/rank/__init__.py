"""What `rank` does to a study."""
