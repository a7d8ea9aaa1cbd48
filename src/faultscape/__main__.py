"""``python -m faultscape``: the command line."""

import sys

from faultscape.cli import main

sys.exit(main())
