"""The tables of a study, one file a table: schema, read, write, digest."""
