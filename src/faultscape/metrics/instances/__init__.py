"""Metrics of instances: masks with a class, and with a score where a model gives one."""
