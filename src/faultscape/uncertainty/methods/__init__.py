"""Methods that make a trained network doubt."""
