"""What `stress` does to a study."""
