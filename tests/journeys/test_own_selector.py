"""A selector of a person's own, from a file outside the package: in select, its help and errors, rank, plan,
status and the selection's table.
"""

from __future__ import annotations

import csv
import re
from dataclasses import fields
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.cli import main
from faultscape.errors import OptionError, SelectionError
from faultscape.selection.catalogue import FACTS, LEARNS, Selector
from golden import STUDY, Goldens, copied
from refusals import refused

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "select.md"
OWN = next(
    block
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    if "WORST_PAIR" in block
)
ODD = """
NO_SELECTOR = 3
NEITHER = Selector(name="neither", title="t", purpose="p", source="s")
TAKEN = Selector(name="random", title="t", purpose="p", source="s", weigh=weigh)
HUGE = Selector(name="huge", title="t", purpose="p", source="s", weigh=lambda facts, options: facts["complete"] * 1e308)
def write(facts, options):
    facts["complete"][:] = True
    return facts["complete"]


NO_FACT = Selector(name="no-fact", title="t", purpose="p", source="s", weigh=weigh, needs=("discrepency",))
NO_LABELS = Selector(name="no-labels", title="t", purpose="p", source="s", weigh=weigh, needs=("labels",))
ALWAYS = Selector(name="always", title="t", purpose="p", source="s", weigh=weigh, learns="always")
QUERIES = Selector(name="queries", title="t", purpose="p", source="s", prefer=weigh, learns="queries")
NO_TASK = Selector(name="no-task", title="t", purpose="p", source="s", weigh=weigh, tasks=("detection",))
WRITES = Selector(name="writes", title="t", purpose="p", source="s", weigh=write)
RAISES = Selector(name="raises", title="t", purpose="p", source="s", weigh=lambda facts, options: 1 / 0)
LEAVES = Selector(name="leaves", title="t", purpose="p", source="s", weigh=lambda facts, options: exit())
TEXT = Selector(name="text", title="t", purpose="p", source="s", weigh=lambda facts, options: "x")
SHORT = Selector(name="short", title="t", purpose="p", source="s", weigh=lambda facts, options: [1, 2])
UNASKED = Selector(name="unasked", title="t", purpose="p", source="s", weigh=lambda facts, options: facts["entropy"])
NO_ORDER = Selector(name="no-order", title="t", purpose="p", source="s", prefer=lambda facts, options: facts["complete"] * float("nan"))
BELOW = Selector(name="below", title="t", purpose="p", source="s", weigh=lambda facts, options: facts["complete"] - 2.0)
"""


def _compared(folder: Path) -> made.Corpus:
    corpus = made.corpus(folder / "corpus", images=16, models=3)
    study = str(folder / STUDY)
    made.compared_study(corpus, study)
    return corpus


@pytest.fixture
def corpus() -> made.Corpus:
    return Goldens.made("compared", _compared)[1]


@pytest.fixture
def study(tmp_path: Path) -> str:
    return copied("compared", _compared, tmp_path / "study")[0]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    (tmp_path / "mine.py").write_text(OWN + ODD)
    return tmp_path / "mine.py"


def test_a_selector_of_ones_own_goes_from_select_to_rank_and_plan(
    study: str, own: Path, corpus: made.Corpus, capsys: pytest.CaptureFixture[str]
) -> None:
    selector = f"{own}:WORST_PAIR"
    assert main(["select", study, "--selector", selector, "--budget", "6", "--engine", "local"]) == 0
    assert "6 images to label, drawn by" in capsys.readouterr().out
    rows = list(
        csv.DictReader((Path(study) / "selection-worst-pair.csv").read_text(encoding="utf-8").splitlines())
    )
    assert [row["selector"] for row in rows] == ["worst-pair"] * 6
    assert all(0 < float(row["draw_probability"]) <= 1 for row in rows)
    more = fs.select(study, as_="worst-pair", more=2, engine="local")
    assert len(more.rows) == 8
    assert more.definition["selector"] == selector
    fs.label.import_(study, str(corpus.truth))
    assert "lure" in fs.rank(study, selection="worst-pair", engine="local").rankings
    assert main(["plan", study, "--engine", "local"]) == 0
    assert main(["status", study]) == 0
    assert "worst-pair" in capsys.readouterr().out


def test_draws_of_ones_own_selector_follow_its_weights(study: str, own: Path) -> None:
    mine = fs.select(study, selector=f"{own}:WORST_PAIR", budget=4, engine="local")
    own.write_text(
        OWN.replace('name="worst-pair"', 'name="like-random"').replace(".max(0) ** 2", ".max(0) * 0 + 1")
    )
    alike = fs.select(study, selector=f"{own}:WORST_PAIR", as_="other", budget=4, engine="local")
    assert alike.rows[0].probability == pytest.approx(1 / 16)
    assert mine.rows[0].probability != pytest.approx(1 / 16)


def test_another_file_under_its_name_is_another_selector(study: str, own: Path) -> None:
    selector = f"{own}:WORST_PAIR"
    fs.select(study, selector=selector, budget=3, engine="local")
    own.write_text(OWN.replace("** 2", "** 3"))
    with refused(SelectionError, "which has changed since; its definition is fixed"):
        fs.select(study, as_="worst-pair", more=2, engine="local")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("MISSING", "holds no Selector called 'MISSING'"),
        ("NO_SELECTOR", "holds no Selector called 'NO_SELECTOR'"),
        ("NEITHER", "must have one of weigh and prefer"),
        ("TAKEN", "is called 'random', as one that is there"),
        (
            "NO_FACT",
            (
                r"needs 'discrepency'; facts are dispute, .*, agreement \(complete is always there\). Did you"
                r" mean 'discrepancy'"
            ),
        ),
        (
            "NO_LABELS",
            (
                r"needs 'labels', which is not there in segmentation; give tasks=\('classification',\), or"
                r" need similarity"
            ),
        ),
        ("ALWAYS", "learns 'always'; use never, votes, accuracy, belief, queries"),
        ("QUERIES", r"learns queries, whose noise its defaults must say, for example \{'epsilon': 0"),
        ("NO_TASK", "is for the task 'detection'; tasks are segmentation and classification"),
        ("WRITES", "mine.py:WRITES: ValueError: assignment destination is read-only"),
        ("RAISES", r"mine.py:RAISES: ZeroDivisionError: division by zero; it was given the facts complete"),
        ("LEAVES", r"mine.py:LEAVES: SystemExit"),
        ("TEXT", r"mine.py:TEXT: ValueError: could not convert string to float: 'x'"),
        (
            "SHORT",
            r"mine.py:SHORT: gave an array of shape \(2,\); it must give each of 16 images one finite weight",
        ),
        ("UNASKED", "mine.py:UNASKED: KeyError: 'entropy'; it was given the facts complete"),
        (
            "NO_ORDER",
            "mine.py:NO_ORDER: gave other numbers; it must give each of 16 images one number, -inf where",
        ),
        ("HUGE", "mine.py:HUGE gives weights whose sum is not finite; divide them by the largest"),
        (
            "BELOW",
            (
                "mine.py:BELOW: gave other numbers; it must give each of 16 images one finite weight, none below 0"
            ),
        ),
    ],
)
def test_what_is_no_selector_is_one_sentence(study: str, own: Path, name: str, words: str) -> None:
    with refused(OptionError, words):
        fs.select(study, selector=f"{own}:{name}", budget=3, engine="local")
    assert "selection-" not in " ".join(path.name for path in Path(study).iterdir())


def test_options_that_do_not_apply_to_it_are_refused_by_its_name(study: str, own: Path) -> None:
    with refused(
        OptionError, r"--temperature does not apply to --selector worst-pair; available options: --budget"
    ):
        fs.select(
            study, selector=f"{own}:WORST_PAIR", sampling=fs.options.Sampling(temperature=2.0), engine="local"
        )


def test_the_page_names_every_fact_and_every_field_of_a_selector() -> None:
    section = PAGE.read_text().partition("## A selector of your own\n")[2].partition("\n**Reads**")[0]
    first = re.findall(r"^\| ([^|]*) \|", section, re.MULTILINE)
    named = {word for cell in first for word in re.findall(r"`(\w+)`", cell)}
    assert named == {"complete", *FACTS, *(f.name for f in fields(Selector))}
    assert set(
        re.findall(r"`(\w+)`", next(line for line in section.splitlines() if "`learns`" in line))
    ) >= set(LEARNS)
