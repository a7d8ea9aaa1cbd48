"""A small corpus and a study that has collected it, for journeys that begin there."""

from __future__ import annotations

from pathlib import Path

import pytest

import made


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=6, models=3)


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    return str(made.collected(corpus, tmp_path / "study", shard_size=4))
