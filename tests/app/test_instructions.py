"""What an organiser tells people, and where people begin: instructions on the way in and beside the work, and
the first page of those who organise and of those who answer.
"""

from __future__ import annotations

import re
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import made_entrance
from answering import Serving, all_sent, answer, current, enter, loaded, rows, watch
from faultscape.reading.study import Study
from faultscape.study.answers import database as databases
from faultscape.study.answers import schema
from faultscape.study.answers.annotators import ORGANISER
from faultscape.study.answers.database import Database
from faultscape.study.answers.instructions import LONGEST
from faultscape.verbs.options import LabelServeOptions
from faultscape.verbs.serve.campaign import Campaign
from made_entrance import HARM, Entrance

TYPED = f"Look at people first.\r\n\r\n\tReflections\0 are no people.  {HARM}\r\n\r\n"
KEPT = f"Look at people first.\n\nReflections are no people. {HARM}"


def shown(text: str) -> list[str]:
    """The instructions that a page shows, as written in HTML."""
    return re.findall(r'<p class="lines"[^>]*>(.*?)</p>', text, re.DOTALL)


def test_what_an_organiser_writes_is_shown_to_people_line_by_line_and_as_text(entrance: Entrance) -> None:
    olga, (_, token) = entrance.invited("olga", ORGANISER), entrance.people.invite("ann")
    assert shown(entrance.client().get(f"/join/{token}").text) == []
    assert "Saved." in olga.form("/people", act="instruct", instructions=TYPED).text
    escaped = KEPT.replace("<", "&lt;").replace(">", "&gt;").replace("'", "&#39;").replace('"', "&#34;")
    ben = entrance.invited("ben")
    pages = [entrance.client().get(f"/join/{token}"), ben.get("/welcome"), ben.get("/work")]
    assert [shown(page.text) for page in pages] == [[escaped]] * 3
    assert ben.get("/api/items").json()["instructions"] == KEPT
    assert f">\n{escaped}</textarea>" in olga.get("/people").text
    assert "no instructions now" in olga.form("/people", act="instruct", instructions=" \r\n ").text
    assert shown(ben.get("/welcome").text) == []


def test_instructions_that_are_too_long_or_not_an_organisers_change_nothing(entrance: Entrance) -> None:
    olga, ann = entrance.invited("olga", ORGANISER), entrance.invited("ann")
    longest = "\u5b57" * LONGEST  # nine bytes each on the way
    assert olga.form("/people", act="instruct", instructions=longest).status_code == 200
    too_long = olga.form("/people", act="instruct", instructions=f"{longest}x")
    assert too_long.status_code == 422
    assert "at most 4,000 characters; these have 4,001" in too_long.text
    assert ann.form("/people", act="instruct", instructions="x").status_code == 403
    assert entrance.campaign.instructions == longest


def test_instructions_stay_with_their_campaign_after_a_restart_and_in_another_database(
    entrance: Entrance, root: Path
) -> None:
    entrance.campaign.instruct("of labels")
    entrance.campaign.instruct("of labels, anew")
    with closing(Database(root)) as database:
        campaigns = [
            Campaign(Study(root, database=database), LabelServeOptions(study=str(root), truth=truth))
            for truth in ("labels", "others")
        ]
        assert [one.instructions for one in campaigns] == ["of labels, anew", ""]
    to = sa.create_engine("sqlite://")
    next(iter(schema.tables().values())).metadata.create_all(to)
    with to.begin() as connection:
        databases._copy(root, connection)
        held = dict(connection.execute(sa.text("SELECT name, value FROM about")).all())
    assert held.keys() == {"secret", "instructions for choices of labels"}
    assert held["instructions for choices of labels"] == "of labels, anew"


def test_a_study_without_answers_has_no_instructions(tmp_path: Path) -> None:
    assert Database(tmp_path).noted("instructions for choices of labels") == ""


def test_organisers_who_invite_begin_at_results_and_who_is_alone_at_the_machine_answers(root: Path) -> None:
    with made_entrance.entrance(root) as held:
        olga, ann = held.invited("olga", ORGANISER), held.invited("ann")
        assert olga.get("/").headers["location"] == "/results"
        assert ann.get("/").headers["location"] == "/work"
        welcomes = [held.client().get(f"/join/{one.invitation}").text for one in (olga, ann)]
        first = [re.search(r'class="button main" href="(\S+)"', text)[1] for text in welcomes]  # type: ignore[index]
        assert first == ["/results", "/work"]
        assert 'href="/work">Answer' in welcomes[0]
        assert 'href="/work">Answer' in olga.get("/results").text
    with made_entrance.entrance(root, open_=True) as held:
        client = held.client()
        assert client.post("/enter", data={"name": "eve"}).headers["location"] == "/work"
        assert client.get("/").headers["location"] == "/work"
        held.campaign.instruct("Look at people first.")
        assert held.client().post("/enter", data={"name": "eve"}).headers["location"] == "/welcome"


@pytest.mark.slow
def test_help_shows_instructions_and_keys_and_no_answer_is_given_behind_it(page: Any, held: Serving) -> None:
    watch(page)
    enter(page, held.url)
    loaded(page, 6)
    first = current(page)
    page.keyboard.press("?")
    help_ = page.get_by_role("dialog", name="Help")
    assert help_.is_visible()
    assert help_.get_by_role("heading", name="Instructions").count() == 0
    assert "Left is better" in help_.inner_text()
    for key in "12345sui":
        page.keyboard.press(key)
    page.keyboard.press("Escape")
    assert current(page) == first
    assert page.is_hidden("#feedback")  # and nothing was to be undone
    held.campaign.instruct("Look at people first.\n\nSigns count twice.")
    answer(page, "1")  # what is asked for next brings them along
    page.wait_for_selector("#feedback:has-text('The instructions changed; press ? to read them.')")
    page.get_by_role("button", name="Help").click()
    assert "Look at people first.\n\nSigns count twice." in help_.inner_text()
    page.keyboard.press("Enter")  # on the text, and so nothing
    assert help_.is_visible()
    help_.get_by_role("button", name="Close").click()
    assert help_.is_hidden()
    all_sent(page)
    assert len(rows(held)) == 1
