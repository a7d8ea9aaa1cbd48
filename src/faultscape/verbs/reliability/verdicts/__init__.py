"""What the card says beyond its numbers: which requirements are met, which scorer to use, and from where on."""
