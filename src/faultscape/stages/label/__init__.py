"""What `label` does to a study."""
