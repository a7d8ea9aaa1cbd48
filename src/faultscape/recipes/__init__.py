"""The papers, one file each, as lines of verbs."""
