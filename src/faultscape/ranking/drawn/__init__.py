"""Rankings from images drawn for all models at once."""
