"""People say what single pixels show: in a browser, by keys, clicks and touch, blind to which model predicts what;
and what was answered gives the standings that the same answers in a table give.
"""

from __future__ import annotations

import io
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made
from answering import ENLARGED, Asked, Serving, all_sent, at_once, current, enter, rules, served, wait_for_item
from faultscape.nouns import Point
from faultscape.reading.study import Study
from faultscape.reporting.point_crops import crop_around
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.database import Database
from faultscape.study.answers.points import PointAnswer, PointAnswers
from faultscape.study.answers.secret import secret_of
from faultscape.verbs.serve.asked_items import point_id

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
Pixel = tuple[str, int, int]


def drawn(root: Path) -> tuple[Point, ...]:
    return Study(root).selection("points").slots.points


def pixels(root: Path) -> list[Pixel]:
    """Each pixel that was drawn, once, in the order of the draws."""
    return list(dict.fromkeys((one.image, one.row, one.column) for one in drawn(root)))


def shows(study: Asked, pixel: Pixel) -> str:
    """What the truth shows at a pixel."""
    image, row, column = pixel
    k = study.corpus.ids.index(image)
    return made.NAMES[study.corpus.truths[k][row // ENLARGED, column // ENLARGED]]


def predicted(study: Asked, pixel: Pixel) -> set[str]:
    image, row, column = pixel
    k = study.corpus.ids.index(image)
    maps = study.corpus.maps.values()
    return {made.NAMES[one[k][row // ENLARGED, column // ENLARGED]] for one in maps}


def asked_pixels(root: Path) -> dict[str, Pixel]:
    """{id on pages: pixel}."""
    with closing(Database(root)) as database:
        secret = secret_of(database)
    return {secret.id_of(point_id(*pixel)): pixel for pixel in pixels(root)}


def said(root: Path) -> list[tuple[Pixel, str]]:
    return [((one.image, one.row, one.column), one.answer) for one in PointAnswers(root).rows()]


def without_times(root: Path) -> dict[str, Any]:
    """What `rank` wrote, but for when and by which line."""
    held = json.loads((root / "standings-points.json").read_text())
    return {name: part for name, part in held.items() if name != "provenance"}


def by_letter(page: Any, name: str) -> None:
    page.keyboard.press(page.get_attribute(f"[data-say='{name}']", "data-letter"))


def by_number(page: Any, name: str) -> None:
    """By the number of a class that models predict; by its letter otherwise."""
    key = page.inner_text(f"[data-say='{name}'] kbd")
    page.keyboard.press(key)


def by_search(page: Any, name: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(name.upper())
    page.keyboard.press("Enter")


WAYS = (by_letter, by_number, by_search, lambda page, name: page.click(f"[data-say='{name}']"))


@contextmanager
def program(root: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`faultscape label serve` in a process of its own, and the address that it prints."""
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", str(port)]
    with subprocess.Popen([*line, "--repeats", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


@pytest.mark.slow
def test_answers_through_a_killed_server_give_the_standings_of_the_same_answers_in_python(
    browser: Any, pointed: Asked, tmp_path: Path
) -> None:
    root, plain = tmp_path / pointed.root.name, tmp_path / "plain"
    for copy in (root, plain):
        shutil.copytree(pointed.root, copy)
    with closing(Database(root)) as database:
        secret_of(database)  # the servers below find it there
    items = asked_pixels(root)
    page, given = browser.new_page(), list[tuple[Pixel, str]]()
    at_once(page)

    def answer_some(number: int) -> None:
        for _ in range(number):
            page.wait_for_selector("#pause:not([hidden]), #work:not([hidden])")
            if page.is_visible("#pause"):
                page.keyboard.press("Enter")
            pixel = items[current(page)]
            before = page.get_attribute("#work", "data-item")
            name = shows(pointed, pixel)
            WAYS[len(given) % len(WAYS)](page, name)
            given.append((pixel, name))
            page.wait_for_selector(
                f"#pause:not([hidden]), #finished:not([hidden]), #work:not([data-item='{before}'])"
            )

    with program(root) as (process, url):
        enter(page, url)
        answer_some(12)
        process.send_signal(signal.SIGKILL)
        process.wait()
    answer_some(3)
    page.wait_for_selector("#unsent:has-text('not sent yet')")
    with program(root, int(url.rstrip("/").rpartition(":")[2])) as (process, again):
        assert again == url
        answer_some(len(items) - len(given))
        page.wait_for_selector("#finished:not([hidden])")
        all_sent(page)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    page.close()
    assert said(root) == given  # none lost, none doubled, in their order
    assert {pixel for pixel, _ in given} == set(pixels(root))
    (ann,) = Annotators(root).everybody()
    answers = [PointAnswer(*pixel, name, ann.pseudonym) for pixel, name in given]
    PointAnswers(plain).add_all(answers, "test")
    for study in (root, plain):
        fs.rank(str(study), resamples=20)
    assert without_times(root) == without_times(plain)
