"""Files that hold networks, looked at before anything in them is run."""
