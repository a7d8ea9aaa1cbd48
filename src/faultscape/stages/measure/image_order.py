"""Which of a data set's images comes first among equals, whatever they are called.

Conventions: the key of a study's image is its own (``DataSet.tie_keys``), in folders it is the SHA-256
of the image file where images are given, else of the true map's; images of the same true map follow the
digests of their predictions, in no order of models. Where the file is gone the id counts.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter

import numpy as np

from faultscape.stages.measure.jobs import Place
from faultscape.stages.measure.sets import SCORES, DataSet
from faultscape.ties import tie_ranks


def ranks_of(data: DataSet, places: np.ndarray) -> np.ndarray:
    """Return (K,) which place each of some images, the k-th of the data set, has in the order among equals;
    of folders their files are read.
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
    """Return the digests of all models' files of an image, in their own order."""
    lists = [of for source in data.models.values() for of in (source.files, *map(source.scores.get, SCORES))]
    files = [of[k] for of in lists if of is not None]
    return " ".join(sorted(_digest(path) for path in files))


def _digest(path: Place | None) -> str:
    """Return the SHA-256 of a file, empty where there is none that can be read."""
    try:
        if not isinstance(path, str) or not os.path.isfile(path):
            return ""
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""
