"""The options of each verb: ``RankOptions`` of `rank`, and ``LabelExportOptions`` of `label export`.

Conventions: the classes are made from the signatures (`verb.options_class`); for type checkers
scripts/verb_options.py writes the same into options.pyi.
"""

from __future__ import annotations

from faultscape.verbs.verb import Options, options_class
from faultscape.verbs.verb_list import LINES, signature_of, title_of


def __getattr__(name: str) -> type[Options]:
    for words in LINES:
        if title_of(words) == name:
            return options_class(signature_of(words))
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
