"""What `report` does to a study."""
