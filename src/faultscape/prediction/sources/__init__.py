"""The kinds of model, one adapter per file."""
