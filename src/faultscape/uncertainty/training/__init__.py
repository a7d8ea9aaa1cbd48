"""Training: losses, learning rates, crops, presets and the loop."""
