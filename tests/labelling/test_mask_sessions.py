"""Images shared among people: each by as many as asked, everybody about as many, decided by the seed
alone.
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from faultscape.errors import OptionError
from faultscape.labelling.people.mask_consensus import share_images
from refusals import refused

IMAGES = st.sets(st.text(max_size=6), max_size=60)
PEOPLE = st.lists(st.text(min_size=1, max_size=4), min_size=1, max_size=7, unique=True)


@given(IMAGES, PEOPLE, st.data())
def test_each_image_has_so_many_people_and_nobody_one_more_than_others(
    images: set[str], people: list[str], data: st.DataObject
) -> None:
    overlap, session = data.draw(st.integers(1, len(people))), data.draw(st.integers(1, 9))
    seed = data.draw(st.integers(0, 99))
    found = share_images(images, people, overlap=overlap, session=session, seed=seed)
    assert list(found) == people
    mine = {who: [image for one in sessions for image in one] for who, sessions in found.items()}
    assert Counter(image for held in mine.values() for image in held) == dict.fromkeys(images, overlap)
    assert all(len(set(held)) == len(held) for held in mine.values())
    numbers = [len(held) for held in mine.values()]
    assert max(numbers) - min(numbers) <= 1
    for sessions in found.values():
        assert all(len(one) == session for one in sessions[:-1])
        assert all(sessions)
    assert share_images(sorted(images), people, overlap=overlap, session=session, seed=seed) == found


def test_the_seed_decides_and_images_come_in_one_order_for_all() -> None:
    images = [f"image {k}" for k in range(40)]
    one, other = (share_images(images, ["ann", "ben", "eve"], overlap=2, seed=seed) for seed in (0, 1))
    assert one != other
    order = {
        image: k for k, image in enumerate(share_images(images, ["all"], overlap=1, session=40)["all"][0])
    }
    for sessions in one.values():
        places = [order[image] for session in sessions for image in session]
        assert all(a < b for a, b in pairwise(places))
    together = Counter(
        tuple(sorted(who for who, held in one.items() if any(image in s for s in held))) for image in images
    )
    assert len(together) == 3  # everybody meets everybody
    assert min(together.values()) > 5


@pytest.mark.parametrize(
    ("people", "more", "says"),
    [
        ([], {}, "one annotator or more, each named once; got none"),
        (["a", "a"], {}, "each named once; got a, a"),
        (["a"], {"overlap": 2}, "--overlap 2: .* 1 to 1 people per image, since 1 annotator is named"),
        (["a", "b"], {"overlap": 0}, "--overlap 0"),
        (["a", "b"], {"session": 0}, "--session 0"),
    ],
)
def test_what_cannot_be_shared_is_refused(people: list[str], more: dict[str, int], says: str) -> None:
    with refused(OptionError, says):
        share_images(["x"], people, **more)
