"""The tables of a study, one file per table: schema, read, write, digest."""
