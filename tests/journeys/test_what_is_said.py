"""What changes under a person's hands is said in a line: class lists, labels that are replaced, Cityscapes'
own numbers.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.maps import runs
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps


@pytest.fixture
def corpus(tmp_path: Path) -> made.Corpus:
    return made.corpus(tmp_path / "corpus", images=4, models=2)


def stored(study: Path, truth: str = "labels") -> dict[str, np.ndarray]:
    return {
        id_: runs.decode(code)
        for id_, code in label_maps.read_maps(label_maps.truth(study, truth), 0).items()
    }


def test_collect_says_that_another_class_list_makes_pairs_stale_and_keeps_silent_over_the_same(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    for classes in (corpus.classes, corpus.classes):
        fs.collect(str(study), str(corpus.photos), classes=str(classes))
        assert "class list changes" not in capsys.readouterr().out
    fs.predict(str(study), corpus.models, engine="local")
    assert fs.compare(str(study), engine="local").parts_made == 2
    raw = json.loads(corpus.classes.read_text())
    raw["classes"][4]["name"] = "bush"
    (tmp_path / "other.json").write_text(json.dumps(raw))
    capsys.readouterr()
    fs.collect(str(study), str(corpus.photos), classes=str(tmp_path / "other.json"))
    assert "names, colours or groups of classes change: no counts become stale" in capsys.readouterr().out
    assert fs.compare(str(study), engine="local").parts_made == 0
    raw["classes"][4] |= {"name": "shrub", "color": [9, 99, 9]}  # another class, for all that anybody knows
    (tmp_path / "other.json").write_text(json.dumps(raw))
    fs.collect(str(study), str(corpus.photos), classes=str(tmp_path / "other.json"))
    assert (
        "the class list changes: pairs and everything computed from them are stale" in capsys.readouterr().out
    )
    assert read_settings(study).class_list.names[4] == "shrub"
    assert fs.compare(str(study), engine="local").parts_made == 2


def test_label_import_says_how_many_labels_it_replaces_and_replaces_those_alone(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    capsys.readouterr()
    fs.label.import_(str(study), str(corpus.truth))
    assert "replaced" not in capsys.readouterr().out
    for id_ in corpus.ids[1:3]:
        made.write(tmp_path / "again" / f"{id_}.png", np.full((36, 48), 2, np.uint8))
    done = fs.label.import_(str(study), str(tmp_path / "again"))
    assert (done.new, done.replaced) == (0, 2)
    assert "2 images already had another label in truth 'labels'; it is replaced" in capsys.readouterr().out
    held = stored(study)
    assert all((held[id_] == 2).all() for id_ in corpus.ids[1:3])
    assert all((held[corpus.ids[k]] == corpus.truths[k]).all() for k in (0, 3))
    fs.label.import_(str(study), str(tmp_path / "again"), truth="second")
    assert "replaced" not in capsys.readouterr().out


def test_the_same_labels_imported_again_are_unchanged_and_nothing_is_written(
    corpus: made.Corpus, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    study = tmp_path / "study"
    fs.collect(str(study), str(corpus.photos), classes=str(corpus.classes))
    first = fs.label.import_(str(study), str(corpus.truth))
    files = {p: p.stat().st_mtime_ns for p in (study / "truth").rglob("*") if p.is_file()}
    capsys.readouterr()
    again = fs.label.import_(str(study), str(corpus.truth))
    assert (again.new, again.replaced, again.unchanged) == (0, 0, first.new)
    assert repr(again) == f"truth labels: {first.new} unchanged"  # and no line, which `run` would refuse
    assert "replaced" not in capsys.readouterr().out
    assert {p: p.stat().st_mtime_ns for p in (study / "truth").rglob("*") if p.is_file()} == files


OFFICIAL = np.array([[7, 8, 11, 12], [26, 33, 0, 3], [9, 30, 31, 20]], np.uint8).repeat(4, 0).repeat(4, 1)
TRAIN = np.array([[0, 1, 2, 3], [13, 18, 255, 255], [255, 255, 16, 7]], np.uint8).repeat(4, 0).repeat(4, 1)


def test_cityscapes_label_ids_become_the_classes_when_labels_are_imported(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    for k in (1, 2):
        photo = rng.integers(0, 256, (12, 16, 3), np.uint8)
        made.write(tmp_path / "photos" / "ulm" / f"ulm_{k}_leftImg8bit.png", photo)
        made.write(tmp_path / "official" / "ulm" / f"ulm_{k}_gtFine_labelIds.png", OFFICIAL)
        made.write(tmp_path / "train" / "ulm" / f"ulm_{k}_gtFine_labelTrainIds.png", TRAIN)
    study = tmp_path / "study"
    fs.collect(str(study), str(tmp_path / "photos"), classes="cityscapes")
    for truth in ("official", "train"):
        assert fs.label.import_(str(study), str(tmp_path / truth), truth=truth).new == 2
        assert {id_: (held == TRAIN).all() for id_, held in stored(study, truth).items()} == {
            "ulm/ulm_1": True,
            "ulm/ulm_2": True,
        }


def test_one_of_a_kind_is_said_in_the_singular(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus, study = made.corpus(tmp_path / "corpus", images=1, models=2), str(tmp_path / "study")
    said = [repr(fs.collect(study, str(corpus.photos), classes=str(corpus.classes)))]
    said.append(repr(fs.predict(study, dict([next(iter(corpus.models.items()))]), engine="local")))
    said.append(repr(fs.status(study)))
    said.append(repr(fs.predict(study, corpus.models, engine="local")))
    said.append(repr(fs.compare(study, engine="local")))
    said.append(repr(fs.select(study, maps=fs.options.MapRules(constraints="none"))))
    fs.label.import_(study, str(corpus.truth))
    said += [repr(fs.rank(study, resamples=20, engine="local")), repr(fs.report(study)), repr(fs.plan(study))]
    said.append(capsys.readouterr().out)
    ones = (
        r"(?<![0-9.,-])(?<!of )1 (?:labelled |chosen |distinct"
        r" )?(?:images|maps|pairs|parts|shards|models|slots|spares|labels|cells|groups)\b"
    )
    assert [line for line in "\n".join(said).splitlines() if re.search(ones, line)] == []
