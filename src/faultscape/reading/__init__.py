"""What a study has, read: one file for each thing that one asks it for."""
