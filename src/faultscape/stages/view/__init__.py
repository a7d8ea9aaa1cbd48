"""Browse a study as web pages: nothing is written, and no path in an address is ever opened."""
