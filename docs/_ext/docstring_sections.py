"""A docstring with the sections of numpydoc: Parameters, Returns, Raises, Examples.

Conventions: docstrings of the package say in prose what they take and raise. A sentence that begins with
````name```` of a parameter is moved to that parameter; what a docstring does not say about a parameter is taken
from the comment behind a field, or from the conventions of the file and of the folders above. Types and defaults come from the signature; an error
that is named comes with the words behind its name. What is written as a section already is kept. Prose is
plain text: only code between backticks and doctests are markup.
"""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

PAPERS = {
    "S0": "Yan et al. 2021",
    "S1": "Zhang et al. 2021",
    "S2": "Wang et al. 2020",
    "S3": "Buchanan et al. 2022",
    "S4": "Blum et al. 2021",
}
_SECTION = re.compile(r"^(\w+)\n-{3,}\n", re.MULTILINE)
_ERROR = re.compile(r"\b([A-Z]\w*(?:Error|Exception))\b")
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z`(])")
EMPTY = "\\ "  # a parameter of which nothing is said looks like the others
_CODE = re.compile(r"(``[^`]+``|`[^`]+`)")


@dataclass(frozen=True)
class Place:
    """Where a definition stands: the docstrings of its file and of the folders above it, the nearest first,
    and the comments at the ends of lines, by line.
    """

    docstrings: Sequence[str] = ()
    comments: Mapping[int, str] = field(default_factory=dict)


NOWHERE = Place()


@dataclass
class Taken:
    """A parameter or a field: its type and default as they are written, and what is said about it."""

    name: str
    type: str = ""
    default: str = ""
    line: int = 0
    said: list[str] = field(default_factory=list)


def with_papers(text: str) -> str:
    """Return a text with papers named by authors and year.

    >>> with_papers("the ratio (S1 eq. 7)")
    'the ratio (Zhang et al. 2021 eq. 7)'
    >>> with_papers("S3 3; Hendrycks and Gimpel 2017")
    'Buchanan et al. 2022 section 3; Hendrycks and Gimpel 2017'
    """
    text = re.sub(r"\b(S[0-4]) (?=(\d|[A-Z]\.)[\d.]*\b(?! %))", lambda m: f"{PAPERS[m[1]]} section ", text)
    return re.sub(r"\bS[0-4]\b(?!\()", lambda m: PAPERS[m[0]], text)


def plain(text: str) -> str:
    r"""Return prose in which nothing but code between backticks is markup.

    >>> plain("|Y| * `x` and ``y*``")
    '\\|Y\\| \\* ``x`` and ``y*``'
    """
    parts = _CODE.split(with_papers(text))
    return "".join(
        f"``{part.strip('`')}``" if k % 2 else re.sub(r"([\\*|`_])", r"\\\1", part)
        for k, part in enumerate(parts)
    )


def blocks(text: str) -> list[str]:
    """Return the paragraphs of prose as text without markup, what is set in as literal blocks, and doctests as
    they are.
    """
    found = []
    for block in re.split(r"\n\s*\n", text.strip("\n")):
        if block.lstrip().startswith(">>>"):
            found.append(textwrap.dedent(block))
        elif block.startswith((" ", "\t")):
            found.append("::\n\n" + textwrap.indent(with_papers(textwrap.dedent(block)), "    "))
        else:
            found.append(plain(" ".join(block.split())))
    return found


def sentences(paragraph: str) -> list[str]:
    """Return the sentences of a paragraph on one line."""
    return [s for s in _SENTENCE.split(" ".join(paragraph.split())) if s]


def raised(text: str) -> list[tuple[str, str]]:
    """Return the errors that a text names, each with the words behind its name.

    >>> raised("Return it. LabelMapError for maps that do not fit, OptionError for the rest.")
    [('LabelMapError', 'for maps that do not fit'), ('OptionError', 'for the rest')]
    >>> raised("Return it. ``OptionError`` for an unknown ``over``.")
    [('OptionError', 'for an unknown ``over``')]
    """
    found: dict[str, str] = {}
    prose = " ".join(re.sub(r">>>.*", "", text, flags=re.DOTALL).split())
    names = list(_ERROR.finditer(prose))
    for k, match in enumerate(names):
        end = names[k + 1].start() if k + 1 < len(names) else len(prose)
        words = re.split(r"[.;](?=\s|$)", prose[match.end() : end])[0]
        words = re.sub(r"^`+", "", words).lstrip(" ,:)")  # of an error between backticks
        words = re.sub(r"(,|(^| )(and|or)\b)*[\s,:(]*$", "", words)
        if len(found.get(match[1], "")) < len(words) or match[1] not in found:
            found[match[1]] = words
    return [(name, words or "See above.") for name, words in found.items()]


def taken(node: ast.FunctionDef | ast.ClassDef) -> list[Taken]:
    """Return what a function takes, or which fields a class has."""
    if isinstance(node, ast.ClassDef):
        return [
            Taken(n.target.id, ast.unparse(n.annotation), _default(n.value), n.lineno)
            for n in node.body
            if isinstance(n, ast.AnnAssign)
            and isinstance(n.target, ast.Name)
            and not n.target.id.startswith("_")
            and not ast.unparse(n.annotation).startswith("ClassVar")  # no field
        ]
    spec = node.args
    plain_ones = [*spec.posonlyargs, *spec.args]
    behind = [None] * (len(plain_ones) - len(spec.defaults)) + list(spec.defaults)
    found = [_taken(a, d) for a, d in zip(plain_ones, behind, strict=True)]
    found += [_taken(spec.vararg, None, "*")] if spec.vararg else []
    found += [_taken(a, d) for a, d in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)]
    found += [_taken(spec.kwarg, None, "**")] if spec.kwarg else []
    return [t for t in found if t.name not in {"self", "cls"}]


def _taken(argument: ast.arg, default: ast.expr | None, stars: str = "") -> Taken:
    """Return one parameter."""
    annotation = ast.unparse(argument.annotation) if argument.annotation else ""
    return Taken(stars + argument.arg, annotation.strip("'"), _default(default))


def _default(value: ast.expr | None) -> str:
    """Return a default as it is written; '' where there is none, and of a dataclass's field() what it makes.

    >>> fields = "field(repr=False)", "field(default=3, repr=False)", "field(default_factory=dict)", "4"
    >>> [_default(ast.parse(text, mode="eval").body) for text in fields]
    ['', '3', 'dict()', '4']
    """
    if value is None:
        return ""
    if not (isinstance(value, ast.Call) and ast.unparse(value.func) in {"field", "dataclasses.field"}):
        return ast.unparse(value)
    given = {keyword.arg: keyword.value for keyword in value.keywords}
    if "default" in given:
        return ast.unparse(given["default"])
    factory = given.get("default_factory")
    return f"{factory.id}()" if isinstance(factory, ast.Name) else "..." if factory else ""


def signature(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return what stands in brackets behind a name: names and defaults, no types."""
    if isinstance(node, ast.ClassDef):
        is_data = any("dataclass" in ast.unparse(d) for d in node.decorator_list)
        return f"({', '.join(_assigned(t) for t in taken(node))})" if is_data else ""
    spec = ast.parse(ast.unparse(node.args).join(["def f(", "): ..."])).body[0]
    assert isinstance(spec, ast.FunctionDef)
    for argument in ast.walk(spec):
        if isinstance(argument, ast.arg):
            argument.annotation = None
    words = ast.unparse(spec.args)
    return "(" + re.sub(r"^(self|cls)(, )?", "", words) + ")"


def _assigned(one: Taken) -> str:
    return f"{one.name}={one.default}" if one.default else one.name


def described(
    text: str, node: ast.FunctionDef | ast.ClassDef, place: Place = NOWHERE
) -> tuple[list[Taken], list[str]]:
    """Return the parameters with what is said about each, and the paragraphs without what was moved to them."""
    about, written, _ = _parts(text)
    head, *rest = re.split(r"\n\s*\n", about.strip("\n"))
    parameters = taken(node)
    names = {t.name.lstrip("*"): t for t in parameters}
    for name, said in written.items():
        if name in names:
            names[name].said.append(said)
    body = [head, *(_without_parameters(p, names) for p in rest)]
    for name, one in names.items():
        one.said += [] if one.said else clauses(about, name)
        one.said += (
            [] if one.said or one.line not in place.comments else [_sentence(place.comments[one.line])]
        )
        for docstring in place.docstrings:
            found = [] if one.said else clauses(docstring, name, begins=isinstance(node, ast.ClassDef))
            one.said += [_without_name(clause, name) for clause in found]
    return parameters, body


def sectioned(text: str, node: ast.FunctionDef | ast.ClassDef, place: Place = NOWHERE) -> str:
    """Return a docstring with all its sections, as numpydoc reads them."""
    about, _, tail = _parts(text)
    parameters, (head, *body) = described(text, node, place)
    errors = raised(about) if isinstance(node, ast.FunctionDef) else []
    lines = [*blocks(" ".join(head.split())), *(b for p in body if p.strip() for b in blocks(p))]
    out = ["\n\n".join(lines)]
    if parameters:
        out.append(_section("Parameters", [(_typed(t), " ".join(map(plain, t.said))) for t in parameters]))
    if isinstance(node, ast.FunctionDef) and (returns := _returns(node)):
        out.append(_section("Returns", [(returns, plain(_given(head)))]))
    if errors:
        out.append(_section("Raises", [(name, plain(_sentence(words))) for name, words in errors]))
    if tail.strip():
        out.append("Examples\n--------\n" + "\n\n".join(blocks(tail)))
    return "\n\n".join(out)


def _parts(text: str) -> tuple[str, dict[str, str], str]:
    """Return the prose of a docstring, what its section of parameters says about each, and its doctests."""
    prose, mark, examples = text.strip("\n").partition("\n>>>")
    tail = f">>>{examples}" if mark else ""
    match = _SECTION.search(prose)
    if not match:
        return prose, {}, tail
    written: dict[str, str] = {}
    name = ""
    for line in prose[match.end() :].splitlines():
        if line and not line.startswith(" "):
            name = line.split(":")[0].strip().lstrip("*")
        elif name and line.strip():
            written[name] = f"{written.get(name, '')} {line.strip()}".strip()
    return prose[: match.start()], written, tail


def _without_parameters(paragraph: str, names: dict[str, Taken]) -> str:
    """Return a paragraph without the sentences that begin with a parameter, which they are given to."""
    if paragraph.startswith((" ", "\t")):
        return paragraph
    kept, last = [], None
    for sentence in sentences(paragraph):
        match = re.match(r"``(\w+)``", sentence)
        if match and match[1] in names:
            last = names[match[1]]
            last.said.append(sentence.removeprefix(match[0]).strip() if _is_shape(sentence) else sentence)
        elif last is not None and re.match(r"(It|They|Its|Their|Without|With) ", sentence):
            last.said.append(sentence)
        elif _ERROR.match(sentence) or sentence.startswith("Errors: "):
            last = None
        else:
            last = None
            kept.append(sentence)
    return " ".join(kept)


def clauses(about: str, name: str, *, begins: bool = False) -> list[str]:
    """Return the first part of a sentence, between semicolons, that names a parameter, if there is one; with
    ``begins`` one that begins with its name.

    >>> clauses("Maps are (H, W); ``void`` is left out (as ever; see there). More.", "void", begins=True)
    ['``void`` is left out (as ever; see there).']
    """
    found = [
        _sentence(clause)
        for paragraph in re.split(r"\n\s*\n", about)
        if not paragraph.startswith(" ")
        for sentence in sentences(paragraph)
        for clause in _between_semicolons(sentence.removeprefix("Conventions: "))
        if (clause.startswith(f"``{name}``") if begins else f"``{name}``" in clause)
    ]
    return found[:1]


def _without_name(clause: str, name: str) -> str:
    """Return a clause that says what a parameter is without its name, which the section says already.

    >>> (
    ...     _without_name("``bins`` is the number of bins.", "bins"),
    ...     _without_name("``a`` (N,) are numbers.", "a"),
    ... )
    ('The number of bins.', '(N,), numbers.')
    """
    match = re.match(rf"``{name}``(?: (\([^)]*\)))? (?:is|are) (.+)", clause)
    return clause if not match else f"{match[1]}, {match[2]}" if match[1] else _sentence(match[2])


def _between_semicolons(sentence: str) -> list[str]:
    """Return the parts of a sentence between semicolons that stand in no brackets."""
    found = [""]
    for part in re.split(r"(;\s)", sentence):
        is_cut = part[:1] == ";" and found[-1].count("(") <= found[-1].count(")")
        found = [*found, ""] if is_cut else [*found[:-1], found[-1] + part]
    return found


def _is_shape(sentence: str) -> bool:
    """Say whether a sentence reads ````name```` (J, I) is ..., whose name the section says already."""
    return re.match(r"``\w+`` \([^)]*\)(,|\.| )", sentence) is not None and sentence.count("``") == 2


def _typed(one: Taken) -> str:
    """Return the line of a parameter, as numpydoc reads it."""
    words = [plain(one.type) if one.type else "", f"default ``{one.default}``" if one.default else ""]
    about = ", ".join(w for w in words if w)
    return f"{one.name} : {about}" if about else one.name


def _returns(node: ast.FunctionDef) -> str:
    """Return the type that a function gives, '' for none."""
    written = ast.unparse(node.returns).strip("'") if node.returns else ""
    return "" if written == "None" else written


def _given(head: str) -> str:
    """Return what a first sentence says is given."""
    first = re.split(r"[;:](?=\s)|(?<=\w)\.(?=\s+[A-Z`(]|$)", " ".join(head.split()))[0].strip()
    match = re.match(r"(?:Return|Yield|Give)\w* (.+)", first)
    return _sentence(match[1]) if match else ""


def _sentence(words: str) -> str:
    """Return words with a capital and a full stop."""
    words = words.strip()
    return words[:1].upper() + words[1:] + ("" if words.endswith(".") else ".") if words else ""


def _section(title: str, rows: list[tuple[str, str]]) -> str:
    """Return a section as numpydoc reads it."""
    lines = [title, "-" * len(title)]
    for head, text in rows:
        lines += [head, f"    {text or EMPTY}"]
    return "\n".join(lines)


def rendered(text: str, node: ast.FunctionDef | ast.ClassDef, place: Place = NOWHERE) -> str:
    """Return a docstring as reStructuredText."""
    from numpydoc.docscrape_sphinx import SphinxDocString  # here: tests read docstrings without it

    return str(SphinxDocString(sectioned(text, node, place), config={"show_class_members": False}))


def plain_text_of(node: ast.FunctionDef | ast.ClassDef) -> str:
    """Return the first paragraph of a definition's docstring, in one line."""
    return plain(" ".join((ast.get_docstring(node) or "").split("\n\n")[0].split()))
