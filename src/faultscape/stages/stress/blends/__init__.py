"""Blended sets: their labels, objects, contact sheet, and what is handed on."""
