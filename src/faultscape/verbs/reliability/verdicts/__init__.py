"""What a card says of its numbers: which requirements are met, which scorer to use, and from where on."""
