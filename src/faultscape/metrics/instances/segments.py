"""The segments of a map: its instances where they are known, else its connected regions.

Conventions: a label map holds places of classes, C for void. A segment is a number at its pixels; -1 is void.
What no instance covers, and the background, are segments of class -1, which never count. Instances that
overlap are painted as label maps are: the highest score on top.
Source: Kirillov et al. 2019, section 4.1 (a pixel has one segment).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from faultscape.maps import regions
from faultscape.maps.instances import Instances, of_numbers, paint
from faultscape.nouns import Classes


@dataclass(frozen=True, eq=False)
class Segments:
    """The segments of an image: ``numbers`` (H, W), the place of the class of each (N,), which are a
    ``crowd`` (N,), the ``masks`` of those that count, with places of classes, and whether they are instances
    that were ``told`` apart, or connected regions.
    """

    numbers: np.ndarray
    classes: np.ndarray
    crowd: np.ndarray
    masks: Instances
    told: bool


def of_instances(instances: Instances, labels: np.ndarray, places: np.ndarray, classes: Classes) -> Segments:
    """Return the segments of instances whose labels mean ``places``, on a label map (H, W) of places that
    says where void is.
    """
    of = places[np.clip(instances.classes, 0, len(places) - 1)].astype(np.int64)
    counts = np.isin(of, classes.groups)
    numbers = paint(instances)
    bare = numbers < 0
    numbers[bare] = np.where(labels[bare] == len(classes), -1, len(of))
    numbers[np.append(of >= len(classes), False)[numbers] & ~bare] = -1
    masks = replace(instances, classes=of).only(counts)
    none = np.array([-1], np.int64)
    crowd = np.append(instances.crowd, False)
    return Segments(numbers, np.concatenate((np.where(counts, of, -1), none)), crowd, masks, told=True)


def of_regions(labels: np.ndarray, classes: Classes, *, connectivity: int = 8) -> Segments:
    """Return the connected regions of a label map (H, W) of places as segments.

    >>> from faultscape.classes.class_lists import resolve
    >>> of_regions(np.array([[0, 1, 0]], np.uint8), resolve(2)).classes.tolist()
    [0, 1, 0]
    """
    numbers, names, _ = regions.number(labels, connectivity=connectivity, none=len(classes))
    of = np.where(np.isin(names, classes.groups), names, -1).astype(np.int64)
    counts = np.flatnonzero(of >= 0)
    masks = of_numbers(numbers, counts, of[counts])
    return Segments(numbers, of, np.zeros(len(of), bool), masks, told=False)
