"""Answers that are not label maps: one file per kind of answer, over one database."""
