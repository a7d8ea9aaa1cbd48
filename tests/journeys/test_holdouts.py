"""Classes that are held out: named once in a study, written as training and test truth, and measured without,
on clean and on corrupted sets.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
import made
from faultscape.classes.class_lists import table
from faultscape.study.settings import read_settings
from refusals import refused, refused_line

OUT = made.NAMES[2]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    root = tmp_path_factory.mktemp("holdouts")
    (root / "mine.py").write_text("def dark(photo):\n    return (photo[..., 0] < 128).astype('uint8') * 2\n")
    return made.corpus(root, images=4, models=1, shape=(20, 28))


@pytest.fixture
def study(corpus: made.Corpus, tmp_path: Path) -> str:
    study = str(made.collected(corpus, tmp_path / "study", shard_size=3))
    fs.label.import_(study, str(corpus.truth))
    return study


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path))


def by_hand(corpus: made.Corpus, maps: Path, root: Path) -> dict[str, float]:
    """The measures of folders, with a class list without the class, whose pixels are void."""
    raw = json.loads(corpus.classes.read_text())
    entries = [entry for entry in raw["classes"] if entry["name"] != OUT]
    void = next(entry["index"] for entry in raw["classes"] if entry["name"] == OUT)
    (root / "kept.json").write_text(
        json.dumps({"classes": [{"id": e["index"], "name": e["name"]} for e in entries], "void": [255, void]})
    )
    found = fs.measure(
        corpus.truth,
        {"m": maps},
        classes=root / "kept.json",
        output=root / "by hand",
        resamples=0,
        engine="local",
        files=fs.options.FileRules(ignore=[void]),
    )
    return {name: found.models["m"][name]["value"] for name in ("miou", "pixel_accuracy")}


@pytest.mark.slow
def test_measures_without_a_class_are_those_of_a_class_list_without_it(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    assert fs.stress.holdout(study, classes=[OUT], as_="few").classes == (OUT,)
    models = {"folder": str(corpus.models["model-0"]), "dark": f"{corpus.root / 'mine.py'}:dark"}
    fs.predict(study, models, engine="local")
    fs.stress.corrupt(
        study, corruption=["contrast"], severities="5", engine="local", write=tmp_path / "images"
    )
    fs.predict(study, models, engine="local")
    whole = fs.measure(study, resamples=0, engine="local").models["folder"]["miou"]["value"]
    few = fs.measure(study, part=fs.options.StudyPart(holdout="few"), resamples=0, engine="local")
    expected = by_hand(corpus, corpus.models["model-0"], tmp_path)
    assert {name: few.models["folder"][name]["value"] for name in expected} == expected
    assert expected["miou"] != whole
    part = fs.options.StudyPart(set_=["contrast-5"], holdout="few")
    measured = fs.measure(study, part=part, resamples=0, engine="local").document["datasets"][
        "contrast-5.few"
    ]
    found = measured["models"]
    assert [*found] == ["dark"]
    assert any(note.startswith("folder: no map of set contrast-5; left out") for note in measured["notes"])
    hard = found["dark"]
    for id_ in corpus.ids:
        photo = pixels(tmp_path / "images" / "contrast" / "5" / f"{id_}.png")
        made.write(tmp_path / "maps" / f"{id_}.png", (photo[..., 0] < 128).astype(np.uint8) * 2)
    expected = by_hand(corpus, tmp_path / "maps", tmp_path)
    assert {name: hard[name]["value"] for name in expected} == expected
    # the study's own stay
    assert fs.measure(study, resamples=0, engine="local").models["folder"]["miou"]["value"] == whole


def test_written_truth_withholds_the_class_in_training_and_makes_it_the_anomaly_of_the_test(
    study: str, corpus: made.Corpus, tmp_path: Path
) -> None:
    fs.stress.corrupt(study, corruption=["contrast"], severities="5", engine="local")
    found = fs.stress.holdout(study, classes=[OUT], write=str(tmp_path / "out"))
    # of what was collected
    assert (found.name, found.kept, found.written) == ("holdout", len(made.NAMES) - 1, 4)
    classes = read_settings(Path(study)).class_list
    out = classes.names.index(OUT)
    for k, id_ in enumerate(corpus.ids):
        places = table(classes)[corpus.truths[k]]
        training, open_ = (pixels(tmp_path / "out" / kind / f"{id_}.png") for kind in ("training", "open"))
        np.testing.assert_array_equal(training == 254, places == out)
        np.testing.assert_array_equal(training == 255, places == len(classes))
        np.testing.assert_array_equal(training[training < 254], (places - (places > out))[training < 254])
        np.testing.assert_array_equal(open_, np.select([places == out, places == len(classes)], [1, 255], 0))
    held = json.loads((tmp_path / "out" / "classes.json").read_text())
    assert held["names"] == [name for name in classes.names if name != OUT]
    assert (held["ids"], held["void"]) == ([*range(len(made.NAMES) - 1)], [254, 255])
    assert not (tmp_path / "out" / "training" / "contrast-5").exists()


def test_wrong_holdouts_are_refused_in_one_line(study: str) -> None:
    line = ("stress", "holdout", study)
    fs.stress.holdout(study, classes=[OUT])
    fs.stress.holdout(study, classes=[OUT])
    with refused(says=f"the study has a holdout 'holdout' of {OUT}; name this one"):
        fs.stress.holdout(study, classes=[made.NAMES[0]])
    assert "no such holdout; it has holdout" in refused_line("measure", study, "--holdout", "none")
    assert "no holdout 'holdou'" in refused_line(*line, "--remove", "holdou")
    assert fs.stress.holdout(study, remove="holdout").classes == (OUT,)
    assert "no holdout 'holdout'; there is none" in refused_line(*line, "--remove", "holdout")
    assert fs.stress.holdout(study, classes=[made.NAMES[0]]).classes == (made.NAMES[0],)


def test_no_loss_takes_a_withheld_pixel_for_void() -> None:
    from faultscape.nouns import Classes
    from faultscape.study.tables.stress_sets import StressSets
    from faultscape.uncertainty.training.labels import IGNORED, OUTSIDE
    from faultscape.verbs.train.withheld import find_withheld

    classes = Classes(("sky", "car", "road"), (0, 1, 2), ((0, 0, 0),) * 3)
    found = find_withheld(StressSets(holdouts={"cars": ("car",)}), classes, None)
    assert found.places.tolist() == [0, IGNORED, 1, OUTSIDE]
