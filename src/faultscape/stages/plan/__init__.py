"""What `plan` does to a study."""
