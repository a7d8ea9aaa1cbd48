"""The demo as a user runs it: 300 drawn scenes, real inference, only the chosen labels, and networks that are worth comparing."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faultscape.comparison.stored import read_block
from faultscape.nouns import Pairs
from faultscape.study import label_maps, selections
from faultscape.study.corpus import read_corpus
from faultscape.study.settings import read_settings
from faultscape.verbs.demo import networks

MODELS = ("dilated", "fcn", "mobile", "segformer", "unet")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo, and what it printed."""
    root = tmp_path_factory.mktemp("demo") / "study"
    done = subprocess.run([sys.executable, "-m", "faultscape", "demo", str(root)], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


@pytest.fixture(scope="module")
def pairs(demo: tuple[Path, str]) -> Pairs:
    root, _ = demo
    return read_block(root, read_settings(root), read_corpus(root, 0), MODELS, ("everything",))


def test_it_labels_the_chosen_scenes_alone(demo: tuple[Path, str]) -> None:
    root, _ = demo
    slots, _ = selections.read_selection(root)
    answered = label_maps.read_maps(label_maps.truth(root, "labels"), 0)
    assert set(answered) == set(slots.images)
    assert 20 < len(answered) < 150
    assert len(read_corpus(root)) == 300


def test_it_prints_rankings_with_intervals_labels_used_and_the_correlation(demo: tuple[Path, str]) -> None:
    root, said = demo
    standings = json.loads((root / "standings.json").read_text())
    assert standings["models"] == list(MODELS)
    for ranking in standings["rankings"].values():
        best = ranking["order"][0]
        assert re.search(rf"1\s+{best}\s+{ranking['scores'][best]:.4f}\s+\[", said)
    assert f"{standings['labels']['used']} of 300 images were labelled" in said
    correlations = dict(re.findall(r"^  (\w+) +(-?\d\.\d{3})$", said, re.MULTILINE))
    assert set(correlations) == set(standings["rankings"])
    assert all(-1 <= float(value) <= 1 for value in correlations.values())
    report = (root / "report.html").read_text()
    assert "tied for best" in report or "is the best" in report
    assert 'src="http' not in report


def test_its_networks_differ_enough_to_be_ranked(pairs: Pairs) -> None:
    miou, agreement = {}, []
    for p, (a, b) in enumerate(pairs.pairs.tolist()):
        both, rows, columns = (x[p].sum(axis=0) for x in (pairs.both, pairs.rows, pairs.columns))
        if a >= len(MODELS):
            c = len(both)
            miou[MODELS[b]] = np.mean(both / (rows[:c] + columns[:c] - both))
        else:
            agreement.append(both.sum() / rows.sum())
    assert min(miou.values()) > 0.35
    assert max(miou.values()) < 0.85
    assert max(miou.values()) - min(miou.values()) >= 0.15
    assert len(agreement) == 10
    assert np.mean(agreement) < 0.95


def test_its_networks_are_small_and_kept_for_torch_too() -> None:
    files = networks()
    assert set(files) == set(MODELS)
    assert sum(Path(file).stat().st_size for file in files.values()) < 1.5e6
    kept = Path(__file__).parents[2] / "examples" / "networks"
    assert {file.stem for file in kept.glob("*.safetensors")} == set(MODELS)
