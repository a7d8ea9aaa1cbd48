"""The laws of measuring: engines, kills, order of models, another processor, no numba; counts that merge in
any order and pass what 32 bits hold.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import faultscape as fs
import made
from faultscape.metrics import summary
from faultscape.metrics.catalogue import METRICS
from faultscape.metrics.definitions import Definitions
from faultscape.metrics.overlaps import regions

pytestmark = pytest.mark.slow

COVERED = ("statistics", "measure.json", "per_image.parquet", "failures.csv")
SCRIPT = """
import sys
import faultscape as fs
truth, classes, out, engine, workers, sure, *models = sys.argv[1:]
named = dict(m.split("=", 1) for m in models)
fs.measure(truth, named, classes=classes, scores=fs.ScoreFolders(confidence={name: sure for name in named}), output=out, engine=engine, workers=int(workers), resamples=50)
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    """Two shards, of 64 and 2, and a confidence for every image."""
    corpus = made.corpus(tmp_path_factory.mktemp("corpus"), images=66, models=2, shape=(24, 32))
    rng = np.random.default_rng(0)
    for id_ in corpus.ids:
        path = corpus.root / "sure" / f"{id_}.npy"
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, rng.random((24, 32)).astype(np.float32))
    return corpus


def words(corpus: made.Corpus, out: Path, engine: str, workers: int) -> list[str]:
    models = [f"{name}={folder}" for name, folder in corpus.models.items()]
    return [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        SCRIPT,
        str(corpus.truth),
        str(corpus.classes),
        str(out),
        engine,
        str(workers),
        str(corpus.root / "sure"),
        *models,
    ]


def run(
    corpus: made.Corpus, out: Path, engine: str = "local", workers: int = 1, **environment: str
) -> dict[str, bytes]:
    subprocess.run(
        words(corpus, out, engine, workers), check=True, capture_output=True, env=os.environ | environment
    )
    return made.bytes_under(out, *COVERED)


@pytest.fixture(scope="module")
def expected(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    files = run(corpus, tmp_path_factory.mktemp("local"))
    assert sum(name.endswith(".parquet") for name in files) == 2 * 2 + 1
    assert sum(name.endswith(".npz") for name in files) == 2
    return files


def test_processes_write_the_same_bytes(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path
) -> None:
    assert run(corpus, tmp_path, "processes", 5) == expected  # more workers than calls


def test_any_kill_and_restart_give_the_same_bytes(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path
) -> None:
    rng = random.Random(0)
    for _ in range(4):
        process = subprocess.Popen(
            words(corpus, tmp_path, "processes", 2),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            process.wait(rng.uniform(0.4, 4.0))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
    assert run(corpus, tmp_path, "processes", 2) == expected


@pytest.mark.parametrize(
    "environment",
    [
        {"FAULTSCAPE_NUMBA": "0"},
        {
            "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
            "NUMBA_CPU_NAME": "generic",
            "NUMBA_CPU_FEATURES": "",
            "OPENBLAS_CORETYPE": "Prescott",
        },
    ],
    ids=["no numba", "a plain processor"],
)
def test_elsewhere_numbers_agree_to_1e_9(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path, environment: dict[str, str]
) -> None:
    found = json.loads(run(corpus, tmp_path, **environment)["measure.json"])
    assert_close(found, json.loads(expected["measure.json"]), "")


def assert_close(one: Any, other: Any, where: str) -> None:
    if isinstance(one, dict):
        assert list(one) == list(other), where
        for key, value in one.items():
            assert_close(value, other[key], f"{where}/{key}")
    elif isinstance(one, list):
        assert len(one) == len(other), where
        for k, value in enumerate(one):
            assert_close(value, other[k], f"{where}/{k}")
    elif isinstance(one, float):
        assert one == pytest.approx(other, abs=1e-9), where
    else:
        assert one == other, where


def test_models_in_another_order_have_the_same_numbers(
    corpus: made.Corpus, expected: dict[str, bytes], tmp_path: Path
) -> None:
    names = list(corpus.models)[::-1]
    found = fs.measure(
        str(corpus.truth),
        {n: str(corpus.models[n]) for n in names},
        classes=str(corpus.classes),
        output=str(tmp_path),
        resamples=50,
        scores=fs.ScoreFolders(confidence={n: str(corpus.root / "sure") for n in names}),
    )
    assert {n: found.models[n] for n in corpus.models} == json.loads(expected["measure.json"])["models"]


def counts(images: int = 12) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, (images, 9, 9))
    prediction = np.where(rng.random(truth.shape) < 0.6, truth, rng.integers(0, 3, truth.shape))
    found = fs.metrics.regions(truth, prediction, 3).counts
    pairs = fs.comparison.count({"m": prediction}, 3, truth=truth)
    return found | {
        "both": pairs.both[0],
        "truth_pixels": pairs.rows[0],
        "predicted_pixels": pairs.columns[0],
    }


def test_counts_merge_in_any_order() -> None:
    stats = counts()
    order = np.random.default_rng(1).permutation(12)
    one = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(12, bool))
    other = summary.summarise(
        {name: values[order] for name, values in stats.items()}, Definitions(), (0, 1, 2), np.ones(12, bool)
    )
    assert set(one) >= {"miou", "rom", "pq"}
    for name, found in one.items():
        assert found.value == pytest.approx(other[name].value, rel=1e-12), name
        assert found.undefined == other[name].undefined
    for name in ("miou", "fwiou", "mpa", "pixel_accuracy", "dice"):  # of whole numbers alone: to the last bit
        assert one[name].value == other[name].value


def test_images_left_out_count_for_nothing() -> None:
    stats, used = counts(), np.arange(12) % 3 > 0
    found = summary.summarise(stats, Definitions(), (0, 1, 2), used)
    kept = {name: values[used] for name, values in stats.items()}
    again = summary.summarise(kept, Definitions(), (0, 1, 2), np.ones(8, bool))
    for name, entry in found.items():
        assert entry.value == pytest.approx(again[name].value, rel=1e-12), name
        assert np.isnan(entry.evidence.linear.slopes[~used]).all(), name
        assert entry.evidence.linear.slopes[used] == pytest.approx(
            again[name].evidence.linear.slopes, rel=1e-8, abs=1e-12
        ), name


def test_slopes_say_how_a_number_moves_with_an_image() -> None:
    """An image that counts twice moves a mean by its slope n / (n + 1), a number made of sums by its slope to
    first order.
    """
    stats, n = counts(400), 400
    found = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(n, bool))
    cells = {metric.name for metric in METRICS if metric.join == "cells"}
    for place in (0, 7):
        twice = {name: np.concatenate([values, values[[place]]]) for name, values in stats.items()}
        again = summary.summarise(twice, Definitions(), (0, 1, 2), np.ones(n + 1, bool))
        for name, entry in found.items():
            slope = float(entry.evidence.linear.slopes[place])
            moved = again[name].value - entry.value
            exact = slope * n / (n + 1)
            assert moved == pytest.approx(exact, abs=1e-12 if name in cells else 4 * abs(slope) / n + 1e-9), (
                name
            )


def test_counts_beyond_2_to_the_31_are_right() -> None:
    stats = {
        name: values.astype(np.int64) * (1 << 33) if values.dtype.kind == "i" else values * float(1 << 33)
        for name, values in counts().items()
    }
    large = summary.summarise(stats, Definitions(), (0, 1, 2), np.ones(12, bool))
    small = summary.summarise(counts(), Definitions(), (0, 1, 2), np.ones(12, bool))
    for name in ("miou", "fwiou", "mpa", "pixel_accuracy", "dice", "pq", "sq", "rq"):
        assert large[name].value == pytest.approx(small[name].value, rel=1e-12), name
    assert stats["both"].max() > 1 << 33


def test_a_table_of_one_huge_region_does_not_overflow() -> None:
    """IoU and Dice thresholds are compared in whole numbers: regions of 2^31 - 1 pixels times 20 must still
    fit.
    """
    from faultscape.maps.regions import Overlaps
    from faultscape.metrics.overlaps import region_counts

    n = np.array([2**31 - 1], np.int64)
    zero = np.zeros(1, np.int32)
    table = Overlaps(zero, n, zero, n, np.zeros(1, np.int64), zero, zero, n)
    for match in ("iou", "dice"):
        assert [int(v[0]) for v in region_counts.count_matches(table, 1, match=match).values()] == [1] * 10
    assert region_counts.count_quality(table, 1)["pq_iou_sum"] == [1.0]
    assert float(regions.measure(regions.count([table, table], 1, "iou"))["rom"][0]) == 0
