"""The tables between stages: one file a table, with its schema, reading and writing."""
