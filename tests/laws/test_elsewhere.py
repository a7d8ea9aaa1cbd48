"""The law of elsewhere: on another processor (here: told to do without this one's vector units) and without
numba ids, slots and orders are the same and numbers agree to 1e-9."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import children
import made
from faultscape.study.tables.selections import read_selection

pytestmark = pytest.mark.slow

LINE = """
import sys
import numpy as np
import faultscape as fs
from numpy._core._multiarray_umath import __cpu_features__ as units
study, photos, classes, truth, sure, *models = sys.argv[1:]
named = dict(m.split("=", 1) for m in models)
fs.collect(study, photos, classes=classes, storage=fs.options.Storage(shard_size=5))
fs.predict(study, named, engine="local")
fs.compare(study, engine="local")
fs.scale(truth, classes=classes, output=study + "/scale.json")
fs.select(study, maps=fs.options.MapRules(scale=study + "/scale.json", concordance="fwiou"))
fs.label.import_(study, truth)
fs.rank(study, resamples=200, engine="local")
two = dict(list(named.items())[:2])  # without numba it is slow
scores = fs.options.ScoreFolders(confidence=dict.fromkeys(two, sure))
fs.measure(truth, two, classes=classes, scores=scores, output=study + "/measured", engine="local", resamples=50)
print(units.get("X86_V3"))
"""
ELSEWHERE = {
    "a plain processor": {
        "NPY_DISABLE_CPU_FEATURES": "X86_V3 X86_V4 AVX512_ICL AVX512_SPR",
        "FAULTSCAPE_NUMBA": "1",
        "NUMBA_CPU_NAME": "generic",
        "NUMBA_CPU_FEATURES": "",
        "OPENBLAS_CORETYPE": "Prescott",
    },
    "no numba": {"FAULTSCAPE_NUMBA": "0"},
}


def line(study: Path, corpus: made.Corpus, environment: dict[str, str]) -> str:
    """Run the line in a process of its own; returns whether NumPy used vectors of 256 bits there."""
    models = [f"{name}={folder}" for name, folder in corpus.models.items()]
    folders = (study, corpus.photos, corpus.classes, corpus.truth, made.confidences(corpus))
    printed = children.python("-W", "ignore", "-c", LINE, *folders, *models, env=os.environ | environment)
    return printed.split()[-1]


def same(a: Any, b: Any, where: str) -> None:
    """Assert that two JSON values are equal, numbers to 1e-9, keys and texts to the letter."""
    if isinstance(a, dict):
        assert list(a) == list(b), where
        for key in a:
            same(a[key], b[key], f"{where}.{key}")
    elif isinstance(a, list):
        assert len(a) == len(b), where
        for k, (x, y) in enumerate(zip(a, b, strict=True)):
            same(x, y, f"{where}[{k}]")
    elif isinstance(a, float) and b is not None:
        assert np.isclose(a, b, rtol=0, atol=1e-9, equal_nan=True), where
    else:
        assert a == b, where


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> made.Corpus:
    return made.corpus(tmp_path_factory.mktemp("corpus"), images=30, models=5)


@pytest.fixture(scope="module")
def here(corpus: made.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    study = tmp_path_factory.mktemp("here") / "study"
    line(study, corpus, {"FAULTSCAPE_NUMBA": "1"})
    return study


@pytest.mark.parametrize("place", ELSEWHERE)
def test_elsewhere_slots_and_orders_are_the_same_and_numbers_agree(
    place: str, corpus: made.Corpus, here: Path, tmp_path: Path
) -> None:
    wide = line(tmp_path / "study", corpus, ELSEWHERE[place])
    if place == "a plain processor":
        assert wide != "True"
    ours, theirs = (read_selection(study)[0] for study in (here, tmp_path / "study"))
    assert len(ours.rows) > 40
    assert [(r.defender, r.attacker, r.class_, r.place, r.image) for r in ours.rows] == [
        (r.defender, r.attacker, r.class_, r.place, r.image) for r in theirs.rows
    ]
    assert np.allclose(
        [r.concordance for r in ours.rows], [r.concordance for r in theirs.rows], rtol=0, atol=1e-9
    )
    for file in ("standings.json", "measured/measure.json"):
        told = [json.loads((study / file).read_text()) for study in (here, tmp_path / "study")]
        for document in told:
            del document["provenance"]
        same(*told, file)


def test_a_process_that_begins_with_plain_kernels_makes_the_same_bytes(
    corpus: made.Corpus, here: Path, tmp_path: Path
) -> None:
    """The first law holds whatever a process has compiled: `here` compiles all, this study next to nothing."""
    line(tmp_path / "study", corpus, {})
    files = sorted(path.relative_to(here) for path in here.glob("p*/*/manifest.json"))
    assert len(files) == 2 * len(corpus.models)
    for file in (*files, Path("selection.csv"), Path("standings.json")):
        assert (tmp_path / "study" / file).read_bytes() == (here / file).read_bytes(), file
