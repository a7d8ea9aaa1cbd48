"""`status` holds nothing: what another faultscape writes meanwhile is seen before or after, and is never called damage."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.study import parts


def test_status_reads_again_what_changed_under_it(
    corpus: made.Corpus, study: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    fs.label.import_(study, corpus.truth)
    fewer = tmp_path / "fewer"
    made.write(fewer / f"{corpus.ids[0]}.png", corpus.truths[1])
    look, done = parts.read_small, []

    def read(folder: Path, name: str, part: parts.Part, columns: list[str]) -> object:
        if folder.parent.name == "truth" and not done:
            done.append("imported")
            fs.label.import_(study, fewer)  # another label of one image: the part that this reader knows of is replaced
        return look(folder, name, part, columns)

    monkeypatch.setattr("faultscape.study.tables.label_maps.read_small", read)
    assert made.states(study)["label"] == "done"
    assert done == ["imported"]


def test_many_looks_beside_a_writer(corpus: made.Corpus, study: str) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, engine="local")
    ended, wrong = threading.Event(), list[BaseException]()

    def write() -> None:
        try:
            for k in range(6):
                fs.label.import_(study, corpus.truth, truth=f"labels-{k % 2}")
                fs.label.remove(study, corpus.ids[k], truth=f"labels-{k % 2}")
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            wrong.append(error)
        ended.set()

    writer = threading.Thread(target=write)
    writer.start()
    looks = 0
    while not ended.is_set() or not looks:
        states = {stage: state for stage, state, _ in fs.status(study).stages}
        assert states["select"] == "done"
        looks += 1
    writer.join()
    assert not wrong
