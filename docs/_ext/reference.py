"""Pages of the reference that the build writes: every public name with what it takes, gives and raises, the
files of a study, every metric with its formula and picture, and the errors.

Conventions: pages lie in ``docs/reference`` where git ignores them, and are written only where they changed,
so that a second build is quick. Verbs and catalogues have pages of their own, in git.
"""

from __future__ import annotations

import ast
from itertools import groupby
from pathlib import Path
from typing import Any

import docstring_sections as docstrings
import error_page
import metric_pages
import public_names as public
import study_files
from docstring_sections import plain

DOCS = Path(__file__).parents[1]
API = DOCS / "reference" / "api"
ONE_PAGE = 16  # names of a room that fit on one page
ROOMS = {
    "classes": "Class lists, what stands above classes, and ImageNet's",
    "comparison": "Where two models disagree: counts of pairs, concordance, distances of classes",
    "corpus": "Images: layouts of data sets, near-duplicates, groups, mixtures, objects",
    "errors": "What a user can get wrong",
    "formats": "Reading and writing pictures and label maps",
    "labelling": "What people say: label formats, discards, consensus of several people",
    "maps": "Label maps as arrays and as runs",
    "metrics": "Arrays in, numbers out: pixels, regions, boundaries, scores, calibration",
    "nouns": "What passes between rooms",
    "prediction": "Models: what opens them, and what they answer",
    "questions": "Whole questions about models in memory: which is better, and where they fail",
    "ranking": "From labels to ranks: scores, intervals, agreement of rankings",
    "reporting": "Figures and parts of the report",
    "scenes": "Streets drawn by code",
    "selection": "What a person should see: duels, draws, selectors",
    "stressors": "Corrupted images, blended objects, held-out classes",
    "testing": "Checks for what you add",
    "ties": "What decides among equals",
    "uncertainty": "Heads and methods that estimate uncertainty; needs the extra `torch`",
}


def heading(text: str, line: str) -> str:
    """Return a heading of reStructuredText."""
    return f"{text}\n{line * len(text)}"


def indented(text: str) -> str:
    """Return a text as the content of a directive."""
    return "\n".join(f"   {line}" if line.strip() else "" for line in text.splitlines())


def first_sentence(node: ast.stmt) -> str:
    """Return the first sentence of a definition's docstring, without a full stop."""
    text = ast.get_docstring(node) if isinstance(node, ast.FunctionDef | ast.ClassDef) else ""
    head = (text or "").split("\n\n")[0]
    found = docstrings.sentences(head)
    return plain(found[0].rstrip(".")) if found else ""


def place_of(file: Path) -> docstrings.Place:
    """Return what a file says beside its definitions."""
    return docstrings.Place(public.docstrings_around(file), public.comments(file))


def entry(name: public.Name, module: str) -> str:
    """Return what stands of one name on its page."""
    node = name.node
    inside = name.written.removeprefix(f"{module}.") if module else name.written
    if isinstance(node, ast.FunctionDef):
        text = docstrings.rendered(ast.get_docstring(node) or "", node, place_of(name.file))
        return f".. py:function:: {inside}{docstrings.signature(node)}\n\n{indented(text)}"
    if isinstance(node, ast.ClassDef):
        place = place_of(name.file)
        text = docstrings.rendered(ast.get_docstring(node) or "", node, place)
        inner = "\n\n".join(filter(None, (member(m, place) for m in node.body)))
        kind = "exception" if inside.endswith("Error") else "class"
        return f".. py:{kind}:: {inside}{docstrings.signature(node)}\n\n{indented(text)}\n\n{indented(inner)}"
    said = "See :doc:`what there is </reference/catalogues>`." if inside.isupper() else ""
    return f".. py:data:: {inside}\n\n{indented(said)}"


def member(node: ast.stmt, place: docstrings.Place) -> str:
    """Return what stands of a method or a property; '' for what is not public."""
    if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
        return ""
    text = ast.get_docstring(node)
    marks = {ast.unparse(d) for d in node.decorator_list}
    if marks & {"property", "cached_property", "functools.cached_property"}:
        typed = f"\n   :type: {ast.unparse(node.returns)}" if node.returns else ""
        return f".. py:property:: {node.name}{typed}\n\n{indented(plain_text(text))}"
    body = docstrings.rendered(text, node, place) if text else ""
    mark = "\n   :classmethod:" if "classmethod" in marks else ""
    mark = "\n   :staticmethod:" if "staticmethod" in marks else mark
    return f".. py:method:: {node.name}{docstrings.signature(node)}{mark}\n\n{indented(body)}"


def plain_text(text: str | None) -> str:
    """Return a docstring without sections as reStructuredText."""
    return "\n\n".join(docstrings.blocks(text)) if text else ""


def module_text(file: Path) -> str:
    """Return what a file says about itself: what it is, conventions, source."""
    return plain_text(ast.get_docstring(public.tree(file)))


def title_of(file: Path) -> str:
    """Return the name of a file as a heading."""
    stem = file.parent.name if file.stem == "__init__" else file.stem
    return stem.replace("_", " ").capitalize()


def file_part(file: Path, names: list[public.Name], module: str) -> str:
    """Return the conventions of a file and what it defines."""
    folded = (
        f".. dropdown:: Conventions and source\n\n{indented(text)}" if (text := module_text(file)) else ""
    )
    return "\n\n".join([folded, *(entry(n, module) for n in names)])


def summary(names: list[public.Name], prefix: str) -> str:
    """Return a table of names with a sentence each."""
    rows = [
        f"   * - :py:obj:`~faultscape.{prefix}{n.written}`\n     - {first_sentence(n.node)}" for n in names
    ]
    head = ".. list-table::\n   :widths: 35 65\n   :class: names\n\n"
    return head + "\n".join(rows)


def by_file(names: list[public.Name]) -> dict[Path, list[public.Name]]:
    """Return names by the file that defines them, in the order of the stub."""
    keyed = sorted(names, key=lambda n: str(n.file))
    return {file: list(of_it) for file, of_it in groupby(keyed, key=lambda n: n.file)}


def room_pages(room: str, names: list[public.Name]) -> dict[str, str]:
    """Return {path below api: text} of a room: one page, or an index and a page a file."""
    files = by_file(names)
    top = [heading(f"fs.{room}", "="), plain(ROOMS[room]) + "."]
    mark = f".. py:currentmodule:: faultscape.{room}"
    if len(names) <= ONE_PAGE or len(files) == 1:
        parts = [
            p for f, of_it in files.items() for p in (heading(title_of(f), "-"), file_part(f, of_it, room))
        ]
        return {f"{room}.rst": "\n\n".join([*top, mark, summary(names, ""), *parts])}
    pages = {}
    toctree = []
    for file, of_it in files.items():
        own = public.PACKAGE / room
        # formats stand with what reads and writes them, in another room
        below = file.relative_to(own if file.is_relative_to(own) else public.PACKAGE)
        stem = "-".join(below.with_suffix("").parts)
        stem = stem.replace("-__init__", "")
        toctree.append(stem)
        pages[f"{room}/{stem}.rst"] = "\n\n".join(
            [heading(f"fs.{room}: {title_of(file).lower()}", "="), mark, file_part(file, of_it, room)]
        )
    listed = "\n".join(f"   {stem}" for stem in toctree)
    table = [
        part
        for file, of_it in files.items()
        for part in (f".. rubric:: {title_of(file)}", summary(of_it, ""))
    ]
    pages[f"{room}/index.rst"] = "\n\n".join([*top, *table, f".. toctree::\n   :hidden:\n\n{listed}"])
    return pages


WITHOUT_COMMAND = {"labels": "label", "verdict": "status"}  # {function of Python: the page that tells of it}


def verb_pages() -> dict[str, str]:
    """Return the pages of verbs, of the groups of options that they take, and of what they return."""
    mark = ".. py:currentmodule:: faultscape"
    verbs = []
    for name in public.verbs():
        page = name.written.partition(".")[0].replace("_", "-")
        line = f"On the command line: :doc:`faultscape {page} </reference/verbs/{page}>`."
        if page in WITHOUT_COMMAND:
            page = WITHOUT_COMMAND[page]
            line = f"In Python alone; see :doc:`faultscape {page} </reference/verbs/{page}>`."
        verbs.append(f"{heading(f'fs.{name.written}', '-')}\n\n{line}\n\n{entry(name, '')}")
    return {
        "verbs.rst": "\n\n".join(
            [
                heading("Verbs", "="),
                "Each verb of the command line is a function of the same name and the same options.",
                mark,
                *verbs,
            ]
        ),
        "options.rst": "\n\n".join(
            [
                heading("Groups of options", "="),
                (
                    "Options that belong together are one argument in Python: "
                    '``fs.select(study, maps=fs.options.MapRules(over="all"))``.'
                ),
                mark,
                *(entry(n, "") for n in public.options()),
            ]
        ),
        "results.rst": "\n\n".join(
            [
                heading("What verbs return", "="),
                (
                    "Every verb returns an object, so that a script need not read a file back. ``print(result)`` shows"
                    " what the command line prints; the fields and properties below hold the numbers, for example"
                    ' ``fs.status("study").next``, or ``fs.measure(...).models["unet"]["miou"]``. Arrays and tables too'
                    " large for memory stay in the files of the study."
                ),
                mark,
                *(entry(n, "") for n in public.results() if n.written not in {"Slots", "Scale"}),
            ]
        ),
    }


def api_pages() -> dict[str, str]:
    """Return {path below api: text} of all pages of public names."""
    pages = verb_pages()
    rows = []
    for room, names in sorted(public.rooms().items()):
        pages |= room_pages(room, names)
        at = f"{room}/index" if f"{room}/index.rst" in pages else room
        rows.append((room, at, len(names)))
    table = "\n".join(
        f"   * - :doc:`fs.{r} <{at}>`\n     - {plain(ROOMS[r])}\n     - {n}" for r, at, n in rows
    )
    listed = "\n".join(f"   {at}" for at in ["verbs", "options", "results", *(at for _, at, _ in rows)])
    pages["index.rst"] = "\n\n".join(
        [
            heading("Python functions", "="),
            (
                "``import faultscape as fs`` loads nothing until it is used. Verbs work on study folders, rooms on"
                " arrays."
            ),
            (
                ".. list-table::\n   :widths: 25 75\n\n"
                "   * - :doc:`Verbs <verbs>`\n     - ``fs.collect`` to ``fs.view``, as on the command line\n"
                "   * - :doc:`Groups of options <options>`\n     - Options that several verbs share\n"
                "   * - :doc:`What verbs return <results>`\n     - Results, and what can be read off them"
            ),
            heading("Rooms", "-"),
            (
                ".. list-table::\n   :header-rows: 1\n   :widths: 25 60 15\n\n"
                f"   * - room\n     - what it holds\n     - names\n{table}"
            ),
            f".. toctree::\n   :hidden:\n\n{listed}",
        ]
    )
    return pages


def put(folder: Path, pages: dict[str, str]) -> None:
    """Write the pages of a folder that changed, and remove those that are no more."""
    for path, text in pages.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists() or file.read_text(encoding="utf-8") != text + "\n":
            file.write_text(text + "\n", encoding="utf-8")
    for file in folder.rglob("*.rst"):
        if str(file.relative_to(folder)) not in pages:
            file.unlink()


def write_pages(_: Any = None) -> None:
    """Write all pages of the reference that follow from the code."""
    put(API, api_pages())
    put(DOCS / "reference" / "metrics", metric_pages.pages())
    for name, text in {"files": study_files.page(), "errors": error_page.page()}.items():
        file = DOCS / "reference" / f"{name}.rst"
        if not file.exists() or file.read_text(encoding="utf-8") != text + "\n":
            file.write_text(text + "\n", encoding="utf-8")


def link_output_options(_: Any, docname: str, source: list[str]) -> None:
    """Say on a verb's page where the options are that every verb takes: before its first section."""
    folder, _, verb = docname.rpartition("/")
    if folder == "reference/verbs" and verb != "index":
        says = (
            "Every verb also takes `--json`, `-q`, `-v` and `--progress`:"
            " [the command line](../command-line.md#options-of-every-verb).\n\n"
        )
        before, mark, behind = source[0].partition("\n## ")
        source[0] = f"{before}\n{says}{mark[1:]}{behind}" if mark else f"{before}\n{says}"


def setup(app: Any) -> dict[str, bool]:
    """Let Sphinx write the pages before it looks for them."""
    app.connect("builder-inited", write_pages)
    app.connect("source-read", link_output_options)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
