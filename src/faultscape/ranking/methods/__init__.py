"""One score per model from paired comparisons, one method per file."""
