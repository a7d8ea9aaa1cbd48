"""Images of the corpus that are made from others when they are read."""
