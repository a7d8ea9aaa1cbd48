"""The compiled kernel of selection, and its plain NumPy equivalent."""
