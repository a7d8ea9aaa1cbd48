"""The formats of `export`, a file each."""
