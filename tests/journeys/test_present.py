"""Which classes images show: `label import --present` and `measure --present`, told from true maps."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import LabellingError, OptionError, StudyError
from faultscape.reading.presence.evidence import answered_presence
from faultscape.reading.study import Study
from faultscape.study.tables.logs import read_failures
from refusals import refused, refused_text, told

PRESENT = fs.options.StudyPart(present=True)
Unlabelled = tuple[str, made.Corpus]


def shown(label_map: np.ndarray) -> set[str]:
    return {name for place, name in enumerate(made.NAMES) if (label_map == place).any()}


def tell(corpus: made.Corpus, path: Path, images: Sequence[int], wrong: str = "") -> Path:
    """Write a table of the classes that some images show; all show a ``wrong`` one too."""
    lines = [
        f"{corpus.ids[k]}.png,{'|'.join(sorted(shown(corpus.truths[k]) | ({wrong} - {''}))) or 'none'}"
        for k in images
    ]
    path.write_text("\n".join(["image,present", *lines]) + "\n")
    return path


def f1_by_hand(corpus: made.Corpus, model: str, name: str) -> float:
    pairs = [
        (name in shown(t), name in shown(m)) for t, m in zip(corpus.truths, corpus.maps[model], strict=True)
    ]
    return 2 * sum(t and m for t, m in pairs) / sum(t + m for t, m in pairs)


def test_presence_is_what_people_say_and_maps_contain(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    out = told("label", "import", study, tell(corpus, tmp_path / "present.csv", range(10)), "--present")
    assert out[0].startswith("truth labels: ")
    assert out[-1] == f"next: faultscape measure {study} --present"
    assert ("measure", "missing", "from classes present of truth labels") in fs.status(study).stages
    out = told("measure", study, "--present")
    assert "note: 10 images: 0 by masks, 10 by what people say" in out
    found = fs.measure(study, part=PRESENT)
    assert found.path.endswith("measures-present/labels")
    for model, of in found.models.items():
        for name, value in of["presence_f1"]["per_class"].items():
            assert value == pytest.approx(f1_by_hand(corpus, model, name))
    assert ("measure", "done", "from classes present of truth labels") in fs.status(study).stages
    gone = fs.label.remove(study, all_=True, class_=["car"], dry_run=True)
    assert gone.done == "10 answers removed from truth 'labels'"
    assert gone.stale == ("present measures of labels: answers or discards changed",)
    page = (Path(found.path) / "report.html").read_text()
    assert "10 images: 0 by masks, 10 by what people say" in page
    assert re.search(r"<h1>.* has the highest F1 of presence", page)
    assert "presence_f1" not in page.partition('<section id="definitions">')[0]
    assert "car" in "\n".join(told("measure", study, "--present", "-v"))
    pytest.importorskip("matplotlib", reason="no matplotlib: the extra plot is not installed")
    title = found.plot(what="presence_f1").get_title(loc="left")
    assert title == "F1 by model"  # it shows values, not errors


def test_an_image_with_a_mask_counts_by_the_mask_alone(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    fs.label.import_(study, str(tell(corpus, tmp_path / "present.csv", range(10))), present=True)
    before = fs.measure(study, part=PRESENT)
    masks = {corpus.ids[k]: corpus.truths[k] for k in range(4)}
    fs.label.import_(study, masks)
    assert made.states(study)["measure"] == "stale"
    beside = fs.measure(study, part=PRESENT)
    assert "10 images: 4 by masks, 6 by what people say" in beside.notes[0]
    assert beside.models == before.models  # they say the same
    # people who say something else about these images change nothing
    fs.label.import_(study, str(tell(corpus, tmp_path / "other.csv", range(4), wrong="person")), present=True)
    assert fs.measure(study, part=PRESENT).models == beside.models


def test_void_of_a_mask_does_not_count(unlabelled: Unlabelled) -> None:
    study, corpus = unlabelled
    hidden = np.full_like(corpus.truths[0], 200)
    fs.label.import_(study, {corpus.ids[0]: hidden, corpus.ids[1]: corpus.truths[1]}, labels="200=void")
    alone = fs.measure(study, part=PRESENT)
    assert alone.document["present"]["masks"] == 2
    right = shown(corpus.truths[1])
    for model, of in alone.models.items():
        seen = {
            name: value for name, value in of["presence_precision"]["per_class"].items() if value is not None
        }
        assert seen == {name: float(name in right) for name in shown(corpus.maps[model][1])}


def test_lines_about_different_classes_are_joined(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    path = tmp_path / "present.csv"
    image = corpus.ids[0]
    path.write_text(f"image,present,asked\n{image},car,car\n{image}.png,none,person\n")
    assert "2 new answers; asked: car, person" in repr(fs.label.import_(study, str(path), present=True))
    assert answered_presence(Study(study), "labels")[image] == {"car": True, "person": False}


def test_several_people_are_counted_by_the_majority(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    said = {"ann": "car", "ben": "car|person", "eve": "none"}
    lines = [f"{corpus.ids[0]},{of},car|person,{who}" for who, of in said.items()]
    path = tmp_path / "present.csv"
    path.write_text("\n".join(["image,present,asked,annotator", *lines]))
    found = fs.label.import_(study, str(path), present=True)
    assert "asked: car, person" in repr(found)
    assert answered_presence(Study(study), "labels") == {corpus.ids[0]: {"car": True, "person": False}}
    fs.label.remove(study, all_=True, class_=["person"], by=["eve", "ann"])
    assert answered_presence(Study(study), "labels") == {corpus.ids[0]: {"car": True, "person": True}}
    told("label", "remove", study, corpus.ids[0])
    assert answered_presence(Study(study), "labels") == {}
    assert "0 new" not in repr(fs.label.import_(study, str(path), present=True))


def test_answers_travel_as_lines_and_follow_renamed_classes(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    path = tell(corpus, tmp_path / "present.csv", range(3))
    fs.label.import_(study, str(path), present=True)
    before = answered_presence(Study(study), "labels")
    assert "0 new answers" in repr(fs.label.import_(study, str(path), present=True))
    fs.label.answers(study, str(tmp_path / "all.jsonl"))
    fs.label.remove(study, all_=True)
    fs.label.import_(study, str(tmp_path / "all.jsonl"))  # the same lines again: they stay taken back
    with refused(StudyError, "nobody has said yet which classes images show"):
        fs.measure(study, part=PRESENT)
    fs.label.import_(study, str(path), present=True)
    classes = json.loads(corpus.classes.read_text())
    for entry in classes["classes"]:
        entry["name"] = {"car": "vehicle"}.get(entry["name"], entry["name"])
    classes["parents"] = {}
    (tmp_path / "classes.json").write_text(json.dumps(classes))
    told("collect", study, "--classes", tmp_path / "classes.json")
    renamed = {
        image: {{"car": "vehicle"}.get(name, name): yes for name, yes in of.items()}
        for image, of in before.items()
    }
    assert answered_presence(Study(study), "labels") == renamed


def test_discarded_images_do_not_count(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    fs.label.import_(study, str(tell(corpus, tmp_path / "present.csv", range(8))), present=True)
    (tmp_path / "discard.csv").write_text(f"image,reason\n{corpus.ids[0]},dark\n")
    fs.label.import_(study, str(tmp_path / "discard.csv"))
    assert "7 images" in fs.measure(study, part=PRESENT).notes[0]


def test_what_says_nothing_of_classes_is_refused_in_one_line(unlabelled: Unlabelled, tmp_path: Path) -> None:
    study, corpus = unlabelled
    image = corpus.ids[0]
    path = tmp_path / "present.csv"

    def said(text: str) -> str:
        path.write_text(text)
        return refused_text("label", "import", study, path, "--present")

    assert "nobody has said yet which classes images show; import it with" in refused_text(
        "measure", study, "--present"
    )
    assert "no name in it is a class of the study: carr; known are" in said(f"image,present\n{image},carr\n")
    assert "no image of the study is answered in it" in said(f"image,present\n{image},\n")
    assert "names no class that was asked about" in said(f"image,present,asked\n{image},car,\n")
    (failure,) = read_failures(Path(study))
    assert failure.image == image
    assert "line 3: contradicts present.csv, line 2 about car in this image; name all classes of" in said(
        f"image,present\n{image},car\n{image}.png,person\n"
    )
    assert "names classes and none; leave out either" in said(f"image,present\n{image},car|none\n")
    assert "expected the columns image, present" in said("image,classes\na,car\n")
    path.write_text(f"image,present\n{image},car\n")
    with refused(LabellingError, "says which classes are in images, not where; add --present"):
        fs.label.import_(study, str(path))
    with refused(LabellingError, "no such file or folder; --present reads a file"):
        fs.label.import_(study, str(tmp_path / "no.csv"), present=True)
    with refused(LabellingError, "expected a CSV file .image, present. or Label Studio's JSON"):
        fs.label.import_(study, str(corpus.truth), present=True)
    with refused(OptionError, "--boxes and --present read different files"):
        fs.label.import_(study, str(path), present=True, boxes=True)
    with refused(OptionError, "--labels applies to masks; with --present classes have names"):
        fs.label.import_(study, str(path), present=True, labels="255=void")
    with refused(OptionError, "--metric does not apply to the classes present in images"):
        fs.measure(study, part=PRESENT, metric=["cldice"])
    with refused(OptionError, "--present measures a study"):
        fs.measure(str(tmp_path), part=PRESENT)
    fs.label.import_(study, str(path), present=True, truth="fast")
    with refused(
        StudyError, "truth 'slow' has no answers about classes, and no masks; choose another.*: fast"
    ):
        fs.measure(study, part=PRESENT, truth="slow")
    assert fs.measure(study, part=PRESENT).path.endswith("measures-present/fast")
