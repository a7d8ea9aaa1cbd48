"""What labelling tools write and read, one format a file: masks, outlines, answers and issues, to and from the ids of a class list."""
