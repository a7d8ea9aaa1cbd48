"""COCO's evaluation of masks, and panoptic quality, written out step by step from their published rules, mask
by mask; imports only numpy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Mask(NamedTuple):
    """A mask (H, W) of an image, with its class, its score, and whether it is a crowd."""

    image: int
    class_: int
    pixels: np.ndarray
    score: float = 0.0
    crowd: bool = False


def iou(said: Mask, true: Mask) -> float:
    """Intersection over union; over the prediction alone if the true mask is a crowd."""
    shared = (said.pixels & true.pixels).sum()
    whole = said.pixels.sum() if true.crowd else (said.pixels | true.pixels).sum()
    return shared / whole if shared else 0.0


def average_precision(truths: list[Mask], said: list[Mask], overlap: float) -> list[float]:
    """AP at one overlap of each class that has a true mask, in the order of the classes."""
    out = []
    for class_ in sorted({mask.class_ for mask in truths}):
        results = []  # (score, found, ignored) in the order of images
        positives = 0
        for image in sorted({mask.image for mask in (*truths, *said)}):
            gts = [m for m in truths if (m.image, m.class_) == (image, class_)]
            gts = [m for m in gts if not m.crowd] + [m for m in gts if m.crowd]
            dts = [m for m in said if (m.image, m.class_) == (image, class_)]
            dts = sorted(dts, key=lambda m: -m.score)[:100]
            positives += sum(not m.crowd for m in gts)
            taken = set()
            for dt in dts:
                best, at = overlap, None
                for k, gt in enumerate(gts):
                    if k in taken and not gt.crowd:
                        continue
                    if at is not None and not gts[at].crowd and gt.crowd:
                        break
                    if (value := iou(dt, gt)) >= best:
                        best, at = value, k
                if at is not None:
                    taken.add(at)
                results.append((dt.score, at is not None, at is not None and gts[at].crowd))
        if not positives:
            continue
        right = wrong = 0
        curve = []  # (recall, precision)
        for _, found, ignored in sorted(results, key=lambda row: -row[0]):
            right += found and not ignored
            wrong += not found and not ignored
            curve.append((right / positives, right / (right + wrong) if right + wrong else 0.0))
        points = [max((p for r, p in curve if r >= k / 100), default=0.0) for k in range(101)]
        out.append(sum(points) / 101)
    return out


def panoptic(
    truths: list[np.ndarray],
    said: list[np.ndarray],
    truth_classes: list[dict[int, int]],
    said_classes: list[dict[int, int]],
    crowds: list[set[int]],
) -> dict[int, tuple[float, int, int, int]]:
    """{class: (sum of IoU, found, missed, invented)} of maps of segment ids in which 0 is void."""
    out: dict[int, list] = {}

    def add(class_: int, place: int, value: float = 1) -> None:
        out.setdefault(class_, [0.0, 0, 0, 0])[place] += value

    for truth, guess, of_truth, of_said, crowd in zip(
        truths, said, truth_classes, said_classes, crowds, strict=True
    ):
        found_true, found_said = set(), set()
        for g, class_ in of_truth.items():
            for s in of_said:
                shared = ((truth == g) & (guess == s)).sum()
                if g in crowd or of_said[s] != class_ or not shared:
                    continue
                in_void = ((truth == 0) & (guess == s)).sum()
                value = shared / ((truth == g).sum() + (guess == s).sum() - shared - in_void)
                if value > 0.5:
                    add(class_, 0, value)
                    add(class_, 1)
                    found_true.add(g)
                    found_said.add(s)
        for g, class_ in of_truth.items():
            if g not in found_true and g not in crowd:
                add(class_, 2)
        for s, class_ in of_said.items():
            if s in found_said:
                continue
            aside = ((truth == 0) & (guess == s)).sum()
            aside += sum(((truth == g) & (guess == s)).sum() for g in crowd if of_truth[g] == class_)
            if aside / (guess == s).sum() <= 0.5:
                add(class_, 3)
    return {class_: tuple(row) for class_, row in out.items()}
