"""What a study knows of the classes that its images show."""
