"""scale: how large each class usually is, from a folder of training masks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from faultscape.errors import LabelMapError
from faultscape.nouns import Scale


def scale(*masks: str, classes: Any, output: str | None = None, pattern: str | None = None) -> Scale:
    """Compute the first and third quartile of each class's share of pixels from training masks (S0 3.1.2), for `select --scale`.

    Parameters
    ----------
    masks
        Folders, globs in quotes, or list files of masks; shares are of all pixels, void included.
    classes
        A class file (JSON or TOML) or a built-in name: ade20k, camvid, cityscapes, voc. In Python also a Classes, or a number.
    output
        The file to write.
    pattern
        Which files are masks and what their ids are, for example {id}_gtFine_labelIds.png.
    """
    import numpy as np

    from faultscape.classes.class_lists import allowed, resolve, table
    from faultscape.classes.mapping import of_label_ids
    from faultscape.corpus.sources import MAP_ENDINGS, find
    from faultscape.formats.label_maps import colour_table, read_map
    from faultscape.nouns import UNKNOWN
    from faultscape.progress import progress
    from faultscape.selection.quartiles import scale_of, to_json
    from faultscape.study.folder import put

    classes = resolve(classes)
    found = find(masks, endings=MAP_ENDINGS, pattern=pattern)
    mapping = of_label_ids(classes, {f.id: f.path for f in found})
    places, colours, histograms = table(classes, mapping), None, []
    with progress("scale", len(found)) as tick:
        for f in found:
            try:
                mask = read_map(f.path, colours)
            except LabelMapError:
                if colours is not None:
                    raise
                colours = colour_table(classes)
                mask = read_map(f.path, colours)
            pixels = np.bincount(mask.ravel())
            held = np.flatnonzero(pixels)
            if (bad := held[places[held] == UNKNOWN]).size:
                raise LabelMapError(f"{f.path}: holds the value {int(bad[0])}; allowed are {allowed(classes, mapping)}")
            histograms.append(np.bincount(places[held], weights=pixels[held], minlength=len(classes) + 1))
            tick(1)
    result = scale_of(np.array(histograms), classes)
    if output:
        put(Path(output), (json.dumps(to_json(result), indent=1, ensure_ascii=False) + "\n").encode())
    return result
