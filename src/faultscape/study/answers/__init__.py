"""What people said that is not a label map: one file a kind of answer, over one database."""
