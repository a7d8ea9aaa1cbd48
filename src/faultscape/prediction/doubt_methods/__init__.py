"""Methods fitted to a network, run beside it."""
