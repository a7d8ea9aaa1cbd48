"""What `predict` does to a study."""
