"""How long the tests take, as far as no processor changes it: how often those of `make test` collect images and
predict, and how many of their lines start programs. What several tests begin with is made once: see golden.py.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from shares import files_of

TESTS = Path(__file__).parents[1]
PROGRAMS = (
    "subprocess.run",
    "subprocess.Popen",
    "subprocess.check_output",
    "children.start",
    "children.python",
)
MOST = {"fs.predict": 440, "fs.collect": 395, "programs": 25}


def is_slow(node: ast.Module | ast.FunctionDef) -> bool:
    """Whether a file or a test is left to `make test-slow`."""
    marks = (
        [one.value for one in node.body if isinstance(one, ast.Assign)]
        if isinstance(node, ast.Module)
        else []
    )
    return any(
        "pytest.mark.slow" in ast.unparse(mark) for mark in marks or getattr(node, "decorator_list", [])
    )


def calls(node: ast.AST) -> Iterator[str]:
    """The names of what is called in the tests that `make test` runs."""
    if isinstance(node, ast.Module | ast.FunctionDef) and is_slow(node):
        return
    if (
        isinstance(node, ast.Call)
        and isinstance(of := node.func, ast.Attribute)
        and isinstance(of.value, ast.Name)
    ):
        name = f"{of.value.id}.{of.attr}"
        yield "programs" if name in PROGRAMS else name
    for inside in ast.iter_child_nodes(node):
        yield from calls(inside)


@pytest.mark.slow
def test_the_fast_tests_make_few_studies_by_hand_and_start_few_programs() -> None:
    counted: Counter[str] = Counter()
    for path in TESTS.rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if any(name in text for name in (*PROGRAMS, "fs.predict", "fs.collect")):  # parsing takes seconds
            counted.update(calls(ast.parse(text)))
    assert {name: counted[name] for name in MOST if counted[name] > MOST[name]} == {}


def test_shares_of_the_slow_tests_have_no_file_in_common_and_are_all_together() -> None:
    files = [Path(f"test_{k}.py") for k in range(11)]
    found = [files_of(f"{k}/3", [path for path in files for _ in range(2)]) for k in (1, 2, 3)]
    assert [len(each) for each in found] == [4, 4, 3]
    assert set().union(*found) == set(files)
    with pytest.raises(ValueError, match="is no share"):
        files_of("4/3", files)


def test_the_count_leaves_out_slow_tests_alone() -> None:
    text = "@pytest.mark.slow\ndef test_a(): fs.predict()\n\n\ndef test_b():\n    fs.collect(fs.predict())\n"
    assert list(calls(ast.parse(text))) == ["fs.collect", "fs.predict"]
    assert list(calls(ast.parse(f"pytestmark = pytest.mark.slow\n{text}"))) == []
    assert list(calls(ast.parse("subprocess.run([])"))) == ["programs"]
