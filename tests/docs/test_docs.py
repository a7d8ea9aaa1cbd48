"""Every block of the documentation runs or is said not to, every link leads somewhere, every verb has a page."""

from __future__ import annotations

import ast
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from faultscape.cli import VERBS, build

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"(?P<mark><!-- no-run: .+? -->\n)?```(?P<language>\w+)\n(?P<body>.*?)```", re.DOTALL)


def blocks(language: str) -> list[tuple[Path, str, bool]]:
    found = [
        (page, m["body"], m["mark"] is not None)
        for page in PAGES
        for m in BLOCK.finditer(page.read_text())
        if m["language"] == language
    ]
    assert found
    return found


@pytest.mark.parametrize(("page", "body"), [(p.name, b) for p, b, skipped in blocks("python") if not skipped])
def test_every_python_block_runs(page: str, body: str) -> None:
    result = subprocess.run([sys.executable, "-W", "error", "-c", body], check=False, capture_output=True, text=True)
    assert result.returncode == 0, f"{page}: {result.stderr}"


def test_blocks_that_do_not_run_are_python_all_the_same_and_few() -> None:
    skipped = [body for _, body, mark in blocks("python") if mark]
    assert len(skipped) <= 2
    for body in skipped:
        ast.parse(body)


def words_of_console() -> list[tuple[str, list[str]]]:
    lines = [(p.name, line[2:]) for p, body, _ in blocks("console") for line in body.splitlines() if line.startswith("$ ")]
    commands = [(page, part.split("#")[0].strip()) for page, line in lines for part in line.split("&&")]
    return [(page, shlex.split(c)[1:]) for page, c in commands if c.startswith("faultscape")]


@pytest.mark.parametrize(("page", "words"), words_of_console())
def test_every_command_and_option_of_the_documentation_exists(page: str, words: list[str]) -> None:
    from faultscape.cli import _SHORT

    command, bound, _ = build().parse_args([_SHORT.get(w, w) for w in words], print_error=False, exit_on_error=False)
    assert command.__name__.rstrip("_") in words, page
    assert bound.arguments


def test_every_verb_has_a_page_that_the_index_names() -> None:
    index = (ROOT / "docs" / "index.md").read_text()
    for verb in VERBS:
        assert (ROOT / "docs" / "verbs" / f"{verb}.md").read_text().startswith(f"# {verb}")
        assert f"verbs/{verb}.md" in index


def test_every_link_leads_to_a_file() -> None:
    links = [(page, link) for page in PAGES for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())]
    assert links
    missing = [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]
    assert not missing


def test_files_that_the_readme_names_exist() -> None:
    named = re.findall(r"`((?:tests|selection|metrics|ranking|recipes)/[\w/]+\.py)`", (ROOT / "README.md").read_text())
    assert named
    for name in named:
        assert (ROOT / name).exists() or (ROOT / "src" / "faultscape" / name).exists(), name
