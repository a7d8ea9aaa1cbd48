"""Break ties between the images of a data set, independently of their names.

Conventions: an image of a study has its own key (``DataSet.tie_keys``); in folders the key is the SHA-256 of
the image file if images are given, else of the true map. Images with the same key follow the sorted digests
of their predictions, whichever model they come from. If the file is gone, the id is used.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter

import numpy as np

from faultscape.ties import tie_ranks
from faultscape.verbs.measure.jobs import Place
from faultscape.verbs.measure.sets import SCORES, DataSet


def ranks_of(data: DataSet, places: np.ndarray) -> np.ndarray:
    """Return (K,) the tie-breaking rank of each image, given by index in the data set; for folders, this
    reads their files.
    """
    wanted = places.tolist()
    if data.tie_keys:
        return tie_ranks([data.tie_keys[k] for k in wanted], ids=[data.ids[k] for k in wanted])
    keys = [
        _digest(data.images.get(data.ids[k]))
        or _digest(data.truth.paths[k] if data.truth.files else None)
        or data.ids[k]
        for k in wanted
    ]
    several = {key for key, times in Counter(keys).items() if times > 1}
    said = [_said(data, k) if key in several else "" for key, k in zip(keys, wanted, strict=True)]
    return tie_ranks(keys, ids=[f"{what} {data.ids[k]}" for what, k in zip(said, wanted, strict=True)])


def _said(data: DataSet, k: int) -> str:
    """Return the sorted digests of all models' files for an image."""
    lists = [of for source in data.models.values() for of in (source.files, *map(source.scores.get, SCORES))]
    files = [of[k] for of in lists if of is not None]
    return " ".join(sorted(_digest(path) for path in files))


def _digest(path: Place | None) -> str:
    """Return the SHA-256 of a file; '' if it cannot be read."""
    try:
        if not isinstance(path, str) or not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
