"""What a card concludes: which requirements are met, which scorer to use, and from which score on."""
