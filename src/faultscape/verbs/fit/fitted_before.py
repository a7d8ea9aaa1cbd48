"""What a line of `fit METHOD` makes, by name, and whether its files are there already, made from the same.

Conventions: a sweep makes a method for each value, named METHOD-OPTION-VALUE. A file that is damaged counts
as missing.
"""

from __future__ import annotations

import json
from typing import Any

from faultscape.errors import ModelError
from faultscape.nouns import JsonObject
from faultscape.prediction import stamps
from faultscape.prediction.doubt_methods import built
from faultscape.prediction.sources.backbone import Backbone
from faultscape.reading.study import Study
from faultscape.uncertainty.catalogue import Value
from faultscape.uncertainty.method_files import ENDING, read_about
from faultscape.verbs.fit.open_model import OpenedModel
from faultscape.verbs.fit.options import Request
from faultscape.verbs.fit.result import FittedMethod, FittedMethods, Tried


def fitted_before(
    study: Study, asked: Request, model: OpenedModel, provenance: JsonObject, backbone: Backbone | None
) -> FittedMethods | None:
    """Return the methods that the same command fitted before to the same network, backbone, images and
    labels; None if any of these changed, or if an image that could not be read is back.
    """
    digest = backbone.digest if backbone else ""
    made = []
    searches = dict[str, tuple[Tried, ...]]()
    about = None
    for name, _ in named_methods(asked):
        path = study.root / "methods" / asked.model / f"{name}{ENDING}"
        try:
            about = read_about(path)
            built(path)
        except ModelError:  # missing or damaged
            return None
        said = json.dumps([about.provenance, about.network, about.backbone, about.shown], sort_keys=True)
        if said != json.dumps([provenance, model.digest, digest, model.shown], sort_keys=True):
            return None
        more: Any = about.more
        unread = [*more.get("unreadable", {}).items()]
        if unread and stamps.again([*study.image_rows.values()], unread):
            return None
        made.append(FittedMethod(name, about.layers, about.options, about.flags))
        searches |= {what: tuple(Tried(*row) for row in rows) for what, rows in more["searches"].items()}
    assert about is not None
    more = about.more
    return FittedMethods(
        asked.options.study,
        asked.model,
        model.source,
        tuple(made),
        more["images"],
        more["embeddings"],
        searches,
        negatives=about.negatives,
    )


def named_methods(asked: Request) -> list[tuple[str, dict[str, Value]]]:
    """Return the name of each method to fit, with its swept option."""
    key, values = asked.swept
    swept = [
        (f"{asked.method.name}-{key.replace('_', '-')}-{_shown(value)}", {key: value}) for value in values
    ]
    return swept or [(asked.options.as_ or asked.method.name, {})]


def _shown(value: Value) -> str:
    """Return a value as written in a method's name."""
    return (
        f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value).lower()
    )
