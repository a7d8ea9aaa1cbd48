"""Held-out classes: what a model may learn from a label map if some classes are to be unknown, and the labels
that it is judged by.

Conventions: labels are places (H, W): 0..C-1 of C classes, C for void. *Withheld* pixels are those of the
held-out classes. In training truth, every loss ignores them, and they never serve as out-of-distribution
data, for which only pixels that were void from the start are used; in test truth they are the anomaly: 1
withheld, 0 kept, 255 void. The kept classes have places 0..K-1 in their old order.

``classes`` is the class list. ``names`` are the classes to hold out. ``training`` (H, W) is a result of
``training_labels``. ``holdout`` is a result of ``hold_out``.

Source: Buchanan et al. 2022, ADE20k-Open: classes are dropped "by masking out the pixels corresponding to
these classes". The authors' code numbers kept classes from 1 and never uses 0, so that the last is out of
range; ours are 0..K-1.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from faultscape.errors import ClassesError, LabelMapError, OptionError, closest, shortened
from faultscape.maps import checked_arrays
from faultscape.nouns import Classes
from faultscape.stressors.anomaly_labels import ANOMALY, KNOWN, VOID

WITHHELD = 254  # in training truth, where classes are 0..K-1
_WIDE_VOID, _WIDE_WITHHELD = 65535, 65534  # where K is above 254


@dataclass(frozen=True)
class HoldoutPreset:
    """Classes that a paper holds out, each with its possible names in a class list."""

    name: str
    classes: tuple[tuple[str, ...], ...]
    source: str


HOLDOUT_PRESETS = (
    HoldoutPreset(
        "s3-paper",
        (("chair",), ("sofa", "couch")),
        "Buchanan et al. 2022, section 2: chair, sofa, couch; the class list of ADE20K has one class for the"
        " last two",
    ),
    HoldoutPreset(
        "s3-code",
        (("chair",), ("armchair",), ("swivel chair",)),
        "the code of Buchanan et al. 2022: chair, armchair, swivel chair",
    ),
)


@dataclass(frozen=True)
class Holdout:
    """The K kept classes, the withheld ones, and tables by place, with void last."""

    kept: Classes  # as a separate class list, in which ids of withheld classes are void
    withheld: tuple[str, ...]  # names, in the order of the class list
    kept_places: np.ndarray  # (C + 1,) uint16: the place among the kept classes, K for withheld and void
    is_withheld: np.ndarray  # (C + 1,) bool, false for void


def hold_out(classes: Classes, names: Sequence[str]) -> Holdout:
    """Return the result of holding out some classes of a class list.

    Errors: ClassesError for a name that is not a class, OptionError if all classes or none are named.

    >>> from faultscape.classes.class_lists import resolve
    >>> found = hold_out(resolve(4), ["class-1"])
    >>> found.kept.names, found.kept_places.tolist(), found.is_withheld.tolist()
    (('class-0', 'class-2', 'class-3'), [0, 3, 1, 2, 3], [False, True, False, False, False])
    """
    if lost := next((name for name in names if name not in classes.names), None):
        raise ClassesError(
            f"{lost!r} cannot be held out: it is not a class.{closest(lost, list(classes.names))} Classes:"
            f" {shortened(classes.names, lost)}"
        )
    withheld = tuple(name for name in classes.names if name in set(names))
    if not withheld or len(withheld) == len(classes):
        raise OptionError(
            f"hold out one class or more, and keep one or more; got {len(withheld)} of {len(classes)}"
        )
    is_withheld = np.array([name in withheld for name in classes.names] + [False])
    places = np.full(len(classes) + 1, len(classes) - len(withheld), np.uint16)
    keep = np.flatnonzero(~is_withheld[:-1])
    places[keep] = np.arange(len(keep))
    ids = np.array(classes.ids)
    gone = set(withheld)
    kept = replace(
        classes,
        names=tuple(classes.names[k] for k in keep),
        ids=tuple(ids[keep].tolist()),
        colours=tuple(classes.colours[k] for k in keep) if classes.colours else (),
        void=tuple(sorted({*classes.void, *ids[is_withheld[:-1]].tolist()})),
        background=classes.background if classes.background in ids[keep] else None,
        parents={
            name: left
            for name, members in classes.parents.items()
            if (left := tuple(m for m in members if m not in gone))
        },
        synonyms={name: words for name, words in classes.synonyms.items() if name not in gone},
        wnids=tuple(classes.wnids[k] for k in keep) if classes.wnids else (),
        glosses={name: words for name, words in classes.glosses.items() if name not in gone},
    )
    return Holdout(kept, withheld, places, is_withheld)


def preset_classes(name: str, classes: Classes) -> tuple[str, ...]:
    """Return the classes of a list that a preset holds out: all that have one of its names, also as a
    synonym; ``sofa, couch, lounge`` has three names.

    Errors: OptionError for an unknown preset, ClassesError if the list lacks one of its classes.

    >>> from faultscape.classes.class_lists import resolve
    >>> preset_classes("s3-paper", resolve("ade20k"))
    ('chair', 'sofa')
    """
    preset = next((preset for preset in HOLDOUT_PRESETS if preset.name == name), None)
    if preset is None:
        known = [preset.name for preset in HOLDOUT_PRESETS]
        raise OptionError(f"--preset {name!r} is not known; use {' or '.join(known)}.{closest(name, known)}")
    found = []
    for words in preset.classes:
        hits = [own for own in classes.names if set(words) & {*_words(own), *classes.synonyms.get(own, ())}]
        if not hits:
            raise ClassesError(
                f"--preset {name} holds out {words[0]!r}, which is not a class of the study; give"
                " the study's names with --classes"
            )
        found += hits  # all of them: a list may have sofa and couch, and the paper holds out both
    return tuple(dict.fromkeys(found))


def _words(name: str) -> list[str]:
    return [name, *(word.strip() for word in re.split("[,;]", name))]


def training_labels(labels: np.ndarray, holdout: Holdout) -> np.ndarray:
    """Return the training truth (H, W) from labels (H, W) of places: 0..K-1 for kept classes, 254 withheld,
    255 void; uint8, or uint16 if K is above 254 (65534, 65535).

    Errors: LabelMapError for labels that are not places of the class list.

    >>> from faultscape.classes.class_lists import resolve
    >>> training_labels(np.array([[0, 1, 2, 4]]), hold_out(resolve(4), ["class-1"])).tolist()
    [[0, 254, 1, 255]]
    """
    wide = len(holdout.kept) > WITHHELD
    table = holdout.kept_places.astype(np.uint16 if wide else np.uint8)
    table[-1] = _WIDE_VOID if wide else VOID
    table[holdout.is_withheld] = _WIDE_WITHHELD if wide else WITHHELD
    return table[_places(labels, holdout)]


def loss_pixels(training: np.ndarray) -> np.ndarray:
    """Return (H, W) the pixels of training truth that a loss may use: those of kept classes.

    >>> loss_pixels(np.array([[0, 254, 255, 3]], np.uint8)).tolist()
    [[True, False, False, True]]
    """
    training = checked_arrays.whole_numbers(training, "training", LabelMapError)
    return training < (_WIDE_WITHHELD if training.dtype == np.uint16 else WITHHELD)


def ood_pixels(training: np.ndarray) -> np.ndarray:
    """Return (H, W) the pixels of training truth that may serve as out-of-distribution data: those that were
    void from the start, never withheld ones.

    >>> ood_pixels(np.array([[0, 254, 255, 3]], np.uint8)).tolist()
    [[False, False, True, False]]
    """
    training = checked_arrays.whole_numbers(training, "training", LabelMapError)
    return training == (_WIDE_VOID if training.dtype == np.uint16 else VOID)


def open_labels(labels: np.ndarray, holdout: Holdout) -> np.ndarray:
    """Return the test truth (H, W) uint8 from labels (H, W) of places: 1 withheld, 0 kept, 255 void (Buchanan
    et al. 2022, ADE20k-Open).

    Errors: LabelMapError for labels that are not places of the class list.

    >>> from faultscape.classes.class_lists import resolve
    >>> open_labels(np.array([[0, 1, 2, 4]]), hold_out(resolve(4), ["class-1"])).tolist()
    [[0, 1, 0, 255]]
    """
    table = np.where(holdout.is_withheld, ANOMALY, KNOWN).astype(np.uint8)
    table[-1] = VOID
    return table[_places(labels, holdout)]


def _places(labels: np.ndarray, holdout: Holdout) -> np.ndarray:
    """Return labels that are places of the class list; LabelMapError for others, which would index a table
    from its end, or out of range.
    """
    labels = np.asarray(labels)
    classes = len(holdout.is_withheld) - 1
    if labels.dtype.kind not in "iu":
        raise LabelMapError(
            f"labels are {labels.dtype}; expected whole numbers, 0 to {classes - 1} for classes and {classes}"
            " for void"
        )
    if labels.size and not 0 <= int(labels.min()) <= int(labels.max()) <= classes:
        raise LabelMapError(
            f"labels are {labels.min()} to {labels.max()}; expected places in the class list, 0 to"
            f" {classes - 1}, and {classes} for void"
        )
    return labels
