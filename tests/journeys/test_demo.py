"""The demo as a user runs it: 200 drawn scenes, real inference, only the chosen labels, and networks that are
worth comparing.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

import children
import faultscape as fs
from faultscape.nouns import Pairs
from faultscape.reading.pairs import read_block
from faultscape.reading.study import Study
from faultscape.reporting.competition.standing_tables import CAVEAT
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.demo import networks
from faultscape.verbs.demo.result import ABOUT_CARD

pytestmark = pytest.mark.slow

MODELS = ("dilated", "fcn", "mobile", "segformer", "unet")
SCENES = 200
FEW_IN_THE_CARD = """
import runpy
from faultscape.verbs.demo import acts
acts.CARD_SCENES = 2  # of 24: the card has journeys of its own
acts.draw_stress = lambda *_: 0  # and so have its pictures
runpy.run_module("faultscape", run_name="__main__")
"""


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """The folder of a demo, and what it printed."""
    root = tmp_path_factory.mktemp("demo") / "study"
    return root, children.python("-m", "faultscape", "demo", root)


@pytest.fixture(scope="module")
def pairs(demo: tuple[Path, str]) -> Pairs:
    root, _ = demo
    return read_block(Study(root), read_corpus(root, 0), MODELS, ())


def chosen(root: Path) -> list[set[str]]:
    """The images of the two acts."""
    return [set(selections.read_selection(root, name)[0].images) for name in ("main", "drawn")]


def test_it_labels_what_the_two_acts_chose_and_as_many_images_for_each(demo: tuple[Path, str]) -> None:
    root, _ = demo
    duels, drawn = chosen(root)
    answered = label_maps.read_maps(label_maps.truth(root, "labels"), 0)
    assert set(answered) == duels | drawn
    assert 20 < len(duels) == len(drawn) < 100
    assert len(read_corpus(root)) == SCENES


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
        assert re.search(rf"{model}\s+{ranking['scores'][model]:.3f}\s+\[", said[said.index(first) :])
    for name in ("report.html", "report-drawn.html"):
        page = (root / name).read_text()
        assert "Use unet" in page
        assert 'src="http' not in page


def test_each_act_says_what_it_cost_and_the_sum_stands_below_the_reports(demo: tuple[Path, str]) -> None:
    acts = re.findall(r"^\[(.*): \d+ s in all\]$", demo[1], flags=re.MULTILINE)
    assert acts == ["maps of the networks", "1. where they fail", "2. which is better", "reports"]
    (sum_,) = re.findall(r"^took \d+ s: (.*)$", demo[1], flags=re.MULTILINE)
    assert re.sub(r" \d+ s", "", sum_).split(", ") == acts
    assert "card" not in demo[1][: demo[1].index("took ")]


def test_the_verdict_comes_last_and_is_that_of_the_study(demo: tuple[Path, str]) -> None:
    root, said = demo
    verdict = fs.verdict(root)
    assert (verdict.models, verdict.decided, verdict.selection) == (("unet",), True, "drawn")
    assert said[said.index("took ") :].splitlines()[2:] == [
        *verdict.lines,
        f"next: faultscape demo {root} --card  ({ABOUT_CARD})",
        "or:   faultscape run STUDY IMAGES NAME=SOURCE ...  (the same with your images and models)",
    ]
    assert {state for _, state, _ in fs.status(root).stages} == {"done"}


def test_the_card_goes_on_with_the_study_and_redoes_nothing(demo: tuple[Path, str]) -> None:
    root, said = demo
    held = {path: path.stat().st_mtime_ns for path in root.glob("pre*/*/*.parquet")}
    card = children.python("-c", FEW_IN_THE_CARD, "demo", root, "--card", "--engine", "local")
    assert held == {path: path.stat().st_mtime_ns for path in held}
    assert "truth labels: 34 unchanged" in card
    assert "3. What do they know of their errors?  14 conditions" in card
    assert (root / "card" / "report.html").exists()
    last = said[said.index("took ") :].splitlines()
    assert card[card.index("took ") :].splitlines()[2:] == [*last[2:-2], last[-1].replace("or:  ", "next:")]


def test_the_drawn_images_put_all_networks_in_order_that_are_not_nearly_equal(demo: tuple[Path, str]) -> None:
    _, said = demo
    (numbers,) = re.findall(
        r"(\d+) pairs of .* apart. In the right order: (\d+) by the images of 1, (\d+) by those", said
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
