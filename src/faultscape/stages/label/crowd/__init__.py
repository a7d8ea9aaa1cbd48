"""Masks by several people (S0 4.1.4): images shared out in sessions, taken in person by person, and what they
agree on.
"""
