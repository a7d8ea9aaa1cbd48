"""A server on loopback, and no waiting: the clock of every download is made."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import faultscape as fs
from faultscape.corpus.web import http_client
from serving import Clock, Server, serving


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as held:
        yield held


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    defaults = http_client.Web.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "clock", made)
    monkeypatch.setitem(defaults, "sleep", made.sleep)
    return made


@pytest.fixture
def study(tmp_path: Path, clock: Clock) -> Path:  # noqa: ARG001 - whoever has a study has the made clock
    (tmp_path / "classes.json").write_text(
        '{"classes": [{"name": "cat"}, {"name": "dog", "synonyms": ["hound"]}]}'
    )
    fs.collect(tmp_path / "study", web=fs.options.WebImages(queries=True), classes=tmp_path / "classes.json")
    return tmp_path / "study"
