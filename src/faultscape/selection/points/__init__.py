"""Points: which single pixels people should be asked about."""
