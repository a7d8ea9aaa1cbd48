"""SKILL.md and llms.txt, which programs read: short, and every line in them is one that exists."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

from faultscape.cli import build
from faultscape.command_line.commands import SHORT
from faultscape.verbs.verb_list import GROUPS, VERBS

DOCS = Path(__file__).parents[2] / "docs"
SKILL = (DOCS / "_extra" / "SKILL.md").read_text(encoding="utf-8")


def lines() -> list[list[str]]:
    """The words of every line for a terminal, without its comment."""
    text = re.sub(r"\n {4}The labels do not decide.*?(?=\n\n)", "", SKILL, flags=re.DOTALL)  # a verdict
    found = re.findall(r"(?:^ {4}|`)(faultscape [^`\n]+)", text, re.MULTILINE)
    return [shlex.split(one.partition("  #")[0].partition(" ...")[0]) for one in found]


def test_it_has_at_most_two_thousand_words_and_names_itself() -> None:
    assert len(SKILL.split()) <= 2000
    assert re.match(r"---\nname: faultscape\ndescription: \S.{100,}\n---\n", SKILL)


def test_every_line_has_a_verb_and_options_that_exist() -> None:
    assert len(lines()) > 25
    for words in lines():
        verb = words[1]
        if verb == "VERB":
            continue
        assert verb in VERBS, words
        app = build((verb, "--help"))[verb]
        if verb in GROUPS:
            assert words[2] in GROUPS[verb], words
            app = app[words[2]]
        known = {name for one in app.assemble_argument_collection() for name in one.names}
        given = {word.partition("=")[0] for word in words if word.startswith("-")}
        assert given <= known | {"--json", "--help", "-q", *SHORT}, words


def test_llms_txt_names_pages_and_files_that_are_there() -> None:
    text = (DOCS / "_extra" / "llms.txt").read_text(encoding="utf-8")
    links = re.findall(r"\]\(([^)]+)\)", text)
    assert len(links) > 10
    for link in links:
        page = DOCS / link.replace(".html", ".md")
        assert any(
            path.is_file() for path in (page, DOCS / "_extra" / link, DOCS / "reference" / "schemas" / link)
        ), link
