"""Sources as trees, each parsed once in a process."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def imports_of(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """The imports of a file, of functions too: of its statements alone, a twentieth of its nodes."""
    found: list[ast.AST] = [tree_of(path)]
    for node in found:  # which grows meanwhile
        for name in ("body", "orelse", "finalbody", "handlers", "cases"):
            inside = getattr(node, name, ())
            if isinstance(inside, list):  # that of a lambda is an expression
                found.extend(inside)
    return [node for node in found if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def nodes_of(path: Path) -> list[ast.AST]:
    """The nodes of a file, in the order of ast.walk."""
    return walked(tree_of(path))


def walked(tree: ast.AST) -> list[ast.AST]:
    """What ast.walk yields, in a third of its time: the trees of the package have two million nodes."""
    found = [tree]
    for node in found:  # which grows meanwhile
        for value in vars(node).values():
            if isinstance(value, ast.AST):
                found.append(value)
            elif type(value) is list:
                found.extend(each for each in value if isinstance(each, ast.AST))
    return found
