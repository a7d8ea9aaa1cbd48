"""What `label serve` does to a study: people answer in a browser, and what they say is kept."""
