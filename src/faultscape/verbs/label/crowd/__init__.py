"""Masks by several people (Yan et al. 2021): images split into sessions, imported person by person, and
merged.
"""
