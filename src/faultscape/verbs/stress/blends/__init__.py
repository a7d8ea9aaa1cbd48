"""Blended sets: their labels, objects, contact sheet, and files to share."""
