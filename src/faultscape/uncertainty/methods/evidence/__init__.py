"""Methods that weigh evidence: scores of several methods joined, and an image against its resynthesis."""
