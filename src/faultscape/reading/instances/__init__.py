"""Instances of a study: those that its models and truths were stored with, else connected regions."""
