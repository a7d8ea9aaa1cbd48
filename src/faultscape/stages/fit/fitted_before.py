"""What a line of `fit` names its methods, and whether it fitted the very same before, so that nothing is to
be done.

Conventions: a method's file says which network, images, labels and arguments it was made from; where all of
these are as they were, the same line would write the same file.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from faultscape.errors import ModelError
from faultscape.nouns import JsonObject
from faultscape.prediction.doubt_methods.beside_network import built
from faultscape.stages.fit.open_model import OpenedModel
from faultscape.stages.fit.options import FitOptions
from faultscape.stages.fit.result import FittedMethod, FittedMethods, Tried
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.method_files import ENDING, read_about
from faultscape.uncertainty.methods.catalogue import Method


def fitted_before(
    root: Path, options: FitOptions, method: Method, model: OpenedModel, provenance: JsonObject
) -> FittedMethods | None:
    """Return what the same line fitted before to the same network, images and labels; None where any of it is
    another now.
    """
    made, searches, about = [], dict[str, tuple[Tried, ...]](), None
    for name, _ in named_methods(options, method):
        path = root / "methods" / options.model / f"{name}{ENDING}"
        try:
            about = read_about(path)
            built(path)
        except ModelError:  # it is not there, or damaged
            return None
        said = json.dumps([about.provenance, about.network, about.shown], sort_keys=True)
        if said != json.dumps([provenance, model.digest, model.shown], sort_keys=True):
            return None
        more: Any = about.more
        made.append(FittedMethod(name, about.layers, about.options, about.flags))
        searches |= {what: tuple(Tried(*row) for row in rows) for what, rows in more["searches"].items()}
    assert about is not None
    more = about.more
    return FittedMethods(
        options.study, options.model, model.source, tuple(made), more["images"], more["embeddings"], searches
    )


def named_methods(options: FitOptions, method: Method) -> list[tuple[str, dict[str, Value]]]:
    """Return the name of each method that a line fits, with the option that is swept."""
    key, values = options.swept(method)
    swept = [(f"{options.method}-{key.replace('_', '-')}-{_shown(value)}", {key: value}) for value in values]
    return swept or [(options.as_ or options.method, {})]


def _shown(value: Value) -> str:
    """Return a value as it stands in a method's name."""
    return (
        f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value).lower()
    )
