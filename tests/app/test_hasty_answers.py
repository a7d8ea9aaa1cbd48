"""Answers that nobody can have meant: the second of a double click, a key that bounces or is held. The page
ignores them; what another page sends in less time than a person needs is kept and marked. Time stands still
here, unless a test lets it pass.
"""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made_entrance
from answering import Asked, Serving, all_sent, current, enter, press, rows, rules, wait_for_item
from faultscape.reading.study import Study
from faultscape.study.answers.checks import Checks
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.tags import Tags
from faultscape.verbs.label.answer_lines import read_answers
from made_entrance import Entrance

TRAINING = "image,model,other,expected\n{},model-0,model-3,both bad\n"


@pytest.fixture
def still(page: Any) -> Any:
    """A page on which no time passes but by ``page.clock.run_for``, once an item is there."""
    page.clock.install(time=0)
    return page


def look(page: Any, milliseconds: int = 3000) -> None:
    """Let time stand still, and pass once so long."""
    page.clock.pause_at(60 if page.evaluate("Date.now()") < 60_000 else page.evaluate("Date.now()") / 1000)
    page.clock.run_for(milliseconds)


def hold(page: Any, key: str) -> None:
    """Hold a key for two seconds, as keyboards do: again after half a second, then thirty times a second."""
    page.keyboard.down(key)
    for wait in (500, *[33] * 45):
        page.clock.run_for(wait)
        page.keyboard.down(key)
    page.keyboard.up(key)


def focus_and_hold_enter(page: Any) -> None:
    page.focus("#left")
    hold(page, "Enter")


def focus_and_press_twice(page: Any) -> None:
    page.focus("#left")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")


def press_twice(page: Any) -> None:
    page.keyboard.press("1")
    page.keyboard.press("1")


def click_slowly_twice(page: Any) -> None:
    """A double click in the time that systems allow, half a second."""
    box = page.locator("#left .caption").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    for number in (1, 2):
        page.mouse.down(click_count=number)
        page.mouse.up(click_count=number)
        page.clock.run_for(400)


WAYS = {
    "a double click": lambda page: page.dblclick("#left .caption"),
    "a slow double click": click_slowly_twice,
    "a key that bounces": press_twice,
    "a key that is held": lambda page: hold(page, "1"),
    "a button's key that bounces": focus_and_press_twice,
    "a button's key that is held": focus_and_hold_enter,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_one_act_answers_one_item(still: Any, held: Serving, settling: int, way: str) -> None:
    enter(still, held.url)
    look(still)
    first = current(still)
    WAYS[way](still)
    all_sent(still)
    assert len(rows(held)) == 1
    second = current(still)
    assert second != first
    still.clock.run_for(settling)
    press(still, "3", f"#work:not([data-item='{second}'])")
    all_sent(still)
    assert [said for *_, said in rows(held)][1:] == ["both good"]


@pytest.mark.slow
def test_what_is_ignored_is_said_moves_nothing_and_begins_the_quarter_of_a_second_anew(
    still: Any, held: Serving, settling: int
) -> None:
    assert settling == 250
    enter(still, held.url)
    look(still)
    still.keyboard.press("1")
    place = still.locator("#panels").bounding_box()
    for _ in range(3):
        still.clock.run_for(settling - 1)
        still.keyboard.press("1")
    assert still.inner_text("#ignored") == "Too quick, ignored"
    assert still.locator("#panels").bounding_box()["x"] == place["x"]
    assert still.is_hidden("#where")
    still.clock.run_for(2000)
    assert still.is_hidden("#ignored")
    assert still.inner_text("#where").startswith("Item 2 of ")
    all_sent(still)
    assert len(rows(held)) == 1


@pytest.mark.slow
def test_undo_is_taken_at_once_and_the_item_needs_a_moment_again(
    still: Any, duels: Asked, serve: Callable[..., Serving], settling: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seconds = itertools.count(time.time())  # the server's clock does not wait for the page's either
    clock = SimpleNamespace(time=lambda: next(seconds), monotonic=time.monotonic)
    monkeypatch.setattr("faultscape.verbs.serve.campaign.time", clock)
    held = serve(duels)
    enter(still, held.url)
    look(still, 3000)
    first = current(still)
    still.keyboard.press("1")
    still.keyboard.press("u")
    wait_for_item(still, first)
    still.clock.run_for(settling)
    still.keyboard.press("1")
    still.clock.run_for(settling)
    still.keyboard.press("u")
    wait_for_item(still, first)
    still.keyboard.press("2")
    assert current(still) == first
    still.clock.run_for(settling)
    still.keyboard.press("2")
    all_sent(still)
    (kept,) = Choices(held.root).choices()
    assert kept.seconds >= 3.25  # it was looked at before
    assert "too_quick" not in kept.shown


@pytest.mark.slow
def test_a_vote_to_discard_and_what_comes_before_it_are_taken_back_by_one_press_each(
    still: Any, duels: Asked, serve: Callable[..., Serving], settling: int
) -> None:
    held = serve(duels, campaign=rules(discard_votes=2))
    enter(still, held.url)
    look(still)
    still.focus("#discard")
    still.keyboard.press("Enter")
    still.keyboard.press("Enter")  # bounces
    assert still.is_visible("#reasons")
    still.clock.run_for(settling)
    press(still, "Enter", "#reasons", state="hidden")
    still.keyboard.press("u")
    still.keyboard.press("u")
    assert still.inner_text("#feedback") == "A vote to discard cannot be undone."
    still.clock.run_for(settling)
    still.keyboard.press("u")
    assert still.inner_text("#feedback") == "There is nothing to undo."
    all_sent(still)
    assert len(Answers(held.root).discard_votes()) == 1


@pytest.mark.slow
def test_what_was_expected_in_training_is_not_clicked_away_unseen(
    still: Any, duels: Asked, serve: Callable[..., Serving], settling: int, tmp_path: Path
) -> None:
    training = tmp_path / "training.csv"
    training.write_text(TRAINING.format(duels.corpus.ids[0]))
    held = serve(duels, campaign=rules(training=str(training)))
    enter(still, held.url)
    look(still)
    first = current(still)
    focus_and_press_twice(still)
    still.wait_for_selector("#feedback:has-text('Expected: both bad')")
    assert current(still) == first
    still.clock.run_for(settling)
    press(still, "Enter", f"#work:not([data-item='{first}'])")


@pytest.mark.slow
def test_an_answer_in_less_time_than_a_person_needs_is_marked_by_its_page_or_the_server_and_counts(
    entrance: Entrance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = time.time()
    clock = SimpleNamespace(time=lambda: now, monotonic=time.monotonic)
    monkeypatch.setattr("faultscape.verbs.serve.campaign.time", clock)
    ann = entrance.invited("ann")
    items = dict(zip((0.008, 0.499, 0.5, None), ann.items(4), strict=True))
    now += 60

    def send(item: Any, seconds: float | None) -> None:
        row = {"key": f"answer-{item['id']}", "id": item["id"], "repeat": 0, "chosen": "left"}
        assert ann.send({**row, "seconds": seconds} if seconds is not None else row)["refused"] == []

    for seconds, item in items.items():
        send(item, seconds)
    (late,) = ann.items(1)
    now += 0.4  # the page says a minute, and was given the item just now
    send(late, 60.0)
    said = Choices(entrance.root, entrance.campaign.database).choices()
    marked = ['"too_quick": true' in one.shown for one in said]
    assert [one.seconds for one in said] == [0.008, 0.499, 0.5, None, 60.0]
    assert marked == [True, True, False, False, True]
    out = tmp_path / "answers.jsonl"
    fs.label.answers(str(entrance.root), str(out))
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["too_quick"] for line in lines if line["kind"] == "choice"] == marked


def test_answers_of_before_there_were_marks_are_read_as_they_were_and_go_out_with_one(
    entrance: Entrance, tmp_path: Path
) -> None:
    held, image = Choices(entrance.root, entrance.campaign.database), made_entrance.IDS[5]
    old = [
        Choice(
            image, *made_entrance.MODELS[:2], "first", "eve", seconds=seconds, repeat=repeat, key=f"eve:{k}"
        )
        for k, (seconds, repeat) in enumerate(((0.008, 0), (4.0, 1)))
    ]
    held.add_all(old, "test")
    before = held.rows()
    out, plain = tmp_path / "answers.jsonl", made_entrance.study(tmp_path / "plain")
    fs.label.answers(str(entrance.root), str(out))
    read_answers(Study(plain), str(out))
    assert held.rows() == before == Choices(plain, Database(plain)).rows()
    lines = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["too_quick"] for line in lines if line["kind"] == "choice"] == [True, False]


def later(page: Any, milliseconds: int) -> None:
    page.evaluate(f"sessionStorage.now = {milliseconds}")


@pytest.fixture
def frozen(page: Any) -> Any:
    """A page whose clock says what `later` told it, across pages."""
    page.add_init_script("Date.now = () => Number(sessionStorage.now || 0)")
    return page


def press_again_on_the_page_that_comes(page: Any) -> None:
    press(page, "n", "[data-key=n][aria-pressed=true]")
    later(page, 249)
    page.keyboard.press("n")


def hold_on(page: Any) -> None:
    page.keyboard.down("n")
    page.wait_for_selector("[data-key=n][aria-pressed=true]")
    later(page, 500)  # when keyboards begin to repeat
    page.keyboard.down("n")
    page.keyboard.up("n")


TAGGING = {
    "a key that bounces": press_again_on_the_page_that_comes,
    "a key that bounces at once": lambda page: page.evaluate(
        "for (let k = 0; k < 2; k++) document.querySelector('[data-key=n]').click()"
    ),
    "a double click": lambda page: page.dblclick("[data-key=n]"),
    "a key that is held": hold_on,
}


@pytest.mark.slow
@pytest.mark.parametrize("way", TAGGING)
def test_a_tag_that_is_pressed_by_mistake_twice_is_given_once(
    frozen: Any, held: Serving, settling: int, way: str
) -> None:
    enter(frozen, held.url)
    frozen.goto(f"{held.url}tags")
    TAGGING[way](frozen)
    frozen.wait_for_selector("[data-key=n][aria-pressed=true]")
    press(frozen, "v", "[data-key=v][aria-pressed=true]")
    assert [tag.tag for tag in Tags(held.root).tags()] == ["novel appearance", "untypical viewpoint"]
    later(frozen, 1000 + settling)
    press(frozen, "n", "[data-key=n][aria-pressed=false]")
    assert [tag.tag for tag in Tags(held.root).tags()] == ["untypical viewpoint"]


@pytest.mark.slow
def test_a_mask_that_came_by_the_first_press_is_not_passed_by_the_second(
    frozen: Any, held: Serving, settling: int
) -> None:
    enter(frozen, held.url)
    frozen.goto(f"{held.url}checks")
    frozen.click("tbody a")
    for passed, now in ((1, 0), (2, settling)):
        later(frozen, now)
        first = frozen.url
        frozen.keyboard.press("n")
        frozen.wait_for_url(lambda address, first=first: address != first)
        frozen.keyboard.press("n")
        assert frozen.inner_text("#said") == "Too quick, ignored"
        assert len(Checks(held.root).checks("labels-ben")) == passed
