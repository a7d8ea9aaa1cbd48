"""Compute the usual sizes of classes from a folder of training masks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.class_lists import allowed, resolve, table
from faultscape.classes.mask_folders import of_label_ids
from faultscape.classes.palettes import coded_by_palette
from faultscape.classes.placed_maps import PlacedMaps
from faultscape.corpus.sources import MAP_ENDINGS, find
from faultscape.errors import LabelMapError
from faultscape.nouns import UNKNOWN, Scale
from faultscape.progress import progress
from faultscape.selection.quartiles import scale_of, to_json
from faultscape.study.folder import put

if TYPE_CHECKING:
    from faultscape.verbs.options import ScaleOptions


def scale_of_masks(options: ScaleOptions) -> Scale:
    """Return the quartiles of each class's share of pixels, and write them on request; LabelMapError names a
    mask with invalid values.
    """
    resolved = resolve(options.classes)
    found = find(options.masks, endings=MAP_ENDINGS, pattern=options.pattern)
    files = [f.path for f in found]
    where = ", ".join(options.masks)
    named = "files named *_labelIds are read as label ids"
    mapping, note = of_label_ids(where, resolved, files, otherwise=named)
    if note:
        print(f"{where}: {note}")
    coded_by_palette(files, resolved, mapping)
    places = table(resolved, mapping)
    maps = PlacedMaps(resolved, mapping)
    histograms = []
    with progress("scale", len(found)) as tick:
        for f in found:
            mask = maps.values(f.path)
            pixels = np.bincount(mask.ravel())
            held = np.flatnonzero(pixels)
            if (bad := held[places[held] == UNKNOWN]).size:
                raise LabelMapError(
                    f"{f.path}: has the value {int(bad[0])}; allowed: {allowed(resolved, mapping)}"
                )
            histograms.append(np.bincount(places[held], weights=pixels[held], minlength=len(resolved) + 1))
            tick(1)
    result = scale_of(np.array(histograms), resolved)
    if options.output:
        put(Path(options.output), (json.dumps(to_json(result), indent=1, ensure_ascii=False) + "\n").encode())
    return result
