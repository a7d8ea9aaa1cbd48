"""What a study knows from boxes around objects."""
