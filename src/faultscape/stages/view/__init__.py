"""The study as pages that a person browses: nothing is written, and no path of an address is ever opened."""
