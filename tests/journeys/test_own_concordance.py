"""A concordance of one's own, a function in a file, chooses images and ranks models like those that are built
in.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import faultscape as fs
import made
from faultscape.study.tables.selections import read_selection
from refusals import refused_line

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "verbs" / "select.md"


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> str:
    where = tmp_path_factory.mktemp("own")
    corpus = made.corpus(where / "corpus", images=12, models=3, shape=(24, 32))
    study = str(where / "study")
    made.compared_study(corpus, study)
    fs.label.import_(study, corpus.truth)
    return study


def test_the_function_of_the_page_chooses_other_images_and_ranks_by_itself(
    study: str, tmp_path: Path
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    own = tmp_path / "mine.py"
    own.write_text(next(block for block in blocks if "def worst_class" in block))
    fs.select(study, engine="local")
    slots = fs.select(
        study, maps=fs.options.MapRules(concordance=f"{own}:worst_class"), as_="worst", engine="local"
    )
    assert slots.images != read_selection(Path(study), "main")[0].images
    found, usual = (fs.rank(study, selection=name, resamples=0, engine="local") for name in ("worst", "main"))
    worst, mean = (one.rankings["reuse_mean"].scores for one in (found, usual))
    assert all(worst[model] < mean[model] for model in mean)  # no class lies above the mean of all


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (
            "return both / prediction",
            (
                r"ValueError: operands .*; it was given counts: both \(12, 5\), reference and prediction"
                r" \(12, 6\)"
            ),
        ),
        ("both[:] = 0", r"mine\.py:f: ValueError: assignment destination is read-only"),
        ("exit(3)", r"mine\.py:f: SystemExit: 3; it was given counts"),
        ("return both", r"gave numbers of shape \(12, 5\); expected \(12,\), one an image"),
    ],
)
def test_a_function_that_fails_is_told_with_what_it_was_given(
    study: str, tmp_path: Path, body: str, said: str
) -> None:
    own = tmp_path / "mine.py"
    own.write_text(f"def f(both, reference, prediction, *, over):\n    {body}\n")
    assert re.search(
        said, refused_line("select", study, "--concordance", f"{own}:f", "--as", "bad", "--engine", "local")
    )
