"""The 1,000 classes of ImageNet-1k (ILSVRC 2012) and the hierarchy of WordNet over them, from
``imagenet1k.json``.

Conventions: classes are in the order of their indices 0..999, which is that of their wnids.
``scripts/imagenet_hierarchy.py`` writes the file from WordNet 3.0, whose licence is WORDNET-LICENCE.txt.
Names are first lemmas; where two classes share one (capitals apart), a parent's name is appended.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, repr=False)
class ImagenetClasses:
    """Names, wnids, definitions and other words of the classes, each a tuple in index order.

    >>> classes = imagenet_classes()
    >>> classes.names[134], classes.names[517], classes.wnids[134]
    ('crane (wading bird)', 'crane (lifting device)', 'n02012849')
    """

    names: tuple[str, ...]
    wnids: tuple[str, ...]
    glosses: tuple[str, ...]
    synonyms: tuple[tuple[str, ...], ...]


@functools.cache
def imagenet_classes() -> ImagenetClasses:
    """Return the words of the 1,000 classes.

    >>> imagenet_classes().synonyms[0], imagenet_classes().glosses[562]
    (('Tinca tinca',), 'a structure from which an artificially produced jet of water arises')
    """
    table = imagenet_file()["classes"]
    names, glosses, *_ = zip(*table.values(), strict=False)
    return ImagenetClasses(names, tuple(table), glosses, tuple(tuple(row[2:]) for row in table.values()))


def imagenet_file() -> dict[str, Any]:
    """Return {"classes": {wnid: [name, definition, synonyms ...]}, "nodes": {wnid: [word, parents ...]}}."""
    return json.loads(Path(__file__).with_name("imagenet1k.json").read_text(encoding="ascii"))
