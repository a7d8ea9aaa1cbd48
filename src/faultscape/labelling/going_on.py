"""The line that takes in what people made of an export."""

from __future__ import annotations

import shlex


def import_line(study: str, source: str, truth: str) -> str:
    """Return the command that takes labels in, as a shell reads it.

    >>> import_line("my study", "q.csv", "labels"), import_line("s", "to-label", "ann")
    ("faultscape label import 'my study' q.csv", 'faultscape label import s to-label --truth ann')
    """
    under = [] if truth == "labels" else ["--truth", truth]
    return shlex.join(["faultscape", "label", "import", study, source, *under])
