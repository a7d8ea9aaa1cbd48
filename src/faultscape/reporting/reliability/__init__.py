"""The reliability card: page, tables and texts."""
