"""Each metric of the catalogue as a function of maps or of scores, made from its entry."""
