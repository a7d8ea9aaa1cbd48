"""A person answers in a browser: by keyboard, without waiting, through a server that dies, and what is kept
is what was said.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from answering import (
    ENLARGED,
    Asked,
    Serving,
    all_sent,
    at_once,
    enter,
    go_on,
    item,
    loaded,
    rules,
    watch,
)
from faultscape.reading.choices import digests
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.secret import secret_of
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.serve.agenda import choice_id
from faultscape.verbs.serve.asked_items import choice_items

WAYS = (
    "1",
    "2",
    "ArrowLeft",
    "#right",
    "3",
    "#left",
    "4",
    "ArrowRight",
    "5",
    "[data-say='both bad']",
    "2",
    "s",
    "[data-say='not sure']",
)
SAYS = {
    "1": "left",
    "ArrowLeft": "left",
    "#left": "left",
    "2": "right",
    "ArrowRight": "right",
    "#right": "right",
    "3": "both good",
    "4": "both bad",
    "5": "not sure",
    "s": "skip",
}
NUMBER, KEYS = 30, 12


@contextmanager
def program(root: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`faultscape label serve` in a process of its own, and the address that it prints."""
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", str(port)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


def say(page: Any, way: str) -> str:
    """Answer by a key or a click; returns what that says."""
    if way in ("1", "2", "3", "4", "5", "s") or way.startswith("Arrow"):
        page.keyboard.press(way)
    else:
        page.click(way)
    return SAYS.get(way) or re.search("'(.*)'", way)[1]


def left_model(page: Any, study: Asked, url: str, image: str, models: tuple[str, str]) -> str:
    """Whose map is on the left, by its pixels."""
    shown = page.get_attribute("#left .over", "src")
    answer = page.request.get(url.rstrip("/") + shown)
    found = np.asarray(Image.open(io.BytesIO(answer.body())).convert("RGBA"))[::ENLARGED, ::ENLARGED]
    colours = np.array([[40 * k, 255 - 40 * k, 7 * k] for k in range(5)])
    k = study.corpus.ids.index(image)
    (model,) = [name for name in models if (colours[study.corpus.maps[name][k]] == found[..., :3]).all()]
    return model


def without_times(root: Path) -> dict[str, Any]:
    """What `rank` wrote, but for when and by which line."""
    return {
        name: part
        for name, part in json.loads((root / "standings.json").read_text()).items()
        if name != "provenance"
    }


@pytest.mark.slow
def test_thirty_answers_through_a_killed_server_give_the_standings_of_the_same_answers_in_python(
    browser: Any, duels: Asked, tmp_path: Path
) -> None:
    root, plain = tmp_path / duels.root.name, tmp_path / "plain"
    for copy in (root, plain):
        shutil.copytree(duels.root, copy)
    maps = digests(Study(root), [*duels.corpus.models], duels.corpus.ids)
    with closing(Database(root)) as database:
        secret = secret_of(database)  # the servers below find it there
    items = {
        secret.id_of(
            choice_id(
                one.image, one.first, one.second, maps[one.first, one.image], maps[one.second, one.image]
            )
        ): one
        for one in choice_items(read_selection(root, "main")[0])
    }
    page, said = browser.new_page(), list[tuple[str, int, str, str]]()
    at_once(page)

    def answer_some(number: int, url: str) -> None:
        for _ in range(number):
            go_on(page)
            id_, repeat = item(page)
            one = items[id_]
            left = left_model(page, duels, url, one.image, (one.first, one.second)) if url else ""
            said.append((id_, repeat, left, say(page, WAYS[len(said) % len(WAYS)])))

    with program(root) as (process, url):
        enter(page, url)
        answer_some(12, url)
        process.send_signal(signal.SIGKILL)
        process.wait()
    answer_some(3, "")
    page.wait_for_selector("#unsent:has-text('not sent yet')")
    port = int(url.rstrip("/").rpartition(":")[2])
    with program(root, port) as (process, again):
        assert again == url
        answer_some(NUMBER - len(said), url)
        all_sent(page)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    (ann,) = Annotators(root).everybody()
    rows = Choices(root).rows()
    # none lost, none doubled, in their order
    assert [(one.image, {one.first, one.second}, one.repeat) for one in rows] == [
        (items[id_].image, {items[id_].first, items[id_].second}, repeat) for id_, repeat, _, _ in said
    ]
    sides = {
        (id_, repeat): side
        for (id_, repeat, _, _), side in zip(said, [one.left for one in rows], strict=True)
    }
    shown = digests(Study(plain), [*duels.corpus.models], duels.corpus.ids)
    choices = []
    for id_, repeat, left, word in said:
        one = items[id_]
        left_is_first = left == one.first if left else sides[id_, repeat] == "first"
        chosen = {
            "left": "first" if left_is_first else "second",
            "right": "second" if left_is_first else "first",
        }.get(word, word)
        choices.append(
            Choice(
                one.image,
                one.first,
                one.second,
                chosen,
                ann.pseudonym,
                shown[one.first, one.image],
                shown[one.second, one.image],
                repeat=repeat,
            )
        )
    assert len({one.chosen for one in choices}) == 6
    Choices(plain).add_all(choices, "test")
    for study in (root, plain):
        fs.rank(str(study), resamples=20)
    assert without_times(root) == without_times(plain)
    page.close()


@pytest.mark.slow
def test_the_next_item_is_there_while_a_write_takes_long_and_what_waits_survives_a_reload(
    page: Any, duels: Asked, serve: Callable[..., Serving], record_property: Callable[[str, object], None]
) -> None:
    held = serve(duels, campaign=rules(session=100))
    written, take = threading.Event(), held.campaign.take

    def slowly(*row: Any) -> str:
        written.wait(60)
        return take(*row)

    held.campaign.take = slowly
    watch(page)
    enter(page, held.url)
    for number in range(1, KEYS + 1):
        loaded(page, number + 1)
        page.keyboard.press("124"[number % 3])
        page.wait_for_function("(number) => took.length === number", arg=number)
    took = page.evaluate("took")
    times = sorted(one["milliseconds"] for one in took)
    record_property("milliseconds to the next item", times)
    print(f"next item: median {median(times):.0f} ms, at most {times[-1]:.0f} ms of {KEYS}")
    assert all(one["at_once"] for one in took)  # by the key's own event: nothing was waited for
    assert all(one["seen"] for one in took)  # with its pictures
    assert median(times) < 100  # some 15 where little runs beside
    assert not written.is_set()
    assert Choices(held.root).rows() == []  # the first is being written yet
    page.wait_for_selector(f"#unsent:has-text('{KEYS} answers not sent yet')")
    page.reload()
    page.wait_for_selector(f"#unsent:has-text('{KEYS} answers not sent yet')")
    written.set()
    all_sent(page)
    assert [one.chosen for one in Choices(held.root).rows()].count("both bad") == KEYS // 3
    assert len(Choices(held.root).rows()) == KEYS
