"""A study in which everything is done, for the tools that read what is exported of it: `make test-consumers`."""

from __future__ import annotations

from pathlib import Path

import pytest

import made
import undoing

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What other tools are warned of is no error here."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("default"))


@pytest.fixture(scope="session")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    return undoing.copy_of("finished", tmp_path_factory.mktemp("consumers") / "study")


@pytest.fixture(scope="session")
def corpus(study: str) -> made.Corpus:
    """What the study was made of."""
    assert Path(study).exists()
    return undoing.shared_corpus()
