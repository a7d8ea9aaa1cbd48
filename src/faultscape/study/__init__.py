"""The tables of a study, by which verbs meet: one file per table, with its schema, reading and writing."""
