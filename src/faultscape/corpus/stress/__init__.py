"""Images of the corpus that are made of others when they are read."""
