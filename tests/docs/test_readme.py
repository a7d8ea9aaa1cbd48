"""README.md: short, in plain words, with lines that the command line takes and numbers that were measured."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path
from typing import Any

import pytest

from faultscape.cli import build

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BODY, LINKS = README.split("\n## Links\n")
CONSOLE = [
    line.partition("#")[0].strip()
    for block in re.findall(r"```console\n(.*?)```", README, re.DOTALL)
    for line in re.findall(r"^\$ (.+)$", block, re.MULTILINE)
]


def commands(text: str) -> list[str]:
    """Every line of `faultscape` in the blocks for a shell, and between backquotes in a text."""
    inline = re.findall(r"`(faultscape [^`]+)`", text)
    parts = [part.strip() for line in CONSOLE + inline for part in line.split("&&")]
    return [part for part in parts if part.startswith("faultscape ")]


def parses(line: str) -> bool:
    words = shlex.split(line)[1:]
    _, bound, _ = build(words).parse_args(words, print_error=False, exit_on_error=False)
    return bool(bound.arguments)


def test_what_stands_before_the_links_is_at_most_sixty_lines() -> None:
    assert len(BODY.splitlines()) <= 60


def test_it_says_in_this_order_what_why_how_when_not_and_how_long() -> None:
    parts = [
        "Faultscape chooses between segmentation models, or image classifiers, with few human labels",
        "**No time to draw masks?** `faultscape run study images/ ",
        "docs/images/disagreement.webp",
        "Where two models agree",
        "$ make demo",
        "**On your own data**",
        "reliability card",
        "**In Python**",
        "| you have |",
        "**When not to use it.**",
        "**Time and disk.**",
        "**Systems**",
    ]
    places = [BODY.index(part) for part in parts]
    assert places == sorted(places)


def test_the_one_picture_is_there_small_and_described() -> None:
    (source,) = re.findall(r'<img src="([^"]+)"[^>]*alt="[^"]{40,}"', README)
    assert "![" not in README
    assert 10_000 < (ROOT / source).stat().st_size < 100_000


def test_papers_are_named_by_authors_and_year_and_their_titles_once() -> None:
    for page in (README, (ROOT / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")):
        assert not re.search(r"\bS[0-4]\b", page)
        for title in (
            "Exposing Semantic Segmentation Failures via Maximum Discrepancy Competition",
            "I Am Going MAD: Maximum Discrepancy Competition for Comparing Classifiers Adaptively",
            "Rethinking Semantic Segmentation Evaluation for Explainability and Model Selection",
            "Reliability Benchmarks for Image Segmentation",
            "The Fishyscapes Benchmark: Measuring Blind Spots in Semantic Segmentation",
        ):
            assert page.count(title) == 1
    assert "Wang et al. 2020" in BODY
    assert "Yan et al. 2021" in BODY


def test_two_lines_set_everything_up_and_make_knows_them() -> None:
    assert CONSOLE[0].startswith("git clone ")
    assert CONSOLE[1:3] == ["make demo", "make test"]
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in ("demo", "test"):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)


def test_lines_are_of_make_or_of_faultscape() -> None:
    assert {line.split()[0] for line in CONSOLE} == {"git", "make", "faultscape", "."}


@pytest.mark.parametrize("page", ["README.md", "docs/index.md", "docs/how-to/install.md"])
def test_the_repository_that_is_cloned_is_that_of_the_package(page: str) -> None:
    urls = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["urls"]
    assert f"$ git clone {urls['Repository']}" in (ROOT / page).read_text(encoding="utf-8")


def test_the_guide_to_installing_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    page = (ROOT / "docs" / "how-to" / "install.md").read_text(encoding="utf-8")
    assert {extra for extra in project["optional-dependencies"] if f"`{extra}`" not in page} == set()


@pytest.mark.parametrize("line", commands(README))
def test_the_command_line_takes_every_line(line: str) -> None:
    assert parses(line)


WHICH = (ROOT / "docs" / "how-to" / "which-line.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("line", sorted(set(re.findall(r"`(faultscape [^`]+)`", WHICH))))
def test_the_command_line_takes_every_line_of_the_long_table(line: str) -> None:
    assert parses(line.replace(" -o ", " --output "))


def test_lines_that_need_a_release_are_marked_and_ask_for_what_the_demo_needs() -> None:
    (marked,) = [line for line in BODY.splitlines() if line.startswith("Once 0.1.0 is on PyPI")]
    for words in ('pip install "faultscape[onnx]"', 'uvx --from "faultscape[onnx]" faultscape demo'):
        assert f"`{words}`" in marked
    assert "pip install" not in README.replace(marked, "")


ORDER = "information, at once | LURE + control"
DUELS = "mad, top of each pair | Bradley-Terry"
UNIFORM = "random | LURE + control"


def test_when_not_to_use_it_says_what_was_measured() -> None:
    def regret(selector: str, data: str) -> float:
        page = (ROOT / "docs" / "benchmarks" / "choice.md").read_text(encoding="utf-8")
        _, head, table = page.partition("## Who is best")[0].partition("| selector | ranking | emotion |")
        columns = [cell.strip() for cell in (head + table.splitlines()[0]).split("|")]
        cells = next(line for line in table.splitlines() if line.startswith(f"| {selector} |")).split("|")
        return float(cells[columns.index(data)])

    (line,) = [line for line in BODY.splitlines() if line.startswith("**When not to use it.**")]
    drawn = regret(ORDER, "emotion")
    assert f"{regret(DUELS, 'emotion') - drawn:.2f}".lstrip("0") in re.findall(r"(\.\d\d) of Spearman", line)
    assert f"uniformly drawn images: {regret(UNIFORM, 'emotion') - drawn:.2f}".replace("0.", ".") in line
    camvid = [regret(selector, "camvid-zoo") for selector in (ORDER, DUELS, UNIFORM)]
    assert max(camvid) - min(camvid) <= 0.01
    assert "within .01" in line
    assert "docs/benchmarks/choice.md" in line


def test_what_an_image_and_a_map_cost_is_what_the_guide_of_scale_says() -> None:
    guide = (ROOT / "docs" / "how-to" / "scale.md").read_text(encoding="utf-8")
    (line,) = [line for line in BODY.splitlines() if line.startswith("**Time and disk.**")]
    assert "`collect` 8.4 ms per image, `predict` 3.3 ms per map" in guide
    assert "8 ms an image, 4 ms" in line
    assert re.search(r"\| maps, each model \| \d+ \| 1,924 \|", guide)
    assert "2 kB a map" in line


def test_files_that_the_page_of_papers_names_exist() -> None:
    page = (ROOT / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")
    named = re.findall(r"`([\w/]+\.py)`", page)
    assert len(named) > 40
    for name in named:
        assert (ROOT / name).is_file() or (ROOT / "src" / "faultscape" / name).is_file(), name


def test_functions_that_the_page_of_papers_names_are_public() -> None:
    import faultscape as fs

    page = (ROOT / "docs" / "reference" / "papers.md").read_text(encoding="utf-8")
    named = re.findall(r"`([a-z]+)\.([a-z_]+)`", page)
    assert len(named) > 15
    for room, name in named:
        assert callable(getattr(getattr(fs, room), name)), f"{room}.{name}"


def test_the_lines_on_arrays_that_the_plan_promises_run_as_they_stand() -> None:
    page = (ROOT / "docs" / "how-to" / "arrays.md").read_text(encoding="utf-8")
    for call in (
        "fs.comparison.count(maps, classes=21)",
        "fs.selection.scale(train_masks, classes=21)",
        'fs.selection.duels(pairs, "miou", per_class=1, scale=scale)',
        "fs.ranking.standings(slots, fs.comparison.count(maps, classes=21, truth=truth))",
        "r.rom, r.rum, r.counts",
        "d.average_precision, d.fpr95",
        'fs.stressors.corrupt(image, "fog", severity=3, seed=0)',
        'fs.uncertainty.replace_head(net, "gp", classes=19)',
    ):
        assert call in page  # test_docs runs the blocks
    (short,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(short.splitlines()) <= 12


def test_the_block_of_python_prints_the_ranks_that_it_promises(capsys: pytest.CaptureFixture[str]) -> None:
    (block,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    found: dict[str, Any] = {}
    exec(block, found)
    said = capsys.readouterr().out
    assert len(set(found["slots"].images)) == int(re.findall(r"label these (\d+)", block)[0])
    assert len(re.findall(r"^ +1  unet .*rank 1$", said, re.MULTILINE)) == 4
    assert "rank open" not in said


def test_readme_links_lead_on_to_tutorial_documentation_and_project_files() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", LINKS)
    assert {"docs/index.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "CITATION.cff"} <= set(links)
    assert any(link.startswith("docs/tutorials/") for link in links)
