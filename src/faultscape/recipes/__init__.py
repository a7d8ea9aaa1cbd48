"""The papers, one file each, as sequences of verbs."""
