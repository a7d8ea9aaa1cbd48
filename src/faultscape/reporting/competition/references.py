"""Benchmark images by class, to show next to the chosen ones (Yan et al. 2021, Figs. 4 and 5; Wang et al.
2020, Figs. 4 and 6).

Conventions: a folder has either one sub-folder per class, named after the class (``car/``, ``person/``) or
its WordNet id (``n02123045/``), or ``images/`` with masks of the same names in ``labels/``. With masks, the
images of a class are those whose share of it is nearest to its median share: typical ones, not the largest.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.classes.palettes import palettes_of
from faultscape.corpus.matches import match
from faultscape.corpus.sources import IMAGE_ENDINGS
from faultscape.corpus.sources import find as find_files
from faultscape.errors import CorpusError
from faultscape.formats import png
from faultscape.nouns import Classes

EACH = 6


def find(folder: str, classes: Classes, each: int = EACH) -> dict[str, list[Path]]:
    """Return up to ``each`` images of every class; CorpusError if the folder has neither form."""
    root = Path(folder)
    if not root.is_dir():
        raise CorpusError(f"{folder}: there is no such folder of benchmark images")
    found: dict[str, list[Path]] = {}
    folders = {inside.name: inside for inside in root.iterdir() if inside.is_dir()}
    for name, wnid in itertools.zip_longest(classes.names, classes.wnids, fillvalue=""):
        inside = folders.get(name) or folders.get(wnid)
        if inside is not None:
            files = sorted(p for p in inside.iterdir() if p.suffix.lower() in IMAGE_ENDINGS)
            if files:
                found[name] = files[:each]
    if not found and classes.colours and (root / "images").is_dir() and (root / "labels").is_dir():
        found = _by_masks(root, classes, each)
    if not found:
        named = (
            f"one sub-folder of images per class ({', '.join(classes.names[:3])},"
            f" ...{', or its WordNet id' if classes.wnids else ''})"
        )
        masks = ", or images/ with masks of the same names in labels/" if classes.colours else ""
        raise CorpusError(f"{folder}: expected {named}{masks}")
    return found


def _by_masks(root: Path, classes: Classes, each: int) -> dict[str, list[Path]]:
    photos = find_files([root / "images"], say=lambda _: None)
    masks = match(root / "labels", [photo.id for photo in photos], say=lambda _: None)
    places = table(classes)
    n = len(classes)
    share = {}
    for photo in photos:
        if photo.id in masks:
            values = places[png.read(masks[photo.id], classes, palette=palettes_of(classes))]
            share[photo.id] = np.bincount(values[values < n], minlength=n) / values.size
    found = {}
    for k, name in enumerate(classes.names):
        held = [photo for photo in photos if photo.id in share and share[photo.id][k] > 0]
        if held:
            middle = np.median([share[photo.id][k] for photo in held])
            held.sort(key=lambda photo: (abs(share[photo.id][k] - middle), photo.id))
            found[name] = [Path(photo.path) for photo in held[:each]]
    return found
