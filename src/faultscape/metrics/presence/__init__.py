"""Whether maps contain the classes that images show."""
