"""The page of errors: their tree, what each means, exit statuses, and where each is raised.

Conventions: read off ``errors.py``; messages are the texts that the code raises, with ``…`` where a value
stands, so that somebody who looks for what was printed finds it.
"""

from __future__ import annotations

import ast
from pathlib import Path

import public_names as public
from docstring_sections import plain_text_of

STATUSES = (
    ("0", "It worked. Also when whoever reads a pipe has seen enough."),
    ("1", "It ran, and the answer is no: ``label check`` found something to mend."),
    ("2", "A mistake that you can mend, in one line on standard error; nothing half done is left behind."),
    ("3", "It ran, and what you required is missed, or not known: ``reliability --require``."),
    ("130", "Interrupted with Ctrl-C. Run the same line again: finished work is kept."),
)
LEAST_WORDS = 4


def tree_of_errors() -> dict[str, ast.ClassDef]:
    """Return the classes of errors by name."""
    body = public.tree(public.PACKAGE / "errors.py").body
    return {n.name: n for n in body if isinstance(n, ast.ClassDef)}


def written(node: ast.expr) -> str:
    """Return a message as it reads, ``…`` for each value; '' for what is not text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(v.value if isinstance(v, ast.Constant) else "…" for v in node.values)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return written(node.left) + written(node.right)
    return ""


def messages(folder: Path = public.PACKAGE) -> dict[str, list[str]]:
    """Return {error: messages} of all that the package raises in words of its own."""
    found: dict[str, set[str]] = {}
    names = set(tree_of_errors())
    for file in sorted(folder.rglob("*.py")):
        for node in ast.walk(public.tree(file)):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in names
                and node.args
                and len((text := " ".join(written(node.args[0]).split())).split()) >= LEAST_WORDS
            ):
                found.setdefault(node.func.id, set()).add(text)
    return {name: sorted(texts, key=lambda t: t.lstrip("…").lower()) for name, texts in found.items()}


def literal(text: str) -> str:
    """Return a message as code on one line."""
    return f"``{text.replace('`', chr(39)).strip()}``"


def page() -> str:
    """Return the page as reStructuredText."""
    errors, said = tree_of_errors(), messages()
    rows = "\n".join(f"   * - ``{status}``\n     - {text}" for status, text in STATUSES)
    parts = [
        "Errors\n======",
        (
            "A mistake is one line: what was given, what was expected, what to do. On the command line it stands"
            " behind ``faultscape:`` on standard error. In Python it is an exception; catch"
            " :py:exc:`~faultscape.errors.FaultscapeError` to catch all of them. Any other exception is a"
            " bug; please report it."
        ),
        "Exit statuses\n-------------",
        f".. list-table::\n   :header-rows: 1\n   :widths: 15 85\n\n   * - status\n     - meaning\n{rows}",
        "The tree\n--------",
        branch("FaultscapeError", errors, 0),
        "Messages\n--------",
        "``…`` stands where a message holds a name or a number. Search this page for the words that you saw.",
    ]
    for name in errors:
        if name in said:
            listed = "\n".join(f"   - {literal(text)}" for text in said[name])
            number = f"{len(said[name])} message{'' if len(said[name]) == 1 else 's'}"
            parts.append(
                f"{name}\n{'~' * len(name)}\n\n{plain_text_of(errors[name])}\n\n"
                f".. dropdown:: {number}\n\n{listed}"
            )
    return "\n\n".join(parts)


def branch(name: str, errors: dict[str, ast.ClassDef], depth: int) -> str:
    """Return an error with those below it, as a nested list."""
    pad = "  " * depth
    below = [n for n, node in errors.items() if any(ast.unparse(b) == name for b in node.bases)]
    line = f"{pad}- :py:exc:`~faultscape.errors.{name}`: {plain_text_of(errors[name])}"
    return "\n\n".join([line, *(branch(n, errors, depth + 1) for n in below)])
