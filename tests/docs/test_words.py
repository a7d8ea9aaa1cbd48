"""The word list: constructions that no page, message or docstring may use, and what to write instead.

Conventions: a pattern is matched in the text of a page without its code, in the docstrings and messages of a
source file without doctests and code in backticks, and in what a template or script of the pages shows. ``python
tests/docs/test_words.py`` prints every match.
Source: the table "Instead of" in docs/reference/notation.md holds the same list for people.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from trees import walked

ROOT = Path(__file__).parents[2]
TEMPLATES = "reporting/templates"
NOTATION = ROOT / "docs" / "reference" / "notation.md"


class Word(NamedTuple):
    pattern: str
    example: str  # a text that the pattern finds
    instead: str


WORDS = (
    Word(r"graphics processors?", "graphics processor", "GPU"),
    Word(r"pictures?", "pictures", "images"),
    Word(r"photos?|photographs?", "photo", "image"),
    Word(r"beyond (?:all )?doubt", "beyond doubt", "conclusively"),
    Word(r"no longer holds?", "no longer holds", "was dropped; no longer applies"),
    Word(r"in earnest", "in earnest", "in practice"),
    Word(r"looked at for all models at once", "looked at for all models at once", "corrected for multiple comparisons"),
    Word(r"says? nothing to", "says nothing to", "does not apply to"),
    Word(r"to be trusted", "to be trusted", "reliable"),
    Word(r"died over", "died over it", "crashed on this image"),
    Word(r"others each time|another each time", "are others each time", "differ every time"),
    Word(r"of a person's own|of somebody's own", "of a person's own", "your own"),
    Word(r"there is no word", "there is no word", "no ... is recorded"),
    Word(r"what (?:was|is) said of", "what was said of", "the options set for"),
    Word(r"(?:says?|said) of(?! (?:each|which|data))", "says of it", "says about"),
    Word(r"of no use", "of no use", "cannot be used for"),
    Word(r"by now", "by now", "now"),
    Word(r"(?<!time and )anew", "drawn anew", "redrawn; again"),
    Word(r"aloud", "counted aloud", "reported"),
    Word(r"(?:that|which|this) (?:is|are) said", "and that is said", "and reports it"),
    Word(r"(?:is|are) said, and|said beside", "is said, and", "is reported, and"),
    Word(r"by chance", "drawn by chance", "at random"),
    Word(r"lest|whence|thereof|therein|hitherto", "lest", "so that ... not"),
    Word(r"in place of", "in place of", "instead of"),
    Word(r"reckon(?:ed|s)?", "reckoned", "estimated"),
    Word(r"foretells?|foretold", "foretells", "predicts"),
    Word(r"stands? (?:beside|behind|there)", "stands beside it", "is next to it"),
    Word(r"hangs? together", "hang together", "are connected"),
    Word(r"at hand", "at hand", "available"),
    Word(r"but for", "all but for", "except"),
    Word(r"somebody|nobody else|whoever", "whoever", "anyone who; someone"),
    Word(r"(?:goes|go|gone|going|went) on with", "goes on with", "continues"),
    Word(r"knows? no", "knows no", "has no; does not know"),
    Word(r"(?:say|says|said) no(?! more)", "says no probabilities", "has no"),
    Word(r"said otherwise", "said otherwise", "unless you set it"),
    Word(r"(?<!there )(?:is|are) no (?!longer|more than|less|fewer|such|one\b)\w+", "is no class", "is not a class"),
    Word(r"(?:is|are) of (?:another|other|no|none)", "is of another study", "belongs to another study"),
    Word(r"at most so many|so many more images", "at most so many", "at most this many"),
    Word(r"stands? twice", "stands twice", "is given twice"),
    Word(r"(?:is|are) found out", "is found out", "is detected"),
    Word(r", for (?:it|they|he|nobody|there|that|this) (?:is|are|has|have|was|were|does|do|would|can|cannot)",
         ", for it is", ", because it is"),
    Word(r"(?:^|[.;:] )(?-i:Of) (?!course)\w+", ". Of label maps a mask", "For label maps, a mask"),
    Word(r"told apart by", "told apart by", "distinguished by"),
    Word(r"nor of|nor in earnest", "nor of others", "or of others"),
    Word(r"vouch(?:es)? for", "vouches for", "trusts"),
    Word(r"words (?:of|to) (?:the|a) (?:line|call)", "words of the line", "arguments"),
)  # fmt: skip
ANY = [
    (word, re.compile(rf"(?<![\w-])(?:{word.pattern})(?![\w-])", re.IGNORECASE | re.MULTILINE))
    for word in WORDS
]
SHORTHAND = re.compile(r"\bS[0-4]\b")
EXPLAIN_SHORTHAND = (
    "explanation/errata.md",
    "reference/equations.md",
    "how-to/storage.md",
)  # there S3 is a store


def prose(page: str) -> str:
    """Return a page's text without code, and without what stands between HTML comments and the tables that
    are written from the catalogues.
    """
    page = re.sub(r"^<!-- [A-Z]+ -->\n+(?:\|.*\n)*", "", page, flags=re.MULTILINE)
    page = re.sub(r"^ *(`{3,}|~{3,}).*?^ *\1", "", page, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]+`", "``", re.sub(r"\]\([^)\s]+\)", "]", page))


def spoken(source: str) -> Iterator[str]:
    """Yield the docstrings and messages of a source file: every text of two words or more, without the code
    of its examples.
    """
    nodes = walked(ast.parse(source))
    parts = {id(part) for node in nodes if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in parts:
            text = node.value
        else:
            continue
        text = re.sub(r"^ *(?:>>>|\.\.\.).*$", "", text, flags=re.MULTILINE)
        if " " in text.strip():
            yield text


def shown(template: str) -> Iterator[str]:
    """Yield what a page made from a template shows: its text without tags and code, its labels, and the texts
    in its expressions.
    """
    bare = re.sub(r"\{#.*?#\}|<(script|style)\b.*?</\1>", "", template, flags=re.DOTALL)
    for expression in re.findall(r"\{\{.*?\}\}|\{%.*?%\}", bare, re.DOTALL):
        yield from quoted(expression)
    bare = re.sub(r"\{%.*?%\}", " ", re.sub(r"\{\{.*?\}\}", "{}", bare, flags=re.DOTALL), flags=re.DOTALL)
    yield from re.findall(r'(?:aria-label|title|alt|placeholder)="([^"]+)"', bare)
    yield re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", re.sub(r"<code>.*?</code>", "", bare, flags=re.DOTALL)))


def quoted(code: str) -> Iterator[str]:
    """Yield the texts of two words or more that stand in quotes."""
    for text in re.findall(r'"([^"\n]*)"|`([^`]*)`', code):
        if " " in "".join(text).strip():
            yield "".join(text)


def uncoded(text: str) -> str:
    """Return a docstring or message without its doctest lines and code in backticks."""
    return re.sub(r"`+[^`\n]+`+", "``", re.sub(r"^ *(?:>>>|\.\.\.) .*$", "", text, flags=re.MULTILINE))


def texts() -> Iterator[tuple[str, str]]:
    """Yield (place, text) of everything that people read: pages by name, source by room, templates as one."""
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        place = path.relative_to(ROOT)
        if not {"decisions", "benchmarks"} & set(place.parts) and path != NOTATION:
            yield str(place), prose(path.read_text(encoding="utf-8"))
    for path in sorted((ROOT / "src").rglob("*.py")):
        parts = path.relative_to(ROOT / "src" / "faultscape").parts
        room = parts[0] if len(parts) < 3 or parts[0] != "verbs" else "/".join(parts[:2])
        for text in spoken(path.read_text(encoding="utf-8")):
            yield room, text
    for path in sorted((ROOT / "src" / "faultscape" / "reporting" / "templates").rglob("*")):
        read = shown if path.suffix == ".jinja" else quoted
        if path.suffix in (".jinja", ".js") and ".min." not in path.name:
            for text in read(path.read_text(encoding="utf-8")):
                yield TEMPLATES, text


def matches() -> Iterator[tuple[str, str, str, str]]:
    """Yield (place, words before and after, match, what to write instead)."""
    for place, text in texts():
        page = place.endswith(".md")
        flat = re.sub(r"(?<!\n)\n(?!\n)[ ]*", " ", uncoded(text)) if not page else text
        for word, pattern in ANY:
            for found in pattern.finditer(flat):
                around = flat[max(0, found.start() - 40) : found.end() + 40].replace("\n", " ")
                yield place, around, found[0], word.instead
        if not place.endswith(EXPLAIN_SHORTHAND):
            for found in SHORTHAND.finditer(flat):
                yield place, flat[max(0, found.start() - 30) : found.end() + 30], found[0], "authors, year"


def test_the_old_words_are_used_nowhere() -> None:
    found = [" | ".join(match) for match in matches()]
    assert not found, "\n".join(found[:40])


@pytest.mark.parametrize("word", WORDS, ids=lambda word: word.example)
def test_a_pattern_finds_its_example_and_not_what_stands_instead(word: Word) -> None:
    (pattern,) = (pattern for one, pattern in ANY if one is word)
    assert pattern.search(word.example)
    assert not pattern.search(word.instead)


def test_the_list_for_people_is_the_same() -> None:
    table = NOTATION.read_text(encoding="utf-8").partition("## Instead of")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (?!instead of|---)(.+?) \| (.+?) \|$", table, re.MULTILINE)
    assert rows == [(word.example, word.instead) for word in WORDS]


def test_code_and_tables_of_catalogues_are_no_prose() -> None:
    page = "Words `a picture`.\n\n```python\nphoto\n```\n<!-- HEADS -->\n\n| a photo |\n|---|\n\n[photo](a-photo.md)\n"
    assert re.findall(r"photo|picture", prose(page)) == ["photo"]  # a link's own text
    source = '"""A docstring."""\nx = "name"\nraise Error(f"no {x} here")\n'
    assert list(spoken(source)) == ["A docstring.", "no {} here"]
    assert uncoded("A ``photo`` of:\n>>> photo(1)\n... photo(2)\n'photo'") == "A `` of:\n\n\n'photo'"


def test_of_a_template_all_that_is_shown_is_read_and_no_code() -> None:
    template = (
        '{# a photo #}<p class="photo" title="a picture">Of {{ n }} {{ "two photos" if n }}{% if f.photo == "photo" %}'
        " <b>images</b>{% endif %} <code>--photo</code></p><style>photo</style>"
    )
    assert list(shown(template)) == ["two photos", "a picture", " Of {} {} images "]
    assert list(quoted('say("no picture"); one("photo"); `${n} photos`')) == ["no picture", "${n} photos"]


if __name__ == "__main__":
    for found in matches():
        print(" | ".join(found))
