"""Which images of a study trained a network, and which are as good as these.

Conventions: `train` records in network.json the images that a network was trained on (``trained_on``), and
those that trained the networks that it started from (``trained_before``), each {id: key}, where the key is
`Image.key`, so that images are known by what they show. `predict` copies both to a file beside the maps,
which goes with them whatever happens to the network. Near-duplicates of these images, the images of their
groups, and images made from all these stand for them.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path

from faultscape.nouns import JsonObject
from faultscape.study.folder import file_version, put
from faultscape.study.json_text import read_object
from faultscape.study.settings import Settings
from faultscape.study.tables.corpus import Corpus, Image, duplicates_column, tie_key

ON = "trained_on"
BEFORE = "trained_before"
FILE = ".trained-on.json"
_NETWORKS = ("trained", "onnx", "exported", "script")  # kinds of models whose files lie in a network's folder
_FILES = (".py", ".onnx", ".pt2", ".pt", ".pth", ".ts", ".torchscript")
_ENSEMBLE = "ensemble:"


def recorded(images: Iterable[Image], known: Mapping[str, Image]) -> dict[str, str]:
    """Return {id: key} of some images and of those that they were made from, which ``known`` holds."""
    found = dict[str, str]()
    for image in images:
        one: Image | None = image
        while one is not None:
            found[one.id] = one.key
            one = known.get(one.parent)
    return dict(sorted(found.items()))


def images_of(about: Mapping[str, object], name: str) -> dict[str, str]:
    """Return {id: key} of the images that a network's provenance records under a name; {} for none.

    >>> images_of({"trained_on": {"b": "2"}}, "trained_before")
    {}
    """
    held = about.get(name)
    return {str(id_): str(key) for id_, key in held.items()} if isinstance(held, dict) else {}


def all_images_of(about: Mapping[str, object]) -> dict[str, str]:
    """Return {id: key} of all images that trained a network or those that it started from.

    >>> all_images_of({"trained_on": {"b": "2"}, "trained_before": {"a": "1"}})
    {'a': '1', 'b': '2'}
    """
    return images_of(about, BEFORE) | images_of(about, ON)


def read_record(folder: Path) -> dict[str, str]:
    """Return {id: key} of the images that trained the model whose maps are in a folder; {} if none is
    known.
    """
    return {str(id_): str(key) for id_, key in _object(folder / FILE).items()}


def put_record(folder: Path, images: Mapping[str, str]) -> None:
    """Write beside a model's maps which images trained it, {id: key}, if any did."""
    if images:
        put(folder / FILE, (json.dumps(images, ensure_ascii=False) + "\n").encode())
    else:
        (folder / FILE).unlink(missing_ok=True)


def trained_by(settings: Settings, name: str) -> dict[str, str]:
    """Return {id: key} of the images that trained a model, by the files of its source; {} if none is
    known.
    """
    about = settings.models.get(name)
    if about is None:
        return {}
    if about.source.startswith(_ENSEMBLE):
        found = dict[str, str]()
        for member in about.source.removeprefix(_ENSEMBLE).split(","):
            found |= trained_by(settings, member) if member != name else {}
        return found
    if about.kind not in _NETWORKS:
        return read_record(Path(about.source)) if about.kind == "folder" else {}
    file, colon, _ = about.source.rpartition(":")
    place = Path(file if colon and file.endswith(".py") else about.source)
    held = _object((place.parent if place.suffix in _FILES else place) / "network.json")
    made = held.get("provenance")
    return all_images_of(made) if isinstance(made, dict) else {}


def _object(path: Path) -> JsonObject:
    try:
        return read_object(path.read_bytes())
    except (OSError, ValueError):
        return {}


def learnt_selections(networks: Path) -> dict[str, str]:
    """Return {selection: a network that learnt from its images} of the trained networks in a folder."""
    found = dict[str, str]()
    for file in sorted(networks.glob("*/network.json")):
        made = _object(file).get("provenance")
        names = made.get("selections") if isinstance(made, dict) else None
        found |= {str(name): file.parent.name for name in names} if isinstance(names, list) else {}
    return found


def standing_for(corpus: Corpus, keys: frozenset[str]) -> frozenset[str]:
    """Return the ids of the images that have one of some keys, or stand for such an image."""
    if not keys:
        return frozenset()
    return _standing_for(corpus.root, file_version(corpus.root / "corpus.parquet"), keys)


@lru_cache(maxsize=16)
def _standing_for(root: Path, version: object, keys: frozenset[str]) -> frozenset[str]:
    del version  # workers read many shards of one corpus
    corpus = Corpus(root)
    duplicates = duplicates_column(corpus.names)
    grouped = "group" in corpus.names and duplicates != "group"
    rows = [*corpus.each_row("id", "digest", "parent", duplicates, *(["group"] if grouped else []))]
    parents = {id_: parent for id_, _, parent, *_ in rows}

    def original(id_: str) -> str:
        while (parent := parents[id_]) in parents:
            id_ = parent
        return id_

    seen = {original(id_) for id_, digest, *_ in rows if tie_key(id_, digest) in keys}
    near = {first for id_, _, _, first, *_ in rows if id_ in seen}
    groups = {group for id_, _, _, _, *of in rows if id_ in seen for group in of if group}
    seen |= {id_ for id_, _, _, first, *of in rows if first in near or not groups.isdisjoint(of)}
    return frozenset(id_ for id_ in parents if original(id_) in seen)
