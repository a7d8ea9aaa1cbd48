"""Files that hold networks, inspected before anything in them is run."""
