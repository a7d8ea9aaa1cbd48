"""What the command line says about itself: its verbs, their options, help, completion, and results as JSON.

Conventions: light; a verb's module is imported only when its own help or options are asked for.
"""
