"""Methods that look at logits alone."""
