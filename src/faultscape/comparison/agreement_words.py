"""Warnings about models that agree with no other model, or everywhere.

Conventions: sentences without a final period; numbers are mean agreements from 0 to 1.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.comparison.agreement import alike
from faultscape.comparison.misplacement import LOST, NOBODY, Finding
from faultscape.errors import counted
from faultscape.nouns import Agreement, Classes

_NUMBERS = ("no", "one", "two", "three", "four", "five", "six")
_BELOW = (
    "no order of images explains that; one errs where others are right, the images were chosen because models"
    " differ, or classes are exchanged"
)
_MANY_UNSEEN = 5  # classes that no model predicts, and more than a third of all
_FEWEST_IMAGES = 20  # and at least as many images as classes
_NAMED = 3  # confused classes that are listed


def warnings(found: Agreement, misplaced: Sequence[Finding], classes: Classes) -> list[str]:
    """Return the warnings of a table of agreement: misplaced models, and pairs that agree everywhere."""
    words = [misplaced_words(finding, found.models, classes, found.concordance) for finding in misplaced]
    for one, other in alike(found):
        images = int(found.images[found.models.index(one), found.models.index(other)])
        words.append(
            f"{one} and {other} agree everywhere ({counted(images, 'image')}): no label can tell them apart,"
            " and no image is chosen for them"
        )
    return words


def unseen_words(names: Sequence[str], seen: Sequence[bool], images: int) -> list[str]:
    """Return a warning if all maps use only the first ids of a longer class list, as maps of a different list
    do; none if classes in between are missing too, which rare classes explain, or for so few images that many
    classes cannot be expected.

    >>> unseen_words(["sky", "road", "car", *"abcdefg"], [True] * 3 + [False] * 7, 30)
    ['the last 7 of 10 classes (a, b, c ...) occur in no map of any model: is this the right class list?']
    >>> unseen_words(["sky", "road", "car", *"abcdefg"], [True, False] * 5, 30)
    []
    """
    used = 1 + max((k for k, one in enumerate(seen) if one), default=-1)
    last = names[used:]
    if (
        not all(seen[:used])
        or len(last) < _MANY_UNSEEN
        or 3 * len(last) <= len(names)
        or images < max(_FEWEST_IMAGES, len(names))
    ):
        return []
    some = f"{', '.join(last[:3])}{' ...' if len(last) > 3 else ''}"
    said = f"the last {len(last)} of {len(names)} classes ({some}) occur in no map of any model"
    return [f"{said}: is this the right class list?"]


def misplaced_words(f: Finding, models: Sequence[str], classes: Classes, concordance: str = "miou") -> str:
    """Return what is wrong with a model, in a sentence.

    >>> from faultscape.classes.class_lists import resolve
    >>> misplaced_words(Finding(1, "shift", 0.22, 0.91, 0.2, 0.9, shift=1), ("a", "b", "c"), resolve(2))
    'b agrees with no other model (.22; the others .90 with each other): its images appear to be shifted by
    one; with image i + 1 it would agree .91'
    >>> misplaced_words(Finding(0, "chance", 0.1, float("nan"), 0.1, float("nan")), ("a", "b"), resolve(2))
    'a and b agree .10, no more than with shuffled images (.10): one of them is at chance, or its images are
    in another order'
    """
    name = models[f.model]
    two = len(models) == 2
    if f.kind in LOST:
        if two and f.kind == "below":
            return (
                f"{models[0]} and {models[1]} agree {_share(f.agreement)}, less than with shuffled images"
                f" ({_share(f.chance)}): {_BELOW}"
            )
        if two:
            return (
                f"{models[0]} and {models[1]} agree {_share(f.agreement)}, no more than with shuffled images"
                f" ({_share(f.chance)}): one of them is at chance, or its images are in another order"
            )
        than = f"; the others agree {_share(f.others)} with each other" if f.others == f.others else ""
        if f.kind == "below":
            return (
                f"{name} agrees with the others less than shuffled images would: {_share(f.agreement)}, where"
                f" these give {_share(f.chance)}{than}: {_BELOW}"
            )
        if f.kind == "chance":
            order = "; a permutation of its images would look the same" if concordance == "0-1" else ""
            return (
                f"{name} is at chance: it agrees {_share(f.agreement)} with the others, and would"
                f" {_share(f.chance)} with shuffled images{than}{order}"
            )
        return (
            f"{name} agrees with no other model: {_share(f.agreement)}, where shuffled images give"
            f" {_share(f.chance)}{than}; no shift of images and no mix-up of classes explains it"
        )
    would = f"it would agree {_share(f.would)}"
    end = {
        "shift": (
            f"its images appear to be shifted by {_number(f.shift)}; with image i {'+-'[f.shift < 0]}"
            f" {abs(f.shift)} {would}"
        ),
        "reversed": f"its images appear to be in reverse order; reversed {would}",
        "names": (
            "its images appear to be sorted in another way than the others' (10 before 9, or 9 before 10);"
            f" in the other order {would}"
        ),
        "permutation": f"its images appear to be permuted; in another order {would}",
        "classes": f"{_mixed(f, classes)}; corrected {would}",
    }[f.kind]
    if two:
        return (
            f"{models[0]} and {models[1]} agree {_share(f.agreement)}, and one of them is misplaced: of"
            f" {name}, {end}".replace("it would", "the two would")
        )
    lost = f.others == f.others and f.agreement - f.chance < NOBODY * (f.others - f.chance)
    beside = f"; the others {_share(f.others)} with each other" if f.others == f.others else ""
    how = "agrees with no other model" if lost else "agrees less than it could"
    return f"{name} {how} ({_share(f.agreement)}{beside}): {end}"


def _mixed(f: Finding, classes: Classes) -> str:
    """Return which classes a model confuses."""
    pairs = [
        f"{classes.names[said]} where the others say {classes.names[meant]}" for said, meant in f.classes
    ]
    more = f" and {len(pairs) - _NAMED} more" if len(pairs) > _NAMED else ""
    named = f"it says {', '.join(pairs[:_NAMED])}{more}"
    return (
        f"its class ids appear to be shifted by {_number(-f.shift)} ({named})"
        if f.shift
        else f"its classes appear to be mixed up: {named}"
    )


def _number(value: int) -> str:
    return _NUMBERS[abs(value)] if abs(value) < len(_NUMBERS) else f"{abs(value)}"


def _share(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")
