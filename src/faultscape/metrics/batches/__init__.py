"""Metrics accumulated over batches of label maps, as a training loop makes them."""
