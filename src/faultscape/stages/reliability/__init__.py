"""What `reliability` does to a study."""
