"""A small study in which everything is done, what its files hold, and a line that is tried first: for the
tests of what can be undone.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.reading.study import Study
from faultscape.study.tables import selections
from faultscape.verbs import graph
from golden import STUDY, Goldens, copied

FEW = {"resamples": 20, "engine": "local"}


def chosen(corpus: made.Corpus, folder: Path) -> str:
    """A study of shards of two images, whose main selection is made, and nothing labelled."""
    fs.collect(folder, corpus.photos, classes=corpus.classes, storage=fs.options.Storage(shard_size=2))
    fs.predict(folder, dict(list(corpus.models.items())[:2]), engine="local")
    fs.compare(folder, engine="local")
    fs.select(folder, engine="local")
    return str(folder)


def shared_corpus() -> made.Corpus:
    """What copies of chosen and finished studies were made of: nobody writes there."""
    return Goldens.made("chosen", _make_chosen)[1]


def copy_of(what: str, to: Path) -> str:
    """A study as `chosen` makes it, or as it is once it is `finished`."""
    return copied(what, {"chosen": _make_chosen, "finished": _make_finished}[what], to)[0]


# of a test whose study, from `copy_of`, is finished when it begins
WHEN_FINISHED = pytest.mark.parametrize("study", ["finished"], indirect=True)


def _make_chosen(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=6, models=3)
    chosen(corpus, folder / STUDY)
    return corpus


def _make_finished(folder: Path) -> None:
    finished(copy_of("chosen", folder / STUDY), shared_corpus())


def digest(study: str) -> str:
    """Every file of a study, its name and its bytes."""
    held = hashlib.sha256()
    for path in sorted(path for path in Path(study).rglob("*") if path.is_file()):
        held.update(
            str(path.relative_to(study)).encode() + b"\0" + hashlib.sha256(path.read_bytes()).digest()
        )
    return held.hexdigest()


def states(study: str) -> dict[tuple[str, str], str]:
    return {(node.artefact, node.name): node.state for node in graph.nodes(Study(Path(study)))}


def bytes_of(study: str, room: str) -> dict[str, bytes]:
    return {
        str(path.relative_to(study)): path.read_bytes()
        for path in sorted((Path(study) / room).rglob("*.parquet"))
    }


def finished(study: str, corpus: made.Corpus) -> None:
    """Label, rank, measure and report, so that all is done."""
    fs.label.import_(study, str(corpus.truth))
    fs.rank(study, **FEW)
    fs.measure(study, resamples=0, engine="local")
    fs.report(study)
    assert fs.status(study).next == ""


def follow(study: str) -> list[str]:
    lines = []
    while (line := fs.status(study).next) and len(lines) < 16:
        assert main(shlex.split(line)[1:]) == 0, line
        lines.append(line.split()[1])
    assert not line
    return lines


def tried_first(study: str, do: Callable[..., Any], **options: Any) -> Any:
    """Do what a line says after its --dry-run, which changes nothing and says what becomes stale as the line
    itself does.
    """
    before = digest(study)
    said = do(study, **options, dry_run=True)
    assert digest(study) == before
    assert "--dry-run: nothing was changed" in repr(said)
    result = do(study, **options)
    if hasattr(result, "stale"):
        assert (result.done, result.stale) == (said.done, said.stale)
    return said


def kept(study: str) -> list[str]:
    return [
        name for name in selections.names(Path(study)) if re.fullmatch(r"main-\d{4}-\d\d-\d\d(-\d)?", name)
    ]
