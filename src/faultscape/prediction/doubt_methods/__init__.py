"""Methods that were fitted to a network, beside it."""
