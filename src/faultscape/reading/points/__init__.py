"""Points of a study: the pixels that they are drawn from, what was answered, and what both say together."""
