"""Methods that add uncertainty to a trained network."""
