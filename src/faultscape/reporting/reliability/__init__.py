"""The reliability card: what a person looks at."""
