"""Files within files: members of a tar, and rows of tables, read where they are and never unpacked."""
