"""What intervals of metrics are made of, and what is redrawn."""
