"""What `collect` does to a study."""
