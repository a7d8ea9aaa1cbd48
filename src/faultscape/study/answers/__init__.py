"""What people said that is no label map: one file a kind of answer, over one database."""
