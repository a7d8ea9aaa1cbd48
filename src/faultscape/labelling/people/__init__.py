"""What several people said of the same things: their consensus, how far they agree, which of two models they prefer, and who is asked what next."""
