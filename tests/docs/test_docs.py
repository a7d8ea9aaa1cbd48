"""Every block of the documentation runs or is said not to, every link leads somewhere, every verb has a
page.
"""

from __future__ import annotations

import ast
import inspect
import re
import shlex
from collections.abc import Iterator
from functools import cache
from operator import attrgetter
from pathlib import Path

import pytest

import children
from faultscape.cli import GROUPS, VERBS, build
from faultscape.command_line.commands import SHORT
from faultscape.command_line.output_options import split
from faultscape.verbs.verb_list import function_of

ROOT = Path(__file__).parents[2]
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md")),
    *sorted((ROOT / "docs").rglob("*.md")),
]
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


EACH_ALONE = """import sys
for number, body in enumerate(sys.argv[1:], 1):
    exec(compile(body, f"block {number}", "exec"), {"__name__": "__main__"})
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    "page",
    sorted({page for page, _, skipped in blocks("python") if not skipped}),
    ids=lambda page: str(page.relative_to(ROOT)),
)
def test_every_python_block_runs(page: Path) -> None:
    bodies = [body for of, body, skipped in blocks("python") if of == page and not skipped]
    children.python("-W", "error", "-c", EACH_ALONE, *bodies)


def test_blocks_that_do_not_run_are_python_all_the_same_and_few() -> None:
    skipped = [body for _, body, mark in blocks("python") if mark]
    assert len(skipped) <= 4  # two of them for libraries that no environment of tests has
    for body in skipped:
        ast.parse(body)


def words_of_console() -> list[tuple[str, list[str]]]:
    lines = [
        (p.name, line[2:])
        for p, body, _ in blocks("console")
        for line in body.splitlines()
        if line.startswith("$ ")
    ]
    commands = [(page, part.split("#")[0].strip()) for page, line in lines for part in line.split("&&")]
    return [(page, shlex.split(c)[1:]) for page, c in commands if c.startswith("faultscape")]


@pytest.mark.parametrize(("page", "words"), words_of_console())
def test_every_command_and_option_of_the_documentation_exists(page: str, words: list[str]) -> None:
    given, output = split(words)
    if output.help or given[:1] in (["--completion"], ["--version"]):
        return
    line = [SHORT.get(w, w) for w in given]
    command, bound, _ = build(line).parse_args(line, print_error=False, exit_on_error=False)
    assert command.__name__.rstrip("_") in [word.replace("-", "_") for word in words], page
    assert bound.arguments


def test_every_decision_has_a_state() -> None:
    pages = sorted((ROOT / "docs" / "decisions").glob("[0-9]*.md"))
    assert len(pages) > 20
    for page in pages:
        assert page.read_text().splitlines()[2].startswith("**State.** Accepted"), page.name


def test_every_verb_has_a_page() -> None:
    for verb in VERBS:
        assert (ROOT / "docs" / "reference" / "verbs" / f"{verb}.md").read_text().startswith(f"# {verb}")


COMMANDS = [f"{verb} {name}".strip() for verb in VERBS for name in GROUPS.get(verb, ("",))]


@cache
def arguments_and_options(command: str) -> tuple[list[str], list[list[str]]]:
    """The arguments of a command, and its options, each with all its spellings."""
    words = command.split()
    app = build(words)  # options are read when their verb is named
    for word in words:
        app = app[word]
    arguments, options = [], []
    for argument in app.assemble_argument_collection():
        if argument.field_info.kind is not inspect.Parameter.KEYWORD_ONLY:
            arguments.append(argument.names[0].lstrip("-").upper())
            continue
        if argument.names == ("*",):  # a group, whose options come one by one
            continue
        spellings = [n for n in argument.names if not n.startswith("--empty-")]
        options.append(spellings + [short for short, long in SHORT.items() if long in spellings])
    return arguments, options


def section(command: str) -> str:
    """What a verb's page says of one command: the whole page, or the part under its own heading where a verb
    has several.
    """
    verb, _, rest = command.partition(" ")
    text = (ROOT / "docs" / "reference" / "verbs" / f"{verb}.md").read_text()
    return re.split(r"^## ", text.partition(f"\n## {command}\n")[2], flags=re.MULTILINE)[0] if rest else text


def unnamed(text: str, arguments: list[str], options: list[list[str]]) -> list[str]:
    """The arguments and options of a command that a text does not name as code."""
    code = " ".join(re.findall(r"`([^`\n]+)`", text))
    words = set(re.findall(r"(?<![\w-])-{0,2}[A-Za-z][\w-]*", code))
    return [name for names in [arguments, *options] for name in names if name not in words]


def test_the_commands_are_all_there() -> None:
    assert {words.split()[0] for words in COMMANDS} == set(VERBS)
    assert {"label export", "label import"} <= set(COMMANDS)
    assert sum(len(arguments_and_options(command)[1]) for command in COMMANDS) > 50


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_is_named_on_the_page_of_its_verb(command: str) -> None:
    arguments, options = arguments_and_options(command)
    assert unnamed(section(command), arguments, options) == []
    for option in options:  # an option with a row of its own, which says what it does and its default
        assert re.search(
            rf"^\| `{re.escape(option[0])}`.* \| .*\| .{{8,}} \|$", section(command), re.MULTILINE
        ), option[0]


@pytest.mark.parametrize("command", COMMANDS)
def test_a_page_without_one_of_its_options_is_found_out(command: str) -> None:
    arguments, options = arguments_and_options(command)
    for names in options:
        text = re.sub(rf"{re.escape(names[0])}(?![\w-])", "--gone", section(command))
        assert names[0] in unnamed(text, arguments, options)


def lines_of_python() -> Iterator[tuple[str, str]]:
    for page in sorted((ROOT / "docs" / "reference" / "verbs").glob("*.md")):
        for line in page.read_text().splitlines():
            if line.startswith("In Python: "):
                yield from ((page.stem, code) for code in re.findall(r"`([^`]*fs\.[^`]*)`", line))


def test_every_command_has_a_line_of_python() -> None:
    said = [code for _, code in lines_of_python()]
    for command in COMMANDS:
        name = function_of(command).replace(" ", ".") + ("_" if command.endswith("import") else "")
        assert any(f"fs.{name}(" in code for code in said), command


@pytest.mark.parametrize(("page", "code"), list(lines_of_python()))
def test_every_line_of_python_fits_the_verb(page: str, code: str) -> None:
    import faultscape as fs

    calls = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call)]
    assert len({ast.unparse(call.func) for call in calls}) == len(calls)
    path = ast.unparse(calls[0].func).split(".")
    verb = function_of(page)
    assert path[:2] == ["fs", verb]
    function = getattr(fs, verb) if len(path) == 2 else getattr(getattr(fs, verb), path[2])
    for call in calls:  # the verb's own, and groups of options in it
        of = function if call is calls[0] else attrgetter(ast.unparse(call.func).removeprefix("fs."))(fs)
        inspect.signature(of).bind(*call.args, **{k.arg: k.value for k in call.keywords if k.arg is not None})


def test_every_link_leads_to_a_file() -> None:
    links = [
        (page, link) for page in PAGES for link in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    ]
    assert links
    missing = [f"{page.name}: {link}" for page, link in links if not (page.parent / link).exists()]
    assert not missing


@pytest.mark.parametrize(
    ("page", "notes"),
    [
        ("speed", "notes"),
        ("measure", "measure-notes"),
        ("labels", "label-notes"),
        ("choice", "choice-notes"),
        ("coverage", "coverage-notes"),
        ("plan", "plan-notes"),
    ],
)
def test_what_is_said_around_a_table_is_what_the_next_run_would_say(page: str, notes: str) -> None:
    text = (ROOT / "docs" / "benchmarks" / f"{page}.md").read_text()
    pieces = re.split(r"<!-- \w+ -->|\{[\w ]+\}", (ROOT / "benchmarks" / f"{notes}.md").read_text())
    said = [piece.strip() for piece in pieces if piece.strip()]
    assert len(said) > 2
    for piece in said:
        assert piece in text
    for sentence in re.findall(r"^(?:- \*\*|\*\*).+$", text, re.MULTILINE):
        assert any(sentence[:60] in piece for piece in said) or "{" in sentence, sentence
