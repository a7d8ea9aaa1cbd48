"""Known objects for fishyscapes-v3: cut out of labelled training images, each at its original position.

Conventions: the classes are those of Fishyscapes, under the names of common class lists. Objects are
instances if the study has them (`truth/instances`), else connected regions of a class. The choice of images
and objects depends on bytes, never on names. An instance in several pieces is occluded and left out; people
judge the others (`--review`).
Source: Blum et al. 2021, 3.1: car, person, truck, bus, train, bike "where we manually filter out any occluded
instances"; how many is ours.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import table
from faultscape.corpus.photos import read_photo
from faultscape.errors import CorpusError, ImageError, OptionError, closest, counted
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.progress import progress
from faultscape.stressors.objects.cutout import Cutout, connected_cutouts, usable_cutouts
from faultscape.study.settings import Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image
from faultscape.ties import tie_order
from faultscape.verbs.options import StressBlendOptions

MOST = 500  # most objects per set
KNOWN = ("car", "person", "pedestrian", "truck", "bus", "train", "bicycle", "bicyclist", "bike")
_INSTANCES = "instances"
_WHOLE = 0.98  # share of an instance's pixels in its largest piece, to tolerate specks left by annotators


def known_objects(
    root: Path, settings: Settings, images: Sequence[Image], options: StressBlendOptions, truth: str
) -> list[Cutout]:
    """Return known objects of labelled training images, at most `MOST`; CorpusError if there are none."""
    names = {place: name for place, name in enumerate(settings.classes.names) if name.lower() in KNOWN}
    training = [
        image
        for image in images
        if not image.parent
        and (image.set == options.blending.known if options.blending.known else image.role == "train")
    ]
    collected = list(dict.fromkeys(image.set for image in images if not image.parent))
    if options.blending.known is not None and options.blending.known not in collected:
        raise CorpusError(
            f"--known {options.blending.known}: no set of this name was collected; there"
            f" {'is' if len(collected) == 1 else 'are'}"
            f" {', '.join(collected)}.{closest(options.blending.known, collected)}"
        )
    if not names:
        raise OptionError(
            f"fishyscapes-v3 blends known objects ({', '.join(KNOWN)}), and the study has no such class; give"
            " some in objects.csv with use known"
        )
    if not training:
        raise CorpusError(
            "fishyscapes-v3 blends known objects from training images, and the study has none; collect "
            "some with --set NAME --role train, name a set with --known, or give objects.csv with use "
            "known"
        )
    places = table(settings.class_list)
    found = list[Cutout]()
    unread = list[ImageError]()
    maps = lru_cache(maxsize=4)(lambda number: label_maps.read_maps(label_maps.truth(root, truth), number))
    instances = lru_cache(maxsize=4)(
        lambda number: label_maps.read_maps(label_maps.truth(root, _INSTANCES), number)
    )
    order = tie_order(
        [image.key for image in training], options.seed, [image.id for image in training]
    ).tolist()
    with progress("known objects", len(training)) as tick:
        for image in [training[k] for k in order]:
            tick(1)
            if len(found) >= MOST or (code := maps(image.shard).get(image.id)) is None:
                continue
            try:
                photo = read_photo(image)[0]
            except ImageError as error:
                unread.append(error)
                continue
            size = (image.width, image.height)
            labels = nearest(places[runs.decode(code)], size)
            of_labels = names
            if (numbered := instances(image.shard).get(image.id)) is not None:
                own = nearest(runs.decode(numbered), size)
                labels, of_labels = own, names_of_instances(own, labels, names)
            cut = connected_cutouts(photo, labels, of_labels, image.id, smallest=options.blending.smallest)
            found += usable_cutouts(cut, options.blending.smallest)[0]
    if unread:
        print(
            f"{counted(len(unread), 'training image')} cannot be read; no known objects are taken from "
            f"{'it' if len(unread) == 1 else 'them'} (first: {unread[0]})"
        )
    if not found:
        raise CorpusError(
            f"no known object of {options.blending.smallest} pixels or more in"
            f" {counted(len(training), 'training image')} with labels of truth {truth}; lower --smallest, or"
            " give objects.csv with use known"
        )
    return found[:MOST]


def names_of_instances(instances: np.ndarray, places: np.ndarray, names: dict[int, str]) -> dict[int, str]:
    """Return {instance: class} of the instances (H, W), 0 for none, whose most common place is one of
    ``names`` and that are in one piece; the others are occluded.

    >>> names_of_instances(np.array([[1, 1, 2, 0]]), np.array([[8, 8, 3, 3]]), {8: "car"})
    {1: 'car'}
    >>> names_of_instances(
    ...     np.array([[1, 0, 1, 2]]), np.full((1, 4), 8), {8: "car"}
    ... )  # a pole before the first
    {2: 'car'}
    """
    from scipy import ndimage

    values, numbered = np.unique(instances, return_inverse=True)
    found = {}
    for value, box in zip(
        values.tolist(), ndimage.find_objects(numbered.reshape(instances.shape) + 1), strict=True
    ):
        if not value:
            continue
        there = instances[box] == value
        commonest = int(np.bincount(places[box][there]).argmax())
        pieces = np.empty(there.shape, np.int32)
        ndimage.label(there, np.ones((3, 3), bool), pieces)
        if commonest in names and np.bincount(pieces[there]).max() >= _WHOLE * np.count_nonzero(there):
            found[value] = names[commonest]
    return found
