"""What each of a model's own labels means: by a file, by the network's class names, by position, or as Cityscapes' label ids.

Conventions: a mapping is {own label number as text: class name or ``void``}, many to one; the empty mapping means the class list's own ids.
"""

from __future__ import annotations

import json
import os
import tomllib
from pathlib import Path
from typing import Any

from faultscape.errors import ClassesError, LabelMapError, closest
from faultscape.nouns import Classes


def of_network(
    name: str, path: Path, settings: Any, options: dict[str, Any], labels: str | None, held: dict[str, str]
) -> tuple[dict[str, str], str]:
    """Return the label mapping of a network (``held``: one that was given before) and the digest of its file."""
    from hashlib import sha256

    from faultscape.prediction.onnx import OnnxModel

    classes = settings.class_list
    names = OnnxModel(path, options).class_names
    mapping = of_file(labels, settings, names) or held
    model = OnnxModel(path, options, (len(mapping), len(classes)))
    if not mapping and names:
        unknown = [n for n in names if n not in classes.names]
        if unknown:
            raise ClassesError(
                f"{name}: the network's class {unknown[0]!r} is no class of the study.{closest(unknown[0], classes.names)} "
                "Give --labels FILE that says which class it is, or void"
            )
        mapping = {str(place): n for place, n in enumerate(names)}
    if not mapping and model.channels is not None and model.channels != len(classes):
        raise ClassesError(
            f"{name}: the network has {model.channels} classes, the study {len(classes)}; give --labels FILE that says which class each is, or void"
        )
    if not mapping and model.channels is not None and classes.ids != tuple(range(len(classes))):
        mapping = {str(place): n for place, n in enumerate(classes.names)}  # channels stand in the order of the class list
    return mapping, sha256(path.read_bytes()).hexdigest()


def checked(name: str, mapping: dict[str, str], settings: Any) -> None:
    """ClassesError with what to do when a mapping that was given before names a class that is gone."""
    from faultscape.corpus.classes import table

    try:
        table(settings.class_list, mapping)
    except ClassesError as error:
        raise ClassesError(f"{name}: {error} Give --labels FILE with a mapping to today's classes") from None


def tried(path: Path, options: dict[str, Any], classes: tuple[int, int], size: tuple[int, int]) -> None:
    """Run a network once on an empty photo; ModelError when it cannot."""
    import numpy as np

    from faultscape.prediction.onnx import OnnxModel

    OnnxModel(path, options, classes).predict([np.zeros((size[1], size[0], 3), np.uint8)], [size])


def of_file(labels: str | None, settings: Any, names: list[str] | None) -> dict[str, str]:
    """Return {own label number: class name} of a mapping file; ClassesError names what cannot be mapped."""
    from faultscape.corpus.classes import table

    if labels is None:
        return {}
    try:
        text = Path(labels).read_text(encoding="utf-8")
        raw = tomllib.loads(text) if labels.endswith(".toml") else json.loads(text)
        raw = {str(k): str(v) for k, v in (raw.get("labels", raw)).items()}
    except (OSError, ValueError, AttributeError) as error:
        raise ClassesError(f"{labels}: cannot be read as a label mapping: {error}") from None
    by_name = {n: str(place) for place, n in enumerate(names or [])}
    out = {by_name.get(key, key): value for key, value in raw.items()}
    unmapped = [n for n, place in by_name.items() if place not in out]
    if unmapped:
        raise ClassesError(
            f"{labels}: says nothing of the model's class {unmapped[0]!r}; map every class, to void where there is none"
        )
    table(settings.class_list, out)
    return out


def of_colours(settings: Any) -> dict[str, str]:
    """Return the mapping of maps that are coded by class colours: the ids of today's class list, so that another list finds them by name."""
    classes = settings.class_list
    voids = {str(classes.void[0]): "void"} if classes.void else {}
    return {str(id_): name for id_, name in zip(classes.ids, classes.names, strict=True)} | voids


def of_label_ids(classes: Classes, files: dict[str, str]) -> dict[str, str]:
    """Return the mapping for Cityscapes' label ids when a folder of maps holds them."""
    from faultscape.corpus.class_lists import cityscapes, cityscapes_label_ids
    from faultscape.corpus.map_files import read_map

    if classes.names != cityscapes().names or not files:
        return {}
    first = next(iter(files.values()))
    named = "labelids" in os.path.basename(first).lower()
    try:
        values = set() if named else {int(v) for path in list(files.values())[:8] for v in set(read_map(path).ravel().tolist())}
    except LabelMapError:
        values = set()
    if not named and not values & set(range(19, 34)):
        return {}
    print("these maps hold Cityscapes label ids (0-33); they are mapped to the 19 classes")
    return cityscapes_label_ids()
