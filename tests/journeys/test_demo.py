"""The demo as a user runs it: 300 drawn scenes, real inference, only the chosen labels, and networks that are
worth comparing.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from faultscape.nouns import Pairs
from faultscape.reporting.competition.standing_tables import CAVEAT
from faultscape.stages.pairs import read_block
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.demo import networks

MODELS = ("dilated", "fcn", "mobile", "segformer", "unet")
FEW_IN_THE_CARD = """
import runpy
from faultscape.verbs import demo
demo.CARD_SCENES = 4  # of 24: the card has journeys of its own
runpy.run_module("faultscape", run_name="__main__")
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo, and what it printed."""
    root = tmp_path_factory.mktemp("demo") / "study"
    words = [sys.executable, "-c", FEW_IN_THE_CARD, "demo", str(root)]
    done = subprocess.run(words, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return root, done.stdout


@pytest.fixture(scope="module")
def pairs(demo: tuple[Path, str]) -> Pairs:
    root, _ = demo
    return read_block(root, read_settings(root), read_corpus(root, 0), MODELS, ("everything",))


def chosen(root: Path) -> list[set[str]]:
    """The images of the two acts."""
    return [set(selections.read_selection(root, name)[0].images) for name in ("main", "drawn")]


def test_it_labels_what_the_two_acts_chose_and_as_many_images_for_each(demo: tuple[Path, str]) -> None:
    root, _ = demo
    duels, drawn = chosen(root)
    answered = label_maps.read_maps(label_maps.truth(root, "labels"), 0)
    assert set(answered) == duels | drawn
    assert 20 < len(duels) == len(drawn) < 100
    assert len(read_corpus(root)) == 300


def test_the_duels_stand_under_their_caveat_and_the_drawn_images_say_who_is_better(
    demo: tuple[Path, str],
) -> None:
    root, said = demo
    duels, drawn = (json.loads((root / f"standings{name}.json").read_text()) for name in ("", "-drawn"))
    assert said.index(CAVEAT) < said.index(
        f"Worst first: {', '.join(next(iter(duels['rankings'].values()))['order'])}."
    )
    first, ranking = next(iter(drawn["rankings"].items()))
    for model in MODELS:
        assert re.search(rf"{model}\s+{ranking['scores'][model]:.4f}\s+\[", said[said.index(first) :])
    for name, caveat in (("report.html", True), ("report-drawn.html", False)):
        page = (root / name).read_text()
        assert (CAVEAT in page) == caveat
        assert 'src="http' not in page


def test_the_time_stands_on_a_line_of_its_own_behind_the_list_of_reports(demo: tuple[Path, str]) -> None:
    lines = demo[1].splitlines()
    assert re.fullmatch(r"took \d+ s", lines[-2])
    assert lines[-1].startswith("next: ")
    reports = lines[next(k for k, line in enumerate(lines) if line.startswith("reports: ")) : -2]
    assert [re.search(r"\(([^()]*)\)$", line) is not None for line in reports] == [True] * 4
    assert not any(re.search(r"\d s\)", line) for line in reports)


def test_the_drawn_images_put_all_networks_in_order_that_are_not_nearly_equal(demo: tuple[Path, str]) -> None:
    _, said = demo
    (numbers,) = re.findall(
        r"(\d+) pairs of .* apart. In the right order: (\d+) by the duels, (\d+) by the drawn", said
    )
    pairs, duels, drawn = map(int, numbers)
    assert duels <= drawn == pairs == 9
    assert re.search(
        r"fcn and segformer are 0\.\d points apart: the drawn images leave open which is better", said
    )


def test_its_networks_lie_far_enough_apart_to_be_ranked_but_for_one_near_tie(
    demo: tuple[Path, str], pairs: Pairs
) -> None:
    _, said = demo
    checked = said[said.index("Checked against") :]
    scores = sorted(float(re.findall(rf"{model} +(0\.\d+)", checked)[0]) for model in MODELS)
    assert scores[-1] - scores[0] >= 0.2
    gaps = sorted(np.diff(scores))
    assert gaps[0] <= 0.01
    assert gaps[1] >= 0.02
    among = [p for p, (a, _) in enumerate(pairs.pairs.tolist()) if a < len(MODELS)]
    assert len(among) == 10
    assert np.mean([pairs.both[p].sum() / pairs.rows[p].sum() for p in among]) < 0.95


def test_its_networks_are_small_and_kept_for_torch_too() -> None:
    files = networks()
    assert set(files) == set(MODELS)
    assert sum(Path(file).stat().st_size for file in files.values()) < 1.5e6
    kept = Path(__file__).parents[2] / "examples" / "networks"
    assert {file.stem for file in kept.glob("*.safetensors")} == set(MODELS)
