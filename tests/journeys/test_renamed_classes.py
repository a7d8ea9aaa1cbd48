"""Classes of a study of classifiers that are called something else now: nothing is read, chosen or labelled
again, and old words of tables keep their meaning.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
from faultscape.errors import ClassesError
from faultscape.study.settings import read_settings
from refusals import refused

OLD, NEW = ["cat", "dog", "hen", "cow"], ["cat", "hound", "hen", "cow"]
WNIDS = ["n02123045", "n02088364", "n01514859", "n02403003"]


def class_file(
    path: Path, names: list[str], wnids: list[str] | None = None, ids: list[int] | None = None
) -> str:
    entries = [{"name": name, "id": id_} for name, id_ in zip(names, ids or range(len(names)), strict=True)]
    for entry, wnid in zip(entries, wnids or [], strict=False):
        entry["wnid"] = wnid
    path.write_text(json.dumps({"classes": entries}))
    return str(path)


def answers(path: Path, share: float, words: list[str], seed: int) -> str:
    rng = np.random.default_rng(seed)
    lines = ["image,label,confidence"]
    for k in range(60):
        said = int(rng.integers(4)) if rng.random() < share else k % 4
        lines.append(f"p{k},{words[said]},{rng.uniform(0.8, 1):.3f}")
    path.write_text("\n".join(lines) + "\n")
    return str(path)


def competition(folder: Path, names: list[str], wnids: list[str] | None = None) -> str:
    """Make a study of three classifiers, of which one has a mapping of its words; labelled, ranked, with a
    report.
    """
    folder.mkdir()
    study, tables = str(folder / "study"), {}
    for seed, (name, share) in enumerate((("a", 0.2), ("b", 0.4), ("c", 0.5))):
        tables[name] = answers(
            folder / f"{name}.csv", share, ["Katze", "Hund", "Huhn", "Kuh"] if name == "c" else names, seed
        )
    mapping, only = folder / "labels.json", folder / "only.txt"
    only.write_text("\n".join(names[:3]) + "\n")
    mapping.write_text(json.dumps(dict(zip(["Katze", "Hund", "Huhn", "Kuh"], names, strict=True))))
    fs.collect(
        study,
        tables["a"],
        task="classification",
        classes=class_file(folder / "classes.json", names, wnids),
        only_classes=only,
    )
    fs.predict(study, {name: tables[name] for name in "ab"})
    fs.predict(study, {"c": tables["c"]}, labels=str(mapping))
    fs.select(study, top=6, classifiers=fs.options.ClassifierRules(confidence=0.1, without=[names[2]]))
    fs.label.import_(study, answers(folder / "truth.csv", 0, names, 9))
    fs.rank(study, resamples=50)
    fs.report(study)
    return study


def parts(study: str) -> dict[str, tuple[bytes, int]]:
    files = (file for kind in ("predictions", "truth") for file in (Path(study) / kind).rglob("*.parquet"))
    return {str(file.relative_to(study)): (file.read_bytes(), file.stat().st_mtime_ns) for file in files}


def states(study: str) -> dict[str, str]:
    return {row[0]: row[1] for row in fs.status(study).stages}


def standings(study: str) -> tuple[object, object]:
    document = json.loads((Path(study) / "standings.json").read_text())
    return document["rankings"], document["matrices"]


@pytest.mark.slow
@pytest.mark.parametrize("wnids", [None, WNIDS])
def test_a_class_that_is_called_something_else_costs_nothing(
    tmp_path: Path, wnids: list[str] | None, capsys: pytest.CaptureFixture[str]
) -> None:
    study, held = competition(tmp_path / "old", OLD, wnids), competition(tmp_path / "new", NEW, wnids)
    before = parts(study)
    capsys.readouterr()
    fs.collect(study, classes=class_file(tmp_path / "renamed.json", NEW, wnids))
    printed = capsys.readouterr().out
    assert "class 'dog' is now called 'hound'" in printed
    assert "no counts become stale" in printed
    # a WordNet id says that it is the same
    assert ("give a different class its own id" in printed) == (wnids is None)
    assert [states(study)[stage] for stage in ("predict", "select", "label")] == ["done"] * 3
    assert (Path(study) / "selection.csv").read_bytes() == (Path(held) / "selection.csv").read_bytes()
    assert read_settings(Path(study)).only == NEW[:3]
    folder = tmp_path / "old"
    fs.predict(study, {name: str(folder / f"{name}.csv") for name in "abc"})
    assert parts(study) == before  # nothing was written again
    fs.rank(study, resamples=50)
    fs.report(study)
    assert set(states(study).values()) == {"done"}
    assert standings(study) == standings(held)
    page = (Path(study) / "report.html").read_text()
    assert "hound" in page
    assert wnids or "dog" not in page  # WordNet has a dog between a canine and a hound
    # it grows: distances and classes are what they were
    fs.select(study, top=8, classifiers=fs.options.ClassifierRules(confidence=0.1, without=["hen"]))
    fs.predict(study, {"d": answers(folder / "d.csv", 0.1, OLD, 5)})  # a table that calls it dog still
    fs.label.import_(study, answers(folder / "again.csv", 0, OLD, 9))
    assert "no class" not in capsys.readouterr().out
    fs.collect(study, classes=class_file(tmp_path / "back.json", OLD, wnids))
    assert read_settings(Path(study)).classes.first_names == []
    predicted = [file for file in before if file.startswith("predictions")]
    assert {file: parts(study)[file] for file in predicted} == {file: before[file] for file in predicted}


def test_what_is_another_class_is_not_taken_for_a_new_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another WordNet id, another id, or names that changed places."""
    study = str(tmp_path / "study")
    table = answers(tmp_path / "a.csv", 0.2, OLD, 0)
    fs.collect(study, table, task="classification", classes=class_file(tmp_path / "old.json", OLD, WNIDS))
    fs.predict(study, {"a": table})
    others = [*WNIDS[:1], "n02391049", *WNIDS[2:]]
    for names, wnids, ids in (
        (["cat", "horse", "hen", "cow"], others, None),
        (["cat", "horse", "hen", "cow"], None, [0, 7, 2, 3]),
        (["hen", "hound", "cat", "cow"], None, None),
    ):
        capsys.readouterr()
        fs.collect(study, classes=class_file(tmp_path / "other.json", names, wnids, ids))
        printed = capsys.readouterr().out
        assert "is called" not in printed
        assert states(study)["predict"] == "stale"
        fs.collect(study, classes=class_file(tmp_path / "old.json", OLD, WNIDS))


def test_a_list_with_few_names_in_common_is_a_renamed_one_by_wordnet_ids_alone(tmp_path: Path) -> None:
    study, words = str(tmp_path / "study"), ["Katze", "Hund", "Huhn", "Kuh"]
    table = answers(tmp_path / "a.csv", 0.2, OLD, 0)
    fs.collect(study, table, task="classification", classes=class_file(tmp_path / "old.json", OLD, WNIDS))
    fs.predict(study, {"a": table})
    for names in (words, ["cat", *words[1:]]):
        with refused(ClassesError, "use it anyway: .*--replace-classes"):
            fs.collect(study, classes=class_file(tmp_path / "foreign.json", names))
    fs.collect(study, classes=class_file(tmp_path / "translated.json", words, WNIDS))
    assert states(study)["predict"] == "done"


def test_a_list_without_wordnet_ids_says_that_they_are_gone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = competition(tmp_path / "old", OLD, WNIDS)
    fs.collect(study, classes=class_file(tmp_path / "again.json", OLD, WNIDS))
    assert "WordNet ids" not in capsys.readouterr().out
    fs.collect(study, classes=class_file(tmp_path / "without.json", OLD))
    assert "note: the new list lacks the WordNet ids of the old one" in capsys.readouterr().out
