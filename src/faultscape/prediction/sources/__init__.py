"""What a model may be, one adapter a file."""
