"""Train a network on a study's labels."""
