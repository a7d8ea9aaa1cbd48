"""The tables between stages: one file per table, with its schema, reading and writing."""
