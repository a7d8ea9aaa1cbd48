"""How far apart classes are is part of what a selection is: named once, kept with its file and its numbers,
for duels and for draws.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.errors import OptionError, SelectionError
from faultscape.reading.study import Study
from faultscape.selection import proposals
from faultscape.verbs.plan import facts
from refusals import refused, typed

FAR = np.abs(np.subtract.outer(np.arange(5), np.arange(5))).astype(float)


def written(path: Path, distances: np.ndarray = FAR) -> Path:
    rows = [",".join(["", *made_answers.NAMES])]
    rows += [
        ",".join([name, *map(str, row)])
        for name, row in zip(made_answers.NAMES, distances.tolist(), strict=True)
    ]
    path.write_text("\n".join(rows) + "\n")
    return path


def weights(answers: made_answers.Answers, distances: np.ndarray) -> np.ndarray:
    labels = np.stack(list(answers.labels.values()))
    return proposals.mad(np.stack([distances[labels[a], labels[b]] for a, b in ((0, 1), (0, 2), (1, 2))]))


def test_mad_draws_by_right_and_wrong_unless_distances_are_given(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    plain = fs.select(answers.study, sampling=fs.options.Sampling(temperature=1.0), budget=10)
    assert plain.definition["distance"] == "01"
    file = written(tmp_path / "far.csv")
    assert (
        main(
            typed(
                "select {study} --temperature 1 --distance {file} --as far --budget 10",
                study=answers.study,
                file=file,
            )
        )
        == 0
    )
    far = fs.select(answers.study, as_="far", budget=10)
    assert far.definition["distance"] == str(file)
    for found, distances in ((plain, 1.0 - np.eye(5)), (far, FAR)):
        weight = weights(answers, distances)
        first = found.rows[0]
        assert first.probability == pytest.approx(weight[answers.images.index(first.image)] / weight.sum())
    assert plain.images != far.images
    made_answers.import_labels(answers)
    assert fs.rank(answers.study, selection="far", resamples=0).rankings["lure"].scores
    written(file, FAR**2)
    with refused(SelectionError, "'far' was drawn with other distances between classes"):
        fs.select(answers.study, as_="far", more=2)


def test_a_file_of_distances_is_found_from_anywhere_and_known_by_its_numbers(
    answers: made_answers.Answers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path / "far.csv")
    monkeypatch.chdir(tmp_path)
    fs.select(answers.study, top=2, classifiers=fs.options.ClassifierRules(distance="far.csv"))
    (tmp_path / "else").mkdir()
    monkeypatch.chdir(tmp_path / "else")
    assert len(fs.select(answers.study, top=3).images) > 0
    (tmp_path / "far.csv").rename(tmp_path / "moved.csv")
    with refused(
        OptionError, r"there is no file .*far\.csv; give wordnet, path, hops, 01, or a file of distances"
    ):
        fs.select(answers.study, top=4)
    fs.select(
        answers.study, top=4, classifiers=fs.options.ClassifierRules(distance=str(tmp_path / "moved.csv"))
    )
    written(tmp_path / "moved.csv", FAR**2)
    with refused(SelectionError, "was made with other distances between classes"):
        fs.select(
            answers.study, top=5, classifiers=fs.options.ClassifierRules(distance=str(tmp_path / "moved.csv"))
        )


@pytest.mark.slow
def test_draws_measure_by_right_and_wrong_also_where_classes_stand_in_wordnet(tmp_path: Path) -> None:
    said = {"a": ("n01440764", "n01443537"), "b": ("n01443537", "n01443537"), "c": ("n01440764", "n02123045")}
    (tmp_path / "ids.csv").write_text("image\nx\ny\n")
    study = str(tmp_path / "study")
    fs.collect(study, str(tmp_path / "ids.csv"), task="classification", classes="imagenet1k")
    for name, labels in said.items():
        (tmp_path / f"{name}.csv").write_text(
            "image,label\n" + "".join(f"{i},{label}\n" for i, label in zip("xy", labels, strict=True))
        )
    fs.predict(study, {name: str(tmp_path / f"{name}.csv") for name in said})
    assert fs.select(study, top=1).definition["distance"] == "wordnet"
    drawn = fs.select(study, sampling=fs.options.Sampling(temperature=1.0), budget=2)
    assert drawn.definition["distance"] == "01"
    # two pairs differ on either image; fish and cat are no farther apart than fish and fish
    assert drawn.rows[0].probability == pytest.approx(0.5)
    looked = facts.look(Study(study), tuple(said), None, engine="local", workers=1)
    assert looked.weights["mad"] == pytest.approx(
        [row.score for row in sorted(drawn.rows, key=lambda row: row.image)]
    )
    fs.select(
        study,
        sampling=fs.options.Sampling(temperature=1.0),
        budget=2,
        classifiers=fs.options.ClassifierRules(distance="wordnet"),
        as_="far",
    )


def test_images_that_distances_of_zero_leave_out_are_not_taken_for_agreed(
    answers: made_answers.Answers, tmp_path: Path
) -> None:
    near = FAR.copy()
    near[0, 1] = near[1, 0] = 0.0
    drawn = fs.select(
        answers.study,
        sampling=fs.options.Sampling(temperature=1.0),
        budget=60,
        classifiers=fs.options.ClassifierRules(distance=str(written(tmp_path / "near.csv", near))),
    )
    fs.select(answers.study, selector="random", budget=60)
    made_answers.import_labels(answers)
    labels = np.stack(list(answers.labels.values()))
    assert drawn.rows[0].pool < (labels != labels[0]).any(0).sum()
    found = fs.rank(answers.study, selection="mad", resamples=0)
    assert "corpus" not in found.rankings
    assert not any("no two" in note or "others they do not" in note for note in found.notes)
