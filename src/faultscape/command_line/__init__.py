"""The command line's verbs, their options, help, completion, and results as JSON.

Conventions: imports are light; a verb's module is imported only for its own help or options.
"""
