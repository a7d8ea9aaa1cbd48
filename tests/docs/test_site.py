"""The documentation site: sections take new pages by themselves, the reference covers what there is, and what
is wrong with built pages is found out. Nothing is built here; built pages are checked where they lie.
"""

from __future__ import annotations

import ast
import importlib.util
import json
import re
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

import faultscape as fs
from faultscape.classes.built_in import BUILT_IN
from faultscape.cli import VERBS

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BUILT = ROOT / "build" / "docs"
SECTIONS = ("tutorials", "how-to", "reference", "reference/verbs", "explanation", "benchmarks", "decisions")


def loaded(path: Path) -> ModuleType:
    """A file of the site as a module, without what it needs numpydoc for."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module  # dataclasses ask for it
    spec.loader.exec_module(module)
    return module


public = loaded(DOCS / "_ext" / "public_names.py")
docstrings = loaded(DOCS / "_ext" / "docstring_sections.py")
pictures = loaded(DOCS / "_ext" / "metric_pictures.py")
reading = loaded(DOCS / "_ext" / "reading_order.py")
check_site = loaded(ROOT / "scripts" / "check_site.py")


@pytest.mark.parametrize("section", SECTIONS)
def test_a_section_lists_its_pages_by_glob(section: str) -> None:
    text = (DOCS / section / "index.md").read_text(encoding="utf-8")
    assert re.search(r"```\{toctree\}\n(?::.+\n)*:glob:\n(?::.+\n)*\n(?:[\w-]+\n)*\*\n```", text)


def test_the_front_page_leads_to_every_section() -> None:
    text = (DOCS / "index.md").read_text(encoding="utf-8")
    for section in ("tutorials", "how-to", "reference", "explanation", "benchmarks", "decisions"):
        assert f"{section}/index" in text


def test_every_page_begins_with_one_heading() -> None:
    for page in sorted(DOCS.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        if "_static" in page.parts or text.startswith("```{include}"):
            continue
        body = re.sub(r"\A---\n.*?\n---\n", "", text, flags=re.DOTALL).lstrip()
        assert body.startswith("# "), page
        assert len(re.findall(r"^# ", re.sub(r"```.*?```", "", body, flags=re.DOTALL), re.MULTILINE)) == 1, (
            page
        )


def test_every_public_name_is_found_without_importing_it() -> None:
    for room, names in public.rooms().items():
        module = getattr(fs, room)
        listed = getattr(module, "__all__", None)
        assert names, room
        if listed is not None:
            assert {name.written.split(".")[1] for name in names} == set(listed), room
    assert {name.written.partition(".")[0] for name in public.verbs()} == set(fs.verbs.__all__) | {
        "labels",
        "measure",
        "reliability",
        "verdict",
    }


def test_every_public_function_and_class_says_what_it_is() -> None:
    names = [*public.verbs(), *public.options(), *(n for of_it in public.rooms().values() for n in of_it)]
    assert len(names) > 400
    for name in names:
        if isinstance(name.node, ast.FunctionDef | ast.ClassDef):
            assert ast.get_docstring(name.node), name.written


def test_every_metric_has_a_picture_and_a_group_has_one_for_those_added() -> None:
    assert set(pictures.PICTURES) <= {metric.name for metric in fs.metrics.METRICS}
    for metric in fs.metrics.METRICS:
        picture = pictures.picture_of(metric.name, metric.group)
        assert picture.startswith('<svg class="counted"'), metric.name
        assert 'aria-label="' in picture, metric.name
    assert set(pictures.OF_GROUPS) == set(fs.metrics.catalogue.GROUPS)


def test_every_group_of_metrics_says_what_it_answers_and_when_to_use_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    pages = loaded(DOCS / "_ext" / "metric_pages.py")
    assert set(pages.LEADS) == set(pages.GROUPS) == {metric.group for metric in fs.metrics.METRICS}
    for group, lead in pages.LEADS.items():
        assert "Use these" in lead or "Begin here" in lead, group
    for name, text in pages.pages().items():
        if name != "index.rst":
            assert re.match(r".+\n=+\n\n[A-Z][^\n]+\.\n\n\.\. raw", text), name


def test_the_site_needs_the_versions_that_the_tests_run_with() -> None:
    def pins(path: Path) -> dict[str, str]:
        lines = path.read_text(encoding="utf-8").splitlines()
        parts = [line.split("==") for line in lines if "==" in line]
        return {re.sub(r"[-_.]+", "-", name.lower()): version for name, version in parts}

    ours, theirs = pins(ROOT / "constraints.txt"), pins(DOCS / "constraints.txt")
    assert theirs["sphinx"].startswith("9.0.")
    assert {name: version for name, version in theirs.items() if ours.get(name, version) != version} == {}


GOOD = '<html><body id="top"><a href="b.html#there">b</a><img src="a.png"></body></html>'


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        (GOOD, None),
        (GOOD.replace("a.png", "https://example.org/a.png"), "loads https://example.org/a.png from elsewhere"),
        (GOOD.replace("a.png", "b.png"), "loads b.png, which is not there"),
        (GOOD.replace("b.html#there", "c.html"), "c.html leads to no page"),
        (GOOD.replace("#there", "#gone"), "b.html#gone leads to no heading of that page"),
        (GOOD.replace("<img", '<script src="//example.org/x.js"></script><img'), "loads //example.org/x.js from elsewhere"),
        (GOOD.replace("<img", '<link rel="stylesheet" href="https://example.org/x.css"><img'), "loads https://example.org/x.css from elsewhere"),
        (GOOD.replace("<img", "<style>@import 'https://example.org/f.css';</style><img"), "loads https://example.org/f.css from elsewhere"),
        (GOOD.replace("<img", '<p style="background: url(https://example.org/p.png)"></p><img'), "loads https://example.org/p.png from elsewhere"),
        (GOOD.replace('href="b.html#there"', 'href="https://example.org"'), None),
    ],
)  # fmt: skip
def test_what_is_wrong_with_a_page_is_found_out(tmp_path: Path, page: str, problem: str | None) -> None:
    (tmp_path / "a.html").write_text(page)
    (tmp_path / "b.html").write_text('<p id="there"></p>')
    (tmp_path / "a.png").write_bytes(b"")
    pages = check_site.read_pages(tmp_path)
    found = check_site.loaded_from_elsewhere(tmp_path, pages) + check_site.broken_links(tmp_path, pages)
    assert found == ([f"a.html: {problem}"] if problem else [])


def test_a_font_that_a_style_sheet_loads_from_elsewhere_is_found_out(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text("@font-face { src: url(https://example.org/f.woff2) }")
    assert check_site.loaded_from_elsewhere(tmp_path, {}) == [
        "a.css: loads https://example.org/f.woff2 from elsewhere"
    ]


def test_a_site_without_pages_lacks_what_it_should_have(tmp_path: Path) -> None:
    problems = check_site.lacking(tmp_path, {tmp_path / "a.html": check_site.Page()})
    assert "the verb rank has no page" in problems
    assert "faultscape.metrics.miou has no place in the reference" in problems
    assert "the metric miou has no place in the reference" in problems
    assert check_site.unsearchable(tmp_path)
    assert check_site.problems_of(tmp_path) == [f"{tmp_path} holds no pages; build them with `make docs`"]


def test_a_decision_that_the_search_finds_is_found_out(tmp_path: Path) -> None:
    index = {
        "docnames": ["decisions/0001", "decisions/0002", "decisions/0003", "decisions/0004", "how-to/undo"],
        "terms": {"remov": 4, "stage": [0, 4]},
        "titleterms": {"part": 1},
        "alltitles": {"Stages": [[2, None]], "Undo a mistake": [[4, None]]},
    }
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    assert check_site.searched_decisions(tmp_path) == [
        f"the search finds decisions/000{number}, a decision: users need none" for number in (1, 2, 3)
    ]


def test_decisions_are_left_out_of_the_search_and_other_pages_are_not() -> None:
    scope = loaded(DOCS / "_ext" / "search_scope.py")
    metadata: dict[str, dict[str, str]] = {"decisions/0001": {}, "how-to/undo": {}}
    for page in metadata:
        scope.leave_out(SimpleNamespace(env=SimpleNamespace(docname=page, metadata=metadata)), None)
    assert metadata == {"decisions/0001": {"nosearch": "1"}, "how-to/undo": {}}
    assert '"search_scope"' in (DOCS / "conf.py").read_text(encoding="utf-8")


def test_the_script_of_formulas_asks_for_nothing_from_elsewhere() -> None:
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert 'mathjax_path = "mathjax/tex-svg.js"' in conf
    assert '"[mathjax]/font"' in conf
    files = loaded(ROOT / "scripts" / "npm_files.py")
    assert all(len(wanted.sha512) == 88 for wanted in (*files.FILES, *files.OF_DOCS))
    assert "docs/_static/mathjax/" in (ROOT / ".gitignore").read_text()


def unsaid(name: Any) -> list[str]:
    """The parameters of a function, or the fields of a class, of which neither its docstring nor its file
    says anything.
    """
    place = docstrings.Place(public.docstrings_around(name.file), public.comments(name.file))
    parameters, _ = docstrings.described(ast.get_docstring(name.node) or "", name.node, place)
    return [f"{name.written}: {one.name}" for one in parameters if not one.said]


@pytest.mark.slow
def test_every_parameter_of_a_public_function_is_described() -> None:
    rooms = [n for room, of_it in public.rooms().items() if room != "reporting" for n in of_it]
    functions = [n for n in [*public.verbs(), *rooms] if isinstance(n.node, ast.FunctionDef)]
    assert len(functions) > 300
    assert [words for name in functions for words in unsaid(name)] == []


def test_every_field_of_a_public_class_is_described() -> None:
    rooms = [n for room, of_it in public.rooms().items() if room != "reporting" for n in of_it]
    names = [*rooms, *public.results(), *public.options()]
    classes = [n for n in names if isinstance(n.node, ast.ClassDef)]
    assert sum(len(docstrings.taken(name.node)) for name in classes) > 800
    assert [words for name in classes for words in unsaid(name)] == []


def test_what_a_docstring_does_not_say_of_a_parameter_is_taken_from_its_file() -> None:
    (function,) = ast.parse('def f(counts, where=""):\n    "Return it. ``where`` is a name."').body
    place = docstrings.Place(("Conventions: ``counts`` are sums; ``where`` is not asked for.",))
    parameters, _ = docstrings.described(ast.get_docstring(function), function, place)
    assert [one.said for one in parameters] == [["Sums."], ["``where`` is a name."]]


def test_what_a_class_does_not_say_of_a_field_is_taken_from_the_comment_behind_it(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text('class A:\n    "An A."\n\n    few: int  # how few\n    many: int\n')
    place = docstrings.Place(("An ``few`` and ``many``. ``many`` is how many.",), public.comments(file))
    parameters, _ = docstrings.described("An A.", public.tree(file).body[0], place)
    assert [one.said for one in parameters] == [["How few."], ["How many."]]


def test_a_default_of_a_field_is_its_value_and_not_how_it_was_declared() -> None:
    names = [*public.results(), *public.options(), *(n for of_it in public.rooms().values() for n in of_it)]
    nodes = [name.node for name in names if isinstance(name.node, ast.FunctionDef | ast.ClassDef)]
    assert [words for words in map(docstrings.signature, nodes) if "field(" in words] == []


def test_two_hyphens_stay_two_hyphens_on_every_page() -> None:
    conf = (DOCS / "conf.py").read_text(encoding="utf-8")
    assert re.search(r'^smartquotes_action = "[qe]+"', conf, re.MULTILINE)


@pytest.mark.parametrize(
    "page", ["src/faultscape/verbs/collect/signature.py", "docs/reference/verbs/collect.md"]
)
def test_every_built_in_class_list_is_named_where_classes_are_chosen(page: str) -> None:
    words = set(re.findall(r"[\w.-]*\w", (ROOT / page).read_text(encoding="utf-8")))
    assert set(BUILT_IN) - words == set()


def test_the_index_of_the_reference_lists_every_page_once() -> None:
    text = (DOCS / "reference" / "index.md").read_text(encoding="utf-8")
    pages = {path.stem for path in (DOCS / "reference").glob("*.md")} - {"index"}
    assert {page: text.count(f"]({page}.md)") for page in pages} == dict.fromkeys(pages, 1)
    for page in ("api/index", "metrics/index", "files", "errors"):  # the build writes them
        assert text.count(f"<{page}>`") == 1
    assert text.count(":hidden:") == text.count("{toctree}")


def test_the_index_of_the_guides_lists_every_page_once_in_the_order_of_the_sidebar() -> None:
    text, _, toctree = (DOCS / "how-to" / "index.md").read_text(encoding="utf-8").partition("```{toctree}")
    pages = {path.stem for path in (DOCS / "how-to").glob("*.md")} - {"index"}
    listed = re.findall(r"\]\(([\w-]+)\.md\)", text)
    assert sorted(listed) == sorted(pages)
    ordered = re.findall(r"^([\w-]+)$", toctree, re.MULTILINE)
    assert listed[: len(ordered)] == ordered
    assert len(ordered) < len(listed)  # a pattern that finds no page is a warning of Sphinx
    assert listed[0] == "which-line"


def test_every_page_of_a_verb_says_where_the_options_of_every_verb_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_ext"))
    reference = loaded(DOCS / "_ext" / "reference.py")
    for verb in VERBS:
        source = [(DOCS / "reference" / "verbs" / f"{verb}.md").read_text(encoding="utf-8")]
        before = source[0]
        reference.link_output_options(None, f"reference/verbs/{verb}", source)
        (line,) = re.findall(r"^Every verb also takes .*\n\n", source[0], re.MULTILINE)
        assert line.endswith("(../command-line.md#options-of-every-verb).\n\n"), verb
        assert line not in source[0].partition("\n## ")[2]
        assert source[0].replace(line, "", 1).strip() == before.strip()
    for page in ("reference/verbs/index", "reference/files"):
        source = ["# A page\n"]
        reference.link_output_options(None, page, source)
        assert source == ["# A page\n"]


def test_every_run_of_pages_that_a_process_reads_has_notebooks_the_longest_first() -> None:
    pages = [f"reference/api/{k:03}" for k in range(200)]
    notebooks = {f"tutorials/{k}" for k in "abcd"} | {f"benchmarks/{k}" for k in range(13)} | {"gallery"}
    found = reading.spread(sorted([*pages, *notebooks]), notebooks)
    assert sorted(found) == sorted([*pages, *notebooks])
    assert [page for page in found if page in notebooks][:4] == [f"tutorials/{k}" for k in "abcd"]
    runs = [found[k : k + 30] for k in range(0, len(found) - 30, 30)]
    assert {len(notebooks & set(run)) for run in runs} <= {2, 3}
    assert reading.spread(pages, notebooks) == pages  # none of them changed


def test_headings_are_smaller_the_deeper_they_stand() -> None:
    css = (DOCS / "_static" / "site.css").read_text(encoding="utf-8")
    sizes = [
        re.search(rf"^.*\.bd-article h{k} \{{ font-size: \D*([\d.]+)rem", css, re.MULTILINE)
        for k in (1, 2, 3, 4)
    ]
    found = [float(one[1]) for one in sizes if one]
    assert len(found) == 4
    assert found == sorted(found, reverse=True)
