"""What is said of discarded images: how many, and what takes their places."""

from __future__ import annotations

from faultscape.labelling.discards import discards_text
from faultscape.nouns import Slot, Slots


def slots(*images: str) -> Slots:
    """A cell a class, each with the images of its places in order: "ab" is image a, and b behind it."""
    rows = [
        Slot("mad", 1, step, "x", "y", class_, place, image, 0.5, 1.0, 9)
        for step, (class_, cell) in enumerate(zip(("sky", "road", "car"), images, strict=False))
        for place, image in enumerate(cell, 1)
    ]
    return Slots(("x", "y"), {"per_class": 1}, tuple(rows))


def test_spares_that_move_up_are_counted_where_they_are_new_images() -> None:
    assert discards_text(slots("ab", "cd"), slots("ab", "cd"), {"z"}) == ""
    assert (
        discards_text(slots("ab", "cd"), slots("b", "cd"), {"a"})
        == "1 chosen image is discarded, and 1 spare image moves up"
    )
    assert (
        discards_text(slots("ab", "ac"), slots("b", "c"), {"a"})
        == "1 chosen image is discarded, and 2 spare images move up"
    )


def test_spares_that_are_chosen_elsewhere_already_are_no_new_images() -> None:
    said = (
        "1 chosen image is discarded, and its place goes to an image that is chosen already: no new image is"
        " to be labelled"
    )
    assert discards_text(slots("ac", "cd"), slots("c", "cd"), {"a"}) == said
    both = (
        "2 chosen images are discarded, and 2 places go to images that are chosen already: no new image is to"
        " be labelled"
    )
    assert discards_text(slots("ac", "bc", "c"), slots("c", "c", "c"), {"a", "b"}) == both


def test_slots_without_a_spare_are_counted() -> None:
    said = "1 chosen image is discarded, and no spare image moves up; 1 slot has no spare left"
    assert (
        discards_text(slots("a", "cd"), Slots(("x", "y"), {"per_class": 1}, slots("a", "cd").rows[1:]), {"a"})
        == said
    )
