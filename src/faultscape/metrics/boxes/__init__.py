"""What boxes around objects say about label maps: bounds on how good a class is found."""
