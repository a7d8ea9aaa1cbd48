"""loop.html: what each round cost and brought, and which failures it cured, kept and made."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

from faultscape.corpus.photos import read_photo
from faultscape.errors import ImageError, counted
from faultscape.reading.study import Study
from faultscape.reporting.contact_sheets import rounds_page
from faultscape.reporting.pictures import fit, map_uri, photo_uri
from faultscape.study.folder import put
from faultscape.verbs.loop.result import FAILS, Round

_SHOWN = 6  # images of each kind
_LONGEST = 260  # pixels of a thumbnail
_KINDS = {
    "cured": "{parent} failed, {network} does not",
    "kept": "both fail",
    "new": "{network} fails, {parent} did not",
}


def write_page(study: Study, rounds: Sequence[Round], truth: str) -> None:
    """Write the page of a study's rounds, the newest first, with the labels of a truth."""
    shown = [
        {
            "title": f"{len(rounds) - k}. {one.network}, from {one.parent}",
            "row": repr(one).partition(": ")[2],
            "kinds": [_kind(study, one, truth, kind, words) for kind, words in _KINDS.items()],
        }
        for k, one in enumerate(reversed(rounds))
    ]
    page = rounds_page(study.root.resolve().name, shown, FAILS)
    put(study.root / "loop.html", page.encode("utf-8", "xmlcharrefreplace"))


def _kind(study: Study, one: Round, truth: str, kind: str, words: str) -> dict[str, object]:
    images = getattr(one, kind)
    about = words.format(parent=one.parent, network=one.network)
    left = len(images) - _SHOWN
    return {
        "title": f"{kind.capitalize()}: {counted(len(images), 'image')}",
        "about": about + (f"; the first {_SHOWN} of them" if left > 0 else ""),
        "cells": [_cell(study, one, truth, image) for image in images[:_SHOWN]],
    }


def _cell(study: Study, one: Round, truth: str, image: str) -> dict[str, object]:
    """Return an image, its truth, and what both networks said."""
    about = study.corpus.by_id([image]).get(image)
    if about is None:
        return {"caption": f"{image} has left the study", "views": []}
    size = fit(about.width, about.height, _LONGEST)
    views = []
    with suppress(ImageError):  # its photo is gone
        views.append(("image", photo_uri(read_photo(about)[0], size)))
    maps = {"truth": study.labels(truth)}
    maps |= {name: study.maps(name) for name in (one.parent, one.network) if name in study.models}
    for name, held in maps.items():
        if image in held:
            views.append((name, map_uri(held[image], study.classes, size)))
    return {"caption": image, "views": views}
