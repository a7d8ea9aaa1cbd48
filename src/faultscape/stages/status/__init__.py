"""What `status` does to a study."""
