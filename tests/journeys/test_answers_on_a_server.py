"""A study whose answers lie on a PostgreSQL server: choices are ranked there as they are in its own file, and
`status` says the same.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
import made_served
import postgres_server
from faultscape.reading.choices import digests
from faultscape.reading.study import Study
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import bind
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.settings import read_settings, write_settings
from faultscape.study.tables.selections import read_selection
from faultscape.verbs.view.library import Library
from refusals import told


@pytest.fixture
def two(tmp_path: Path, postgres: postgres_server.Server) -> tuple[Path, Path]:
    """The same study twice: with answers in its file, and on a server."""
    made_served.study(tmp_path)
    own, served = tmp_path / "study", tmp_path / "served"
    shutil.copytree(own, served)
    write_settings(
        served, read_settings(served).model_copy(update={"answers": bind(served, postgres.address())})
    )
    return own, served


def said(study: Path) -> list[Choice]:
    """What two people choose by chance."""
    rng, slots = np.random.default_rng(0), read_selection(study, "main")[0]
    asked = sorted({(row.image, *sorted((row.defender, row.attacker))) for row in slots.chosen})
    shown = digests(Study(study), slots.models, [image for image, *_ in asked])
    words = ("first", "second", "both good", "skip")
    return [
        Choice(image, a, b, words[rng.integers(4)], who, shown[a, image], shown[b, image], key=f"{who}-{k}")
        for k, (image, a, b) in enumerate(asked)
        for who in ("ann", "ben")
    ]


@pytest.mark.slow
def test_choices_on_a_server_are_ranked_as_those_of_a_file(two: tuple[Path, Path]) -> None:
    for study in two:
        for one in said(study):
            assert Choices(study).add(one, "test")
            assert not Choices(study).add(one, "test")
        fs.rank(str(study), resamples=100)
        assert made.states(str(study))["rank"] == "done"
    own, served = (json.loads((study / "standings.json").read_text()) for study in two)
    for key in ("rankings", "matrices", "labels"):
        assert own[key] == served[key]
    assert not (two[1] / "answers.sqlite").exists()
    Choices(two[1]).take_back(Choices(two[1]).choices()[:1], "test")
    assert made.states(str(two[1]))["rank"] == "stale"


def test_all_that_people_said_goes_from_a_file_to_a_server_as_lines(
    two: tuple[Path, Path], tmp_path: Path
) -> None:
    own, served = two
    Choices(own).add_all(said(own), "test")
    told("label", "answers", own, tmp_path / "said.jsonl")
    for _ in range(2):  # what stands already is left out
        told("label", "import", served, tmp_path / "said.jsonl")
        assert [vars(one) for one in Choices(served).rows()] == [vars(one) for one in Choices(own).rows()]


def test_view_notices_what_people_say_on_a_server(
    two: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.verbs.view.library._SECONDS", 0.0)
    _, served = two
    library = Library(Study(served))
    assert not library.changed()
    Tags(served).add_all([Tag("x", "missed thing", "ann")], "test")
    assert library.changed()
    library.read_again()
    assert not library.changed()
