"""Nobody works out which model is which from what a page says, though they know the names of models, their
maps and the code; and servers of one study agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import sqlalchemy as sa

import faultscape as fs
import made_entrance
import made_served
from faultscape.reading.study import Study
from faultscape.study.answers import database as databases
from faultscape.study.answers import schema
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.secret import secret_of
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.campaign import Campaign, Given
from faultscape.verbs.serve.options import CampaignRules
from faultscape.web.app import NotFoundError

NOT_ASKED = "you were not asked about this item"


@pytest.fixture
def open_(tmp_path: Path) -> Iterator:
    """Open a campaign on a copy of the study of this name, the same copy again for the same name, which is
    its secret.
    """
    with ExitStack() as stack:

        def opened(name: str = "study", **rules: object) -> Campaign:
            root = tmp_path / name / "study"
            if not root.exists():
                fs.select(str(made_entrance.study(tmp_path / name)), per_class=4)
                Database(root).settle(schema.SALT, f"{name} 0.0")
            database = stack.enter_context(closing(Database(root, stay_open=True)))
            options = LabelServeOptions(study=str(root), campaign=CampaignRules(**{"overlap": 1, **rules}))
            return Campaign(Study(root, database=database), options)

        yield opened


def take(campaign: Campaign, who: str, id_: str, repeat: int = 0) -> str:
    return campaign.take(
        who, {"key": f"key-{next(made_served.KEYS):06d}", "id": id_, "repeat": repeat, "chosen": "left"}
    )


def answer_all(campaign: Campaign, who: str) -> list[Given]:
    out = []
    while given := campaign.items_for(who, (), 4):
        assert [take(campaign, who, one.item.id, one.repeat) for one in given] == [""] * len(given)
        out += given
    return out


def asked(given: list[Given]) -> list[tuple[str, str, str, int]]:
    return [(one.item.image, one.item.first, one.item.second, one.repeat) for one in given]  # type: ignore[union-attr]


def forget_secret(root: Path) -> None:
    """Make a database one of before there was a secret."""
    with closing(Database(root)) as database, database.connection("write") as connection:
        connection.execute(sa.text("DELETE FROM about WHERE name = 'secret'"))


@pytest.mark.slow
def test_of_two_databases_of_the_same_study_ids_and_sides_differ_and_order_and_repeats_are_the_seeds(
    open_,
) -> None:
    one, other = (answer_all(open_(name, repeats=0.3), "ann") for name in ("one", "other"))
    assert asked(one) == asked(other)
    assert any(repeat for *_, repeat in asked(one))
    assert {given.item.id for given in one}.isdisjoint(given.item.id for given in other)
    same = sum(a.side == b.side for a, b in zip(one, other, strict=True))
    assert 0.15 < same / len(one) < 0.85


def test_no_id_on_a_page_is_one_of_the_database_which_follow_from_names(open_) -> None:
    campaign = open_()
    shown = {one.item.id for one in campaign.items_for("ann", (), 5)}
    kept = {one.item for one in Annotators(campaign.root, campaign.database).handed()}
    assert len(shown) == len(kept) == 5
    assert shown.isdisjoint(kept)
    assert all(take(campaign, "ann", id_) == NOT_ASKED for id_ in kept)
    with pytest.raises(NotFoundError):
        campaign.find(kept.pop())


def test_tags_of_the_same_picture_differ_between_databases(tmp_path: Path) -> None:
    tags = []
    for name in ("one", "other"):
        with made_entrance.entrance(made_entrance.study(tmp_path / name)) as entrance:
            ann, found = entrance.invited("ann"), {}
            for item in ann.items(10):
                given = entrance.campaign.find(item["id"])
                for side in ("left", "right"):
                    model = entrance.campaign.model_on(ann.pseudonym, given, 0, side)  # type: ignore[arg-type]
                    found[given.image, model] = ann.get(item[side]["fill"]).headers["etag"]
                found[given.image, ""] = ann.get(item["photo"]).headers["etag"]
            tags.append(found)
    both = tags[0].keys() & tags[1].keys()
    assert len(both) > 10
    assert not [key for key in both if tags[0][key] == tags[1][key]]


def test_a_server_that_is_started_again_and_a_second_one_agree(open_) -> None:
    first = open_()
    given = first.items_for("ann", (), 4)
    for another in (open_(), open_()):
        assert another.items_for("ann", (), 4) == given
        assert another.find(given[0].item.id) == given[0].item
    assert take(open_(), "ann", given[0].item.id) == take(first, "ann", given[1].item.id) == ""


def test_of_many_who_ask_at_once_all_get_the_same_secret(open_) -> None:
    root = open_().root
    forget_secret(root)
    with ThreadPoolExecutor(8) as together:
        assert len(set(together.map(lambda _: secret_of(Database(root)), range(8)))) == 1


def test_the_secret_goes_along_to_another_database(open_) -> None:
    campaign = open_()
    campaign.items_for("ann", (), 1)
    to = sa.create_engine("sqlite://")
    next(iter(schema.tables().values())).metadata.create_all(to)
    with to.begin() as connection:
        databases._copy(campaign.root, connection)
        ((word,),) = connection.execute(sa.text("SELECT value FROM about WHERE name = 'secret'"))
        assert connection.execute(sa.text("SELECT count(*) FROM about")).scalar() == 1
    assert word.split()[0] == campaign.secret.word


def test_a_campaign_of_before_there_was_a_secret_goes_on_and_nothing_is_asked_twice_or_lost(open_) -> None:
    before = open_()
    given = before.items_for("ann", (), 5)
    named = [one.item for one in Annotators(before.root).handed()]  # what pages of then call these items
    assert [take(before, "ann", one.item.id) for one in given[:2]] == ["", ""]
    forget_secret(before.root)
    after = open_()
    assert take(after, "ann", named[2]) == ""  # the browser had it in its queue
    have = {(named[3], 0)}
    (next_,) = after.items_for("ann", have, 1)
    assert (asked([next_]), next_.side) == (asked(given[4:]), given[4].side)
    assert next_.item.id not in {*named, *(one.item.id for one in given)}
    rest = answer_all(after, "ann")
    assert asked(rest)[:2] == asked(given[3:])
    every = asked(given[:3]) + asked(rest)
    assert len(set(every)) == len(every) == len(Choices(after.root).choices())
    late = Annotators(after.root).handed()[-1]
    assert take(after, "ann", late.item) == NOT_ASKED  # handed since there is a secret


def test_an_answer_by_an_old_id_of_an_image_that_was_discarded_says_so(open_) -> None:
    campaign = open_()
    (given,) = campaign.items_for("ann", (), 1)
    discard = {"key": "discard-1", "id": given.item.id, "repeat": 0, "discard": "unreadable"}
    assert [campaign.take("ann", discard) for _ in range(2)] == ["", ""]  # sent again it is confirmed
    assert "no longer asked" in take(campaign, "ann", given.item.id)
