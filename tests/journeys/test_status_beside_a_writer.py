"""`status` holds nothing: what another faultscape writes meanwhile is seen before or after, and is never
called damage.
"""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.study import parts
from faultscape.study.tables import selections


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
            # another label of one image: the part that this reader knows of is replaced
            fs.label.import_(study, fewer)
        return look(folder, name, part, columns)

    monkeypatch.setattr("faultscape.study.tables.label_maps.read_small", read)
    assert made.states(study)["label"] == "done"
    assert done == ["imported"]


@pytest.mark.parametrize(
    "moment", ["before its JSON is read", "between its JSON and its rows", "while there is none"]
)
def test_status_sees_a_selection_that_is_replaced_meanwhile_before_or_after_and_calls_it_neither_gone_nor_damaged(
    corpus: made.Corpus, study: str, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    fs.predict(study, corpus.models, engine="local")
    fs.compare(study, engine="local")
    fs.select(study, selector="random", budget=5, engine="local")
    about, read, look, done = (
        Path(study) / "selection-random.json",
        selections.read_selection,
        selections.read_object,
        [],
    )

    def replace() -> None:
        done.append("replaced")
        fs.select(study, as_="random", selector="mad", replace=True, engine="local")

    def read_late(root: Path, name: str = "main", **how: bool) -> object:
        if not done and moment == "before its JSON is read":
            replace()
        elif not done and moment == "while there is none":
            done.append("replaced")
            held = about.read_bytes()
            about.unlink()
            try:
                return read(root, name, **how)
            finally:
                about.write_bytes(held)
        return read(root, name, **how)

    def look_early(data: bytes) -> object:
        if not done and moment == "between its JSON and its rows" and b"drawn_from" in data:
            replace()
        return look(data)

    monkeypatch.setattr("faultscape.study.tables.selections.read_selection", read_late)
    monkeypatch.setattr("faultscape.study.tables.selections.read_object", look_early)
    (row,) = (row for row in fs.status(study).stages if row[0] == "select")
    assert done == ["replaced"]
    monkeypatch.undo()
    assert row == next(row for row in fs.status(study).stages if row[0] == "select")


@pytest.mark.slow
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
