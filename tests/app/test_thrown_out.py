"""When an image is discarded for what people say of it: more than three of five who saw it, or of all who
were to see it (S2 3.1).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made_answers
import made_entrance
import made_served
from faultscape.reading.study import Study
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.campaign import Campaign, Given
from faultscape.verbs.serve.options import CampaignRules

Open = Callable[..., Campaign]
PEOPLE = [f"person-{k}" for k in range(9)]


@pytest.fixture
def open_() -> Iterator[Open]:
    with ExitStack() as stack:

        def opened(root: Path, **rules: object) -> Campaign:
            database = stack.enter_context(closing(Database(root, stay_open=True)))
            options = LabelServeOptions(study=str(root), campaign=CampaignRules(**{"repeats": 0.0, **rules}))
            return Campaign(Study(root, database=database), options)

        yield opened


def of_image(campaign: Campaign, who: str, image: str) -> Given:
    """The first item of an image that somebody is asked about."""
    had: set[tuple[str, int]] = set()
    while True:
        (given,) = campaign.items_for(who, had, 1)
        if given.item.image == image:
            return given
        had.add((given.item.id, given.repeat))


def say(campaign: Campaign, who: str, image: str, **said: str) -> bool:
    """Whether an image is discarded once somebody said something of it."""
    given = of_image(campaign, who, image)
    key = f"key-{next(made_served.KEYS):06d}"
    assert campaign.take(who, {"key": key, "id": given.item.id, "repeat": 0, **said}) == ""
    return image in Answers(campaign.root).discarded()


def some_image(campaign: Campaign) -> str:
    return campaign.items_for(PEOPLE[0], (), 1)[0].item.image


@pytest.mark.parametrize(("overlap", "votes"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 4), (6, 4)])
def test_votes_must_be_more_than_three_of_five_of_those_who_are_to_see_an_image(
    tmp_path: Path, open_: Open, overlap: int, votes: int
) -> None:
    campaign = open_(made_entrance.study(tmp_path), overlap=overlap)
    image = some_image(campaign)
    discarded = [say(campaign, who, image, discard="unreadable") for who in PEOPLE[:votes]]
    assert discarded == [False] * (votes - 1) + [True]


@pytest.mark.parametrize(("answered", "votes", "enough"), [(2, 3, False), (1, 4, True)])
def test_of_five_who_saw_an_image_four_discard_it_and_three_do_not(
    tmp_path: Path, open_: Open, answered: int, votes: int, enough: bool
) -> None:
    campaign = open_(made_entrance.study(tmp_path), overlap=5)
    image = some_image(campaign)
    assert not any(say(campaign, who, image, chosen="left") for who in PEOPLE[:answered])
    found = [say(campaign, who, image, discard="unreadable") for who in PEOPLE[answered : answered + votes]]
    assert found == [False] * (votes - 1) + [enough]


def test_fewer_votes_than_were_asked_for_discard_nothing(tmp_path: Path, open_: Open) -> None:
    campaign = open_(made_entrance.study(tmp_path), overlap=1, discard_votes=2)
    image = some_image(campaign)
    assert [say(campaign, who, image, discard="unreadable") for who in PEOPLE[:2]] == [False, True]


@pytest.fixture
def animals(tmp_path: Path) -> Path:
    answers = made_answers.study(tmp_path / "made", images=30)
    fs.select(answers.study, top=3)
    return Path(answers.study)


@pytest.mark.parametrize(("said", "enough"), [
    (["unsure"] * 3, False),
    (["unsure"] * 4, True),
    (["yes", "no", "unsure", "unsure", "unsure", "unsure"], True),  # 4 of 6
    (["yes", "no", "no", "unsure", "unsure", "unsure", "unsure"], False),  # 4 of 7
    (["yes", "no", "no", "unsure", "unsure", "unsure", "unsure", "unsure"], True),  # 5 of 8
])  # fmt: skip
def test_an_image_that_more_than_three_and_three_of_five_are_unsure_about_is_discarded(
    animals: Path, open_: Open, said: list[str], enough: bool
) -> None:
    campaign = open_(animals, overlap=9)
    image = some_image(campaign)
    found = [say(campaign, who, image, chosen=word) for who, word in zip(PEOPLE, said, strict=False)]
    assert found == [False] * (len(said) - 1) + [enough]
    if enough:
        assert image not in campaign.chosen
        assert (
            Answers(animals).discarded()[image]
            == f"{said.count('unsure')} of {len(said)} annotators were unsure"
        )
