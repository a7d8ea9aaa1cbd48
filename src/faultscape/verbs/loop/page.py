"""loop.html: what each round cost and brought, and which failures it cured, kept and made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, counted
from faultscape.nouns import Definition
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.reporting.contact_sheets import rounds_page
from faultscape.reporting.pictures import colour_words, fit, map_uri, photo_uri
from faultscape.study.folder import put
from faultscape.verbs.loop.result import FAILS, Round

Scores = dict[str, dict[str, float]]  # of each model, of each labelled image

_SHOWN = 6  # images of each kind
_LONGEST = 260  # pixels of a thumbnail
_KINDS = {
    "cured": "{parent} failed, {network} does not",
    "kept": "both fail",
    "new": "{network} fails, {parent} did not",
}


def write_page(study: Study, rounds: Sequence[Round], truth: str, definition: Definition) -> None:
    """Write the page of a study's rounds, the newest first, with the labels of a truth and scores by the
    definition of concordance that judged them.
    """
    models = tuple({name for one in rounds for name in (one.parent, one.network) if name in study.models})
    images, found = evidence.scores(study, models, truth, definition)
    scores = {
        model: dict(zip(images, row, strict=True)) for model, row in zip(models, found.tolist(), strict=True)
    }
    shown = [
        {
            "title": f"{len(rounds) - k}. {one.network}, from {one.parent}",
            "row": repr(one).partition(": ")[2],
            "kinds": [_kind(study, one, truth, scores, kind, words) for kind, words in _KINDS.items()],
        }
        for k, one in enumerate(reversed(rounds))
    ]
    page = rounds_page(study.root.resolve().name, shown, FAILS, colour_words(study.classes))
    put(study.root / "loop.html", page.encode("utf-8", "xmlcharrefreplace"))


def _kind(study: Study, one: Round, truth: str, scores: Scores, kind: str, words: str) -> dict[str, object]:
    images = getattr(one, kind)
    about = words.format(parent=one.parent, network=one.network)
    left = len(images) - _SHOWN
    return {
        "title": f"{kind.capitalize()}: {counted(len(images), 'image')}",
        "about": about + (f"; the first {_SHOWN} of them" if left > 0 else ""),
        "cells": [_cell(study, one, truth, scores, image) for image in images[:_SHOWN]],
    }


def _cell(study: Study, one: Round, truth: str, scores: Scores, image: str) -> dict[str, object]:
    """Return an image, its truth, and what both networks said with their scores."""
    about = study.corpus.by_id([image]).get(image)
    if about is None:
        return {"caption": f"{image} has left the study", "views": []}
    size = fit(about.width, about.height, _LONGEST)
    views = []
    with suppress(ImageError):  # its photo is gone
        views.append(("image", None, photo_uri(read_photo(about)[0], size)))
    maps = {"truth": study.labels(truth)}
    maps |= {name: study.maps(name) for name in (one.parent, one.network) if name in study.models}
    for name, held in maps.items():
        if image in held:
            views.append((name, scores.get(name, {}).get(image), map_uri(held[image], study.classes, size)))
    return {"caption": image, "views": views}
