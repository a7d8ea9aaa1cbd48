"""What `measure` does to a study."""
