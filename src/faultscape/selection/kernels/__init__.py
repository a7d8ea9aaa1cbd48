"""The compiled kernel of selection beside its plain twin."""
