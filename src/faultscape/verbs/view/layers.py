"""Overlays on an image: the map of a model or of a truth, or the difference of two models, read one image at
a time.

Conventions: a layer is ``model:NAME``, ``truth:NAME`` or ``pair``, and only names of the study are accepted.
Maps are places, scaled to a size by the nearest pixel.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import narrow, table
from faultscape.errors import OptionError, closest
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.reporting.pictures import fit
from faultscape.study.parts import Part
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name
from faultscape.verbs.view.filters import PAIR, ImageQuery
from faultscape.verbs.view.library import Opened
from faultscape.web import overlays

MODEL = "model"
TRUTH = "truth"


@dataclass(frozen=True)
class Layer:
    """The maps of one model or truth of the study."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.name}"


def read_layer(text: str, study: Opened) -> Layer:
    """Return the layer that an address names; OptionError for one that the study does not have."""
    kind, _, name = text.partition(":")
    known = {MODEL: study.models, TRUTH: study.truths}
    if kind not in known or name not in known[kind]:
        words = [f"{k}:{n}" for k, names in known.items() for n in names]
        raise OptionError(f"{text!r} is not a layer of this study.{closest(text, words)}")
    return Layer(kind, name)


def truth_for(query: ImageQuery, study: Opened, place: int) -> str:
    """Return the truth to compare an image with: the one asked for, else `labels`, else the first truth with
    a label of it, or ''.
    """
    order = sorted(study.truths, key=lambda name: (name != query.truth, name != "labels", name))
    return next((name for name in order if study.columns.labelled[name][place]), "")


def part_of(study: Opened, layer: Layer, place: int) -> tuple[Path, Part | None]:
    """Return the folder of a layer's maps and the part with an image's map, or None."""
    of_kind = label_maps.predictions if layer.kind == MODEL else label_maps.truth
    folder = of_kind(study.now.root, layer.name)
    return folder, study.now.manifest(folder).get(part_name(int(study.columns.shards[place])))


def read_map(study: Opened, layer: Layer, place: int) -> np.ndarray | None:
    """Return the map of an image as places, at its own size, or None. Raises the errors of reading parts and
    runs.
    """
    folder, part = part_of(study, layer, place)
    if part is None or study.settings.classifies:
        return None
    code = label_maps.read_map(folder, int(study.columns.shards[place]), part, study.columns.id_at(place))
    labels = study.settings.models[layer.name].labels if layer.kind == MODEL else None
    return None if code is None else runs.decode(code, narrow(table(study.classes, labels)))


def size_at(study: Opened, place: int, longest: int) -> tuple[int, int]:
    """Return the (width, height) at which an image is shown."""
    width = int(study.columns.widths[place])
    height = int(study.columns.heights[place])
    return fit(max(width, 1), max(height, 1), longest)


def overlay_key(study: Opened, query: ImageQuery, place: int, longest: int) -> str:
    """Return a key of the overlay that a query asks for; it changes when a map does."""
    held = [str(query.show), query.as_, str(longest), study.columns.id_at(place)]
    for layer in _layers(study, query, place):
        part = part_of(study, layer, place)[1]
        held += [str(layer), part.sha256 if part else ""]
    colours = overlays.palette(study.classes).tobytes().hex() if study.classes.colours else ""
    return "\n".join(["overlay", *held, colours])


def draw(study: Opened, query: ImageQuery, place: int, longest: int) -> overlays.Overlay | None:
    """Return the overlay that a query asks for; None if one of its maps is missing, OptionError if it asks
    for none.
    """
    size = size_at(study, place, longest)
    maps = [read_map(study, layer, place) for layer in _layers(study, query, place)]
    found = [nearest(label_map, size) for label_map in maps if label_map is not None]
    if query.show == PAIR:
        if len(found) == 3:
            return overlays.verdict(found[0], found[1], found[2], study.classes)
        return overlays.difference(found[0], found[1]) if len(maps) == len(found) == 2 else None
    if query.as_ == "right":
        return overlays.correctness(found[0], found[1], study.classes) if len(found) == 2 else None
    if not found:
        return None
    return (overlays.outline if query.as_ == "outline" else overlays.fill)(found[0], study.classes)


def _layers(study: Opened, query: ImageQuery, place: int) -> list[Layer]:
    """Return the layers that an overlay needs: the one shown, and the one to compare with."""
    truth = truth_for(query, study, place)
    against = [Layer(TRUTH, truth)] if truth else []
    if query.show == PAIR:
        return [Layer(MODEL, query.a), Layer(MODEL, query.b), *against]
    layer = read_layer(query.show, study)
    return [layer, *against] if query.as_ == "right" else [layer]
