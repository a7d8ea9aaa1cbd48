"""``python -m faultscape``: the command line."""

from faultscape.cli import program

program()
