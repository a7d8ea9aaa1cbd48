"""Sets that were made from a study's other sets: which images are made, what follows when their parents
change, and where their labels are.

Conventions: a made image has a parent, the id of its original. Its position, its group and whether it is in
the study follow the parent; its pixels follow its recipe (corpus.stress.recipes), which contains the parent's
digest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.corpus.stress.recipes import recipe_of
from faultscape.errors import StudyError
from faultscape.nouns import Classes
from faultscape.stressors.holdout import hold_out
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.stress_sets import labels_folder

if TYPE_CHECKING:
    from faultscape.reading.study import Study


def collected(images: Iterable[Image]) -> list[Image]:
    """Return the images that were collected, not made."""
    return [image for image in images if not image.parent]


def follow(images: list[Image]) -> list[Image]:
    """Return the images with made ones updated to the position, group and near-duplicates of their parents;
    one whose parent left stays as it is.
    """
    if not any(image.parent for image in images):
        return images
    by_id = {image.id: image for image in images}
    done: dict[str, Image] = {}

    def followed(image: Image) -> Image:
        if image.id not in done:
            done[image.id] = image  # unchanged, in case a damaged file makes it its own ancestor
            parent = by_id.get(image.parent)
            recipe = recipe_of(image.source) if parent is not None else None
            if parent is not None and recipe is not None:
                parent = followed(parent)
                done[image.id] = replace(
                    image,
                    source=recipe.moved(parent.source).source,
                    group=parent.group,
                    near_duplicate_of=_first(image, parent, by_id),
                )
        return done[image.id]

    return [followed(image) for image in images]


def _first(image: Image, parent: Image, by_id: Mapping[str, Image]) -> str:
    """Return the id of the first image in the near-duplicate group of a made one: its set's version of the
    first image in the parent's group, or itself.
    """
    before = "" if parent.set == "main" else f"{parent.set}/"
    if image.id != f"{image.set}/{parent.id.removeprefix(before)}":  # a different draw of the parent
        return image.id
    first = by_id.get(f"{image.set}/{parent.near_duplicate_of.removeprefix(before)}")
    return first.id if first is not None and first.parent == parent.near_duplicate_of else image.id


def descendants(images: Iterable[Image], gone: Collection[str]) -> set[str]:
    """Return the ids of the images that were made from some images, directly or indirectly."""
    children: dict[str, list[str]] = {}
    for image in images:
        if image.parent:
            children.setdefault(image.parent, []).append(image.id)
    found: set[str] = set()
    waiting = list(gone)
    while waiting:
        for child in children.get(waiting.pop(), ()):
            if child not in found:
                found.add(child)
                waiting.append(child)
    return found


def returning(removed: Mapping[str, Image], back: Collection[str]) -> list[Image]:
    """Return the made images that left with their parents and come back with them."""
    return [removed[id_] for id_ in sorted(descendants(removed.values(), back))]


@dataclass(frozen=True)
class SetLabels:
    """Where the labels of a set are: a folder of label maps, and {id of an image of the set: (shard, id) of
    its label there}.
    """

    folder: Path
    places: Mapping[str, tuple[int, str]]


def labels_of_set(study: Study, images: Mapping[str, Image], name: str, truth: str) -> SetLabels | None:
    """Return where the labels of the images of a set are under a truth: a set without labels of its own uses
    those of its parents. None if there can be none.
    """
    sets = study.stress.sets
    places = {image.id: image for image in images.values() if image.set == name}
    while (about := sets.get(name)) is not None and about.labels == "parents" and places:
        places = {id_: images[image.parent] for id_, image in places.items() if image.parent in images}
        name = about.of
    if about is not None and (about.labels == "none" or about.truth != truth):
        return None
    folder = label_maps.truth(study.root, truth) if about is None else labels_folder(study.root, name)
    return SetLabels(folder, {id_: (image.shard, image.id) for id_, image in places.items()})


def refuse_unfinished(study: Study, name: str) -> None:
    """Raise StudyError for a set whose command was killed before it finished: its labels may belong to other
    images.
    """
    about = study.stress.sets.get(name)
    if about is not None and not about.inputs:
        raise StudyError(
            f"--set {name}: the command that makes this set did not finish; run it again (`faultscape status`"
            " shows it)"
        )


def held_out(study: Study, name: str) -> Classes:
    """Return the classes that a holdout of a study keeps; StudyError for an unknown holdout, ClassesError if
    its classes are no longer classes of the study.
    """
    held = study.stress.holdouts
    if name not in held:
        there = f"it has {', '.join(held)}" if held else "make one with `faultscape stress holdout`"
        raise StudyError(f"--holdout {name!r}: the study has no such holdout; {there}")
    return hold_out(study.classes, held[name]).kept
