"""How many labels a question needs, before any label exists."""
