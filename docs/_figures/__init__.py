"""Figures of the documentation, drawn while it is built: pages import this folder, nothing else does."""
