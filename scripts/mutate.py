"""Break the code in forty small ways, one at a time, and list those that the tests of its room do not see.

Run as ``python scripts/mutate.py [--seed 16] [--only N,N...]`` where the tests run. Each mutation is made in
a copy of src/ and tests/ in a temporary folder: another comparison, another operator, a number one higher, or
a statement left out; the seed says which. Its room's tests, the room's laws and the examples of its file run
until the first that fails; "SURVIVED" is a mutation that none sees. Text, annotations and error messages are
left alone. A process that takes five minutes counts as a mutation that was seen (it loops).
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
LONGEST = 300  # seconds
FAST = (  # these start programs, or compile for other processors, and see no more of one room
    "not processes and not kill and not elsewhere and not writable and not engine"
)
JOURNEYS = (
    "test_line",
    "test_graph",
    "test_measure",
    "test_drawing",
    "test_classifiers",
    "test_stale",
    "test_truths",
    "test_again",
    "test_models_change",
    "test_planning",
    "test_plan_advice",
    "test_report_of_classifiers",
)
ROOMS = {  # room: (how many mutations, what runs for it)
    "metrics": (
        8,
        ("tests/metrics", "tests/laws/test_metrics_catalogue.py", "tests/laws/test_measuring_laws.py"),
    ),
    "selection": (
        7,
        (
            "tests/selection",
            "tests/laws/test_selection.py",
            "tests/laws/test_selectors.py",
            "tests/laws/test_ties.py",
        ),
    ),
    "ranking": (
        8,
        (
            "tests/ranking",
            "tests/laws/test_ranking_laws.py",
            "tests/laws/test_rankings.py",
            "tests/journeys/test_own_ranking.py",
        ),
    ),
    "maps": (5, ("tests/maps", "tests/laws/test_runs.py", "tests/laws/test_counts.py")),
    "comparison": (
        4,
        (
            "tests/comparison",
            "tests/laws/test_concordance.py",
            "tests/laws/test_counts.py",
            "tests/laws/test_incremental.py",
        ),
    ),
    "labelling": (4, ("tests/labelling", "tests/laws/test_formats.py", "tests/journeys/test_own_format.py")),
    "verbs": (
        4,
        (
            "tests/laws/test_fill.py",
            "tests/laws/test_incremental.py",
            "tests/labelling",
            "tests/web",
            "tests/corpus",
            "tests/prediction",
            "tests/reporting/test_class_report.py",
            *(f"tests/journeys/{name}.py" for name in JOURNEYS),
        ),
    ),
}
COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "/",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}


@dataclass(frozen=True)
class Mutation:
    """Bytes ``start`` to ``end`` of a file, ``was``, become ``text``."""

    file: Path
    line: int
    start: int
    end: int
    was: str
    text: str
    kind: str


def mutations(file: Path) -> Iterator[Mutation]:
    """Yield what can be changed in a file, in its order."""
    source = file.read_bytes()
    starts = [0]
    for line in source.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))

    def place(node: ast.expr | ast.stmt) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return starts[node.lineno - 1] + node.col_offset, starts[node.end_lineno - 1] + node.end_col_offset

    def text_of(node: ast.expr | ast.stmt) -> str:
        return source[slice(*place(node))].decode()

    def between(left: ast.expr, right: ast.expr, word: str, kind: str) -> Mutation:
        start, end = place(left)[1], place(right)[0]
        inner = source[start:end]
        closing = inner[: len(inner) - len(inner.lstrip(b" )\n"))].decode()
        opening = inner[len(inner.rstrip(b" (\n")) :].decode()
        return Mutation(file, left.lineno, start, end, inner.decode(), f"{closing}{word}{opening}", kind)

    tree = ast.parse(source)
    left_alone = {
        inner
        for node in ast.walk(tree)
        for part in (
            [node.annotation]
            if isinstance(node, ast.AnnAssign | ast.arg) and node.annotation
            else (
                [node.returns]
                if isinstance(node, ast.FunctionDef) and node.returns
                else (
                    [node]
                    if isinstance(node, ast.Raise | ast.JoinedStr | ast.Import | ast.ImportFrom | ast.Assert)
                    else node.decorator_list
                    if isinstance(node, ast.FunctionDef | ast.ClassDef)
                    else []
                )
            )
        )
        for inner in ast.walk(part)
    }
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    inside = dict.fromkeys(
        inner for function in functions for inner in ast.walk(function) if inner not in left_alone
    )
    for node in inside:
        if (
            isinstance(node, ast.Compare)
            and len(node.ops) == 1
            and (word := COMPARISONS.get(type(node.ops[0])))
        ):
            yield between(node.left, node.comparators[0], word, "comparison")
        elif isinstance(node, ast.BinOp) and (word := OPERATORS.get(type(node.op))):
            if not any(
                isinstance(side, ast.Constant) and isinstance(side.value, str)
                for side in (node.left, node.right)
            ):
                yield between(node.left, node.right, word, "operator")
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
            yield Mutation(file, node.lineno, *place(node), text_of(node), repr(node.value + 1), "number")
        elif (
            isinstance(node, ast.AugAssign)
            or (isinstance(node, ast.If) and not node.orelse)
            or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call))
        ):
            yield Mutation(file, node.lineno, *place(node), text_of(node), "pass", "statement left out")


def chosen(seed: int) -> list[tuple[str, Mutation]]:
    """Draw the mutations: so many of each room, of one line at most one."""
    rng, out = random.Random(seed), []
    for room, (times, _) in ROOMS.items():
        files = sorted((ROOT / "src" / "faultscape" / room).rglob("*.py"))
        all_ = [one for file in files if file.stem != "__init__" for one in mutations(file)]
        out += [(room, one) for one in rng.sample(all_, times)]
    return out


def failing(room: str, files: list[Path], folder: Path) -> str:
    """Return the first test of a room, or example of these files, that fails in a copy as it stands; nothing
    where all pass.
    """
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--doctest-modules",
        "-q",
        "-x",
        "-p",
        "no:cacheprovider",
        "-k",
        FAST,
        *map(str, files),
        *ROOMS[room][1],
    ]
    about = {**os.environ, "PYTHONPATH": str(folder / "src")}
    try:
        done = subprocess.run(
            words, cwd=folder, env=about, capture_output=True, text=True, timeout=LONGEST, check=False
        )
    except subprocess.TimeoutExpired:
        return "it took too long"
    failed = [line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    return (failed or ["it did not run"])[0] if done.returncode else ""


def seen(room: str, mutation: Mutation, folder: Path) -> str:
    """Return the test that sees a mutation, or nothing."""
    relative = mutation.file.relative_to(ROOT)
    source = (folder / relative).read_bytes()
    changed = source[: mutation.start] + mutation.text.encode() + source[mutation.end :]
    compile(changed, str(relative), "exec")
    stamp = (folder / relative).stat()
    (folder / relative).write_bytes(changed)
    kernels = (folder / relative).parent / "__pycache__" if relative.parent.name == "kernels" else None
    if kernels is not None:  # numba's cache does not look at intrinsics, and would hide what changed there
        shutil.rmtree(kernels, ignore_errors=True)
    try:
        return failing(room, [relative], folder)
    finally:
        if kernels is not None:
            shutil.rmtree(kernels, ignore_errors=True)
        (folder / relative).write_bytes(source)
        os.utime(
            folder / relative, ns=(stamp.st_atime_ns, stamp.st_mtime_ns)
        )  # else its kernels would be compiled again


def main() -> None:
    """Make each mutation, and say about each whether it was seen."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=16)
    parser.add_argument("--only", default="", help="numbers of mutations, separated by commas")
    parser.add_argument("--list", action="store_true", help="say which they are, and run nothing")
    given = parser.parse_args()
    only = {int(number) for number in given.only.split(",") if number}
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        if not given.list:
            for name in ("src", "tests", "docs", "examples", "scripts"):
                shutil.copytree(ROOT / name, folder / name)
            for name in ("pyproject.toml", "README.md", "CONTRIBUTING.md", "constraints.txt"):
                shutil.copy(ROOT / name, folder / name)
        survivors, sound = 0, set[str]()
        for number, (room, mutation) in enumerate(chosen(given.seed)):
            if only and number not in only:
                continue
            what = (
                f"{number:>2} {mutation.file.relative_to(ROOT / 'src' / 'faultscape')}:{mutation.line}"
                f" {mutation.kind}: {' '.join(mutation.was.split())[:60]!r} -> {mutation.text.strip()!r}"
            )
            if given.list:
                print(what)
                continue
            if room not in sound and (
                red := failing(room, [], folder)
            ):  # else that test would see every mutation
                sys.exit(f"the tests of {room} must pass before anything is broken: {red}")
            sound.add(room)
            start = time.monotonic()
            by = seen(room, mutation, folder)
            survivors += not by
            print(f"{what}: {by or 'SURVIVED'} ({time.monotonic() - start:.0f} s)", flush=True)
        if not given.list:
            print(f"{survivors} survived")


if __name__ == "__main__":
    main()
