"""Tutorials are notebooks whose Python parses and whose `faultscape` lines exist; the site's build runs them.

Conventions: a cell is ``{code-cell} ipython3``; shell lines stand in cells that begin with ``%%bash``.
"""

from __future__ import annotations

import ast
import re
import shlex
from pathlib import Path

import pytest

from faultscape.cli import build

TUTORIALS = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
TUTORIALS = [page for page in TUTORIALS if page.stem != "index"]
CELL = re.compile(r"^```\{code-cell\} ipython3\n(.*?)^```$", re.DOTALL | re.MULTILINE)
OPTIONS = re.compile(r"\A(?:---\n.*?^---\n|(?::[^\n]+\n)+)", re.DOTALL | re.MULTILINE)


def cells(page: Path) -> list[tuple[str, str]]:
    """Return (options, code) of each cell of a page."""
    found = []
    for body in CELL.findall(page.read_text()):
        options = OPTIONS.match(body)
        head = options.group() if options else ""
        found.append((head, body[len(head) :]))
    return found


def shell_lines(page: Path) -> list[str]:
    """Return the shell lines of a page, a line that goes on with a backslash as one."""
    scripts = [code.removeprefix("%%bash\n") for _, code in cells(page) if code.startswith("%%bash\n")]
    return [line for script in scripts for line in script.replace("\\\n", " ").splitlines()]


PAGES = pytest.mark.parametrize("page", TUTORIALS, ids=lambda page: page.stem)
LINES = [
    (page.stem, line)
    for page in TUTORIALS
    for line in shell_lines(page)
    if line.lstrip().startswith("faultscape ")
]


def test_there_are_the_seven() -> None:
    assert {page.stem for page in TUTORIALS} == {
        *("arrays", "first-ranking", "classifiers", "clicks", "kinds-of-error", "knows-when-wrong"),
        "learning-from-failures",
    }


@PAGES
def test_a_tutorial_is_a_notebook(page: Path) -> None:
    head = page.read_text().split("---\n")[1]
    assert "format_name: myst" in head
    assert "kernelspec:" in head
    first = cells(page)[0]
    assert first == (":tags: [remove-cell]\n", "import console\n\nconsole.start()\n")


@PAGES
def test_a_tutorial_says_which_cells_are_for_a_terminal_before_the_first(page: Path) -> None:
    assert (
        "A cell that begins with `%%bash` holds lines for a terminal" in page.read_text().split("%%bash\n")[0]
    )


@PAGES
def test_python_of_a_tutorial_parses(page: Path) -> None:
    python = [code for _, code in cells(page) if not code.startswith("%%")]
    assert len(python) > 4
    for code in python:
        ast.parse(code)
        assert all(len(line) <= 110 for line in code.splitlines())


@PAGES
def test_each_picture_has_words(page: Path) -> None:
    for options, code in cells(page):
        draws = re.search(r"^(?:show\w*\(|plt\.show\(|    show\()", code, re.MULTILINE)
        if draws and "hide-input" not in options:
            assert re.search(r"alt: \w+ .+", options), code


@PAGES
def test_each_tutorial_shows_the_command_line(page: Path) -> None:
    assert [line for stem, line in LINES if stem == page.stem]


@pytest.mark.parametrize(("page", "line"), LINES)
def test_every_line_of_a_tutorial_exists(page: str, line: str) -> None:
    words = [{"-o": "--output"}.get(word, word) for word in shlex.split(line)[1:] if word != "-q"]
    command, bound, _ = build(words).parse_args(words, print_error=False, exit_on_error=False)
    assert command.__name__.rstrip("_") in words, page
    assert bound.arguments
