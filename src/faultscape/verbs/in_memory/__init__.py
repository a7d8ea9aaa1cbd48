"""What was given to a verb as arrays, tensors, functions or modules, where a file or folder may stand."""
