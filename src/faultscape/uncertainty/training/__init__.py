"""Training: losses, rates, crops, presets and the one loop."""
