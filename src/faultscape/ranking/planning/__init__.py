"""How many labels a question needs, before there is any."""
