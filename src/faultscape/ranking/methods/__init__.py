"""One score a model from paired comparisons, one method a file."""
