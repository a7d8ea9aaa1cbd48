"""fit METHOD --validation: layers and options that are chosen on images with unknown objects."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.errors import MetricError, ModelError, OptionError, StudyError
from faultscape.reading.image_truths import Judge, find_judged
from faultscape.study.tables import outputs
from made_methods import blended_set, fitted
from made_training import Trained, image_of
from refusals import refused

LAYOUT = """
from pathlib import Path

import numpy as np
from PIL import Image

from faultscape.corpus.layouts.layout import Frame, Layout

def find(root, split):
    return [Frame(path.stem, str(path), str(Path(root, "labels", path.name)), split) for path in sorted(Path(root, "images").iterdir())]

def labels(frame):
    return np.asarray(Image.open(frame.truth))

def cars(frame):
    return np.where(labels(frame) == 9, 255, labels(frame) == 2).astype(np.uint8)

ODD = Layout("odd", "Odd", ("all",), "", "anomaly", find, "images, labels", "me", read_semantic=labels, read_anomaly=cars)
"""


@pytest.mark.slow
def test_layer_and_options_are_searched_on_a_set_with_anomalies_and_the_method_is_flagged(
    predicted: Trained,
) -> None:
    study = predicted.study
    name = blended_set(predicted, "fs-static", frames=3)
    found = fitted(predicted, "knn", select_layer=True, validation=name)
    assert [*found.searches] == ["layer", "k"]
    best = found.searches["layer"]
    assert best[0].average_precision == max(one.average_precision for one in best)
    assert found.methods[0].layers == (best[0].candidate,)
    assert found.methods[0].flags == ("tuned-with-ood",)
    joined = fs.fit(
        study,
        "flow",
        model="plain",
        layer=["mix", "body.0"],
        validation=name,
        method_options=fs.options.MethodOptions(steps=20, blocks=2, width=8, epsilon=0.0, join="logistic"),
    )
    assert joined.methods[0].flags == ("tuned-with-ood",)
    fs.predict(study, {"plain": predicted.source}, scorer=["msp", "knn"], measure=True, engine="local")
    card = fs.reliability(study, worst=0, resamples=0).document
    (about,) = card["models"]
    (method,) = about["methods"]
    assert method["options"] == {
        "k": int(found.searches["k"][0].candidate.removeprefix("k ")),
        "printed": False,
    }
    del method["options"]
    assert 0 < method.pop("minutes") < 10
    assert method == {
        "scorer": "knn",
        "layers": [best[0].candidate],
        "flags": ["tuned-with-ood"],
        "validation": name,
        "negatives": "",
        "family": "",
    }
    assert (
        f"plain: knn was searched with {name}, which includes 2 of the 7 images it is evaluated on; "
        "numbers on these are too good, so evaluate on other images" in card["notes"]
    )
    table = Path(study, "reliability", "table-s4.md").read_text()
    assert "| model | scorer | flags |" in table
    assert "| plain | knn | tuned-with-ood |" in table
    assert "| plain | msp |  |" in table
    page = Path(study, "reliability", "report.html").read_text()
    assert f"knn at {best[0].candidate}, k {found.methods[0].options['k']}: tuned-with-ood" in page
    assert "<small>kNN density, tuned-with-ood</small>" in page
    assert "<small>Max probability</small>" in page
    with refused(
        StudyError,
        "no image of val has anomaly labels, which a search needs; .*Classes withheld by a holdout "
        "cannot be used: the study is judged by them",
    ):
        fitted(predicted, "knn", select_layer=True, validation="val")
    with refused(OptionError, "--select-layer needs --validation SET, a set with anomaly labels"):
        fitted(predicted, "knn", select_layer=True)


def test_a_search_never_sees_what_a_holdout_withholds(predicted: Trained) -> None:
    """A data set whose labels call cars anomalous, where cars are what the study judges."""
    study, folder = predicted.study, predicted.folder / "odd"
    (folder / "images").mkdir(parents=True)
    (folder / "labels").mkdir()
    for number in (70, 71):
        photo, labels = image_of(number)
        Image.fromarray(photo).save(folder / "images" / f"{number}.png")
        Image.fromarray(labels).save(folder / "labels" / f"{number}.png")
    (predicted.folder / "own.py").write_text(LAYOUT)
    known = fs.options.KnownData(layout=f"{predicted.folder / 'own.py'}:ODD", split="all")
    fs.collect(study, str(folder), set_="odd", role="validation", known=known)
    with refused(
        StudyError,
        "its anomalies are pixels of car, withheld by a holdout of this study: the study is judged by "
        "them, so they cannot be used in a search",
    ):
        fitted(predicted, "odin", validation="odd", method_options=fs.options.MethodOptions())


@pytest.mark.slow
def test_a_search_on_images_that_are_judged_says_so(
    predicted: Trained, capsys: pytest.CaptureFixture[str]
) -> None:
    blended = {name: (blended_set(predicted, set_=name)) for name in ("val", "main")}
    fitted(predicted, "odin", validation=blended["val"], method_options=fs.options.MethodOptions())
    assert "role test" not in capsys.readouterr().out
    fitted(predicted, "odin", validation=blended["main"], method_options=fs.options.MethodOptions())
    assert (
        "images to search with have role test or were made from such images; judge the method on other images"
        in capsys.readouterr().out
    )


@pytest.mark.slow
def test_what_is_searched_is_what_is_fitted_and_what_is_given_stays(predicted: Trained) -> None:
    blended = blended_set(predicted, "fs-static", frames=3)
    found = fitted(predicted, "knn", validation=blended)
    assert found.methods[0].options["k"] == int(found.searches["k"][0].candidate.split()[1])
    assert [one.average_precision for one in found.searches["k"]] == sorted(
        (one.average_precision for one in found.searches["k"]), reverse=True
    )
    best = found.searches["k"][0]
    assert f"{best.candidate:5}  {best.average_precision:5.3f}  {best.fpr95:5.3f}" in repr(found)
    few = fs.options.FitData(keep_embeddings=60)
    tried = {one.candidate for one in fitted(predicted, "knn", validation=blended, data=few).searches["k"]}
    assert tried == {f"k {k}" for k in (1, 2, 5, 10, 20, 50)}
    with refused(
        MetricError, "[0-9]+ training embeddings are fewer than every k tried; keep more, or give --k"
    ):
        fitted(predicted, "knn-class", validation=blended, data=fs.options.FitData(keep_embeddings=10))
    swept = fitted(
        predicted,
        "odin",
        validation=blended,
        sweep="epsilon=0,0.01",
        method_options=fs.options.MethodOptions(),
    )
    # each searched on its own
    assert [*swept.searches] == ["odin-epsilon-0, temperature", "odin-epsilon-0.01, temperature"]
    with refused(
        OptionError, "has anomaly labels, and a method must not learn what unknown objects look like"
    ):
        fitted(predicted, "knn", data=fs.options.FitData(set_=["train", blended]))


@pytest.mark.slow
def test_pixels_of_withheld_classes_count_neither_as_known_nor_as_anomalous(predicted: Trained) -> None:
    """A search that took withheld pixels for known ones would choose what is blind to them. The oracle: exact
    average precision without them.
    """
    study = predicted.study
    blended = blended_set(predicted)
    row, *_ = fitted(
        predicted,
        "odin",
        validation=blended,
        sweep="epsilon=0,0.01",
        method_options=fs.options.MethodOptions(),
    ).searches["odin-epsilon-0, temperature"]
    fs.predict(study, {"plain": predicted.source}, scorer=["odin-epsilon-0"], engine="local")
    of = fs.Study(study)
    settings, images = of.settings, of.image_rows
    judge = Judge(of, find_judged(of, images, "labels"), {})  # as if nothing were withheld
    mine = [image for image in images.values() if image.set == blended]
    (word,) = settings.models["plain"].options["scorer"]
    scores = {image.id: kept_doubt(study, word, image) for image in mine}
    counted, known = [], []
    for image in mine:
        (view,) = judge.views(image.id, (32, 24))
        withheld = view.semantic == 2
        assert (view.anomaly[withheld] == 0).any()
        counted.append((scores[image.id], np.where(withheld, 255, view.anomaly)))
        known.append((scores[image.id], view.anomaly))
    found, wrong = (precision_of(rows) for rows in (counted, known))
    assert row.average_precision == pytest.approx(found, abs=2e-3)
    assert abs(found - wrong) > 3e-3


def kept_doubt(study: str, word: str, image) -> np.ndarray:
    """The doubt that predict kept of an image."""
    from faultscape.prediction.keep import doubt_folder

    held = outputs.read_kept(Path(study), "plain", doubt_folder(word), image.shard)
    return next(arrays[0] for id_, arrays in held if id_ == image.id)


def precision_of(rows) -> float:
    """The exact average precision of scores and labels of anomaly, 255 left out."""
    scores, labels = (np.concatenate([row[k].ravel() for row in rows]) for k in (0, 1))
    return fs.metrics.detection(scores[labels < 255], labels[labels < 255] == 1).average_precision


@pytest.mark.slow
def test_a_candidate_whose_score_is_no_number_is_left_out_by_its_name(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from faultscape.uncertainty.methods.knn_density import KnnDensity

    blended = blended_set(predicted)
    score = KnnDensity.score
    monkeypatch.setattr(
        KnnDensity,
        "score",
        lambda self, values, size: score(self, values, size) * (np.nan if self.k == 10 else 1),
    )
    tried = {one.candidate for one in fitted(predicted, "knn", validation=blended).searches["k"]}
    assert tried == {f"k {k}" for k in (1, 2, 5, 20, 50, 100)}
    assert capsys.readouterr().out.count("note: k 10 is left out: ") == 1
    monkeypatch.setattr(KnnDensity, "score", lambda self, values, size: score(self, values, size) * np.nan)
    with refused(
        ModelError,
        "method knn: every candidate gave NaN or infinity for an image to search with; choose another layer",
    ):
        fitted(predicted, "knn", validation=blended, seed=1)


@pytest.mark.slow
def test_joined_layers_are_searched_as_they_are_joined(
    predicted: Trained, monkeypatch: pytest.MonkeyPatch
) -> None:
    from faultscape.verbs.fit.layer_search import SearchImages

    blended = blended_set(predicted)
    judge, weights = SearchImages.judge, []

    def noted(self, model, method, candidates):
        weights.extend(one.weights for one in candidates.values())
        return judge(self, model, method, candidates)

    monkeypatch.setattr(SearchImages, "judge", noted)
    quick = fs.options.MethodOptions(steps=10, blocks=2, width=8, join="logistic")
    found = fitted(predicted, "flow", layer=["mix", "body.0"], validation=blended, method_options=quick)
    assert len(weights) == len(found.searches["epsilon"]) == 6
    assert all(one is not None for one in weights)
