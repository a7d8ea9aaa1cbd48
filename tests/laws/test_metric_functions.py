"""The law of the functions of metrics: every entry of the catalogue is a public function of maps or scores, with
its name, its options and its text, and gives the number of `measure` to the last digit.
"""

from __future__ import annotations

import importlib.util
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.errors import LabelMapError, MetricError, OptionError
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.doubt import max_probability
from faultscape.metrics.functions import of_maps, of_scores, texts
from refusals import refused

ROOT = Path(__file__).parents[2]
RNG = np.random.default_rng(0)
TRUTH = RNG.integers(0, 5, (7, 8, 10)).repeat(2, 1).repeat(3, 2).astype(np.uint8)
PREDICTION = np.where(RNG.random(TRUTH.shape) < 0.1, RNG.integers(0, 4, TRUTH.shape), TRUTH).astype(np.uint8)
TRUTH[TRUTH == 4] = 255
PREDICTION[PREDICTION == 4] = 255
OTHERS: dict[str, Any] = {  # another value of each option of a metric of maps
    "connectivity": 4,
    "void": "bridge",
    "absent": "zero",
    "scale": "none",
    "match": "dice",
    "per": "prediction",
    "over": "truth",
    "pooling": "per_image",
    "tolerance": 2.0,
    "band": 3.0,
}


def test_every_metric_is_a_function_with_its_name_its_options_and_its_text() -> None:
    for metric in METRICS:
        function = getattr(fs.metrics, metric.name)
        assert function.__name__ == metric.name
        assert metric.text(Definitions())[:30] in " ".join(function.__doc__.split())
        taken = {*inspect.signature(function).parameters}
        assert {name for name in metric.options if name not in texts.PRESET_ALONE} <= taken, metric.name


@pytest.mark.parametrize("name", ["of_maps", "of_scores"])
def test_editors_see_the_functions_that_there_are(name: str) -> None:
    script = ROOT / "scripts" / "metric_functions.py"
    spec = importlib.util.spec_from_file_location("metric_functions", script)
    assert spec is not None
    assert spec.loader is not None
    written = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(written)
    assert (written.FOLDER / f"{name}.pyi").read_text(encoding="utf-8") == written.stub(name), f"run {script}"


@pytest.mark.parametrize("name", of_maps.FUNCTIONS)
def test_a_function_of_maps_gives_the_number_of_measure_maps(name: str) -> None:
    function, metric = getattr(fs.metrics, name), of_maps.FUNCTIONS[name][1]
    cases: list[dict[str, Any]] = [{}, {"preset": "figure3"}, {"preset": "s0-printed"}]
    cases += [{option: OTHERS[option]} for option in metric.options if option != "regions"]
    for case in cases:
        classes = fs.classes.resolve(4, void=255)
        found = function(TRUTH, PREDICTION, classes, **case)
        wanted = fs.metrics.measure_maps(TRUTH, PREDICTION, classes, metrics=[name], **case)[name].value
        assert isinstance(found, float)
        assert np.array_equal(found, wanted, equal_nan=True), case
    assert function(TRUTH[0], PREDICTION[0], classes=4, void=255) == pytest.approx(
        fs.metrics.measure_maps(TRUTH[:1], PREDICTION[:1], 4, void=255, metrics=[name])[name].value,
        nan_ok=True,
    )


def test_given_regions_are_counted_by_class() -> None:
    ids = np.array([[1000, 1000, 1001], [2000, 2001, 2001]])
    found = fs.metrics.pq(ids, np.where(ids == 2001, 2000, ids), 3, regions="given", divisor=1000)
    assert found == pytest.approx((1.0 + 2 / 3 / 1.5) / 2)


def test_an_option_of_another_metric_is_refused() -> None:
    with refused(
        OptionError, "miou has no option 'connectivity'; it takes background, over, pooling, preset, v"
    ):
        fs.metrics.miou(TRUTH, PREDICTION, 4, void=255, connectivity=4)  # pyright: ignore[reportCallIssue]
    with refused(OptionError, "auroc has no option 'thresholds'; it takes pooling, preset"):
        fs.metrics.auroc(TRUTH, TRUTH, thresholds="keras200")  # pyright: ignore[reportCallIssue]
    with refused(LabelMapError, "convert labels with .astype"):
        fs.metrics.miou(TRUTH, PREDICTION / 1.0, 4, void=255)


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    """Folders of truth, maps, probabilities, masks and anomaly scores, and the same in memory."""
    root = tmp_path_factory.mktemp("folders")
    corpus = made.corpus(root / "corpus", images=6, models=1)
    rng = np.random.default_rng(1)
    held: dict[str, Any] = {"corpus": corpus, "probabilities": [], "masks": [], "scores": []}
    for k, id_ in enumerate(corpus.ids):
        shape = corpus.truths[k].shape
        probabilities = rng.dirichlet([0.3] * 5, shape).transpose(2, 0, 1).astype(np.float32)
        made.write(root / "maps" / f"{id_}.png", probabilities.argmax(0).astype(np.uint8))
        mask = (rng.random(shape) < 0.02).astype(np.uint8).repeat(2, 0)[: shape[0]]
        mask[0] = 255
        made.write(root / "masks" / f"{id_}.png", mask)
        score = (rng.random(shape) + 0.5 * (mask == 1)).astype(np.float32)
        for what, values in (("probabilities", probabilities), ("scores", score)):
            (root / what / id_).parent.mkdir(parents=True, exist_ok=True)
            np.save(root / what / f"{id_}.npy", values)
        for what, values in (("probabilities", probabilities), ("masks", mask), ("scores", score)):
            held[what].append(values)
    return root, held


def measured(
    root: Path, held: dict[str, Any], kind: str, preset: Any = None, **options: Any
) -> dict[str, Any]:
    """What the verb finds in these folders."""
    about = fs.options.Definitions(boundaries=False, **options)
    out = {"output": root / f"out-{kind}", "resamples": 20, "engine": "local", "preset": preset}
    if kind == "anomaly":
        scores = fs.options.ScoreFolders(anomaly={"a": str(root / "scores")})
        return fs.measure(str(root / "masks"), scores=scores, definitions=about, **out).models["a"]
    scores = fs.options.ScoreFolders(probabilities={"a": str(root / "probabilities")})
    maps = {"a": str(root / "maps")}
    classes = str(held["corpus"].classes)
    found = fs.measure(held["corpus"].truth, maps, classes=classes, scores=scores, definitions=about, **out)
    return found.models["a"]


def arrays_of(held: dict[str, Any], kind: str) -> tuple[Any, Any]:
    """The two arrays of a function, of the folders."""
    if kind == "anomaly":
        return held["scores"], held["masks"]
    probabilities, truths = held["probabilities"], held["corpus"].truths
    classes = len(probabilities[0])
    truth = [np.where(t < classes, t, 255) for t in truths]
    if kind == "probabilities":
        return probabilities, truth
    wrong = [np.where(t == 255, 255, p.argmax(0) != t) for p, t in zip(probabilities, truth, strict=True)]
    if kind == "doubt":
        return [max_probability(p) for p in probabilities], wrong
    return [np.minimum(p.max(0), 1) for p in probabilities], wrong


CASES: list[tuple[str, dict[str, Any]]] = [
    ("anomaly", {}),
    ("anomaly", {"preset": "smiyc", "alarm": 0.2, "connectivity": 4}),
    ("anomaly", {"pooling": "per_image", "fpr_rule": "closest", "curve": "trapezoid", "fpr_limit": 0.2}),
    ("probabilities", {}),
    ("probabilities", {"preset": "keras200", "bins": 7, "window": 4, "certain": 0.3}),
    ("probabilities", {"pooling": "per_image"}),
]


@pytest.mark.parametrize(("kind", "options"), CASES)
def test_a_function_of_scores_gives_the_number_of_measure(
    kind: str, options: dict[str, Any], folders: tuple[Path, dict[str, Any]]
) -> None:
    found = measured(*folders, kind, **options)
    checked = set()
    for name, (_, metric) in of_scores.FUNCTIONS.items():
        if (of_scores.kind_of(metric) == "anomaly") != (kind == "anomaly"):
            continue
        mine = {key: value for key, value in options.items() if key in {"preset", *metric.options}}
        value = getattr(fs.metrics, name)(*arrays_of(folders[1], of_scores.kind_of(metric)), **mine)
        told = found[name]["value"]  # 12 digits, None for NaN
        assert value == pytest.approx(np.nan if told is None else told, rel=1e-11, abs=1e-12, nan_ok=True), (
            name
        )
        checked.add(name)
    assert len(checked) == (11 if kind == "anomaly" else 16)


def test_scores_that_do_not_fit_are_refused() -> None:
    score, mask = RNG.random((2, 4, 4)), np.zeros((2, 4, 4), np.uint8)
    for given, words in (
        ((score, mask[:1]), "2 images of score and 1 of anomaly; give one for one"),
        ((score, mask + 7), "score, image 0: the mask holds 7"),
        ((score[None], mask), r"score: expected numbers, I x H x W; got float64 of shape \(1, 2, 4, 4\)"),
        ((score[:, :2], mask), "score, image 0: .* shape"),
        ((score * np.nan, mask), "NaN"),
    ):
        with refused(MetricError, words):
            fs.metrics.auroc(*given)
    with refused(MetricError, "a true class 3 has no probability; there are 2"):
        fs.metrics.brier(np.full((2, 4, 4), 0.5), mask[0] + 3)
    assert fs.metrics.fpr95(score[0], score[0] > 0.5) == 0  # bools, and one image
