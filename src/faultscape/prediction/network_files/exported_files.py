"""Check that the file of an exported program (``.pt2``) holds only a graph and numbers, and nothing that
torch would run while reading it.

Conventions: torch does more than parse such a file: it unpickles objects, loads compiled libraries, evaluates
the text of symbolic sizes, looks up functions by dotted names, and writes names into the code of ``forward``.
So a file is first inspected through torch's own archive reader: members must belong to a graph, sizes must be
arithmetic, functions must be operators that only compute (not those that write files), and names must be
names. Anything else is refused; guards, which are code, are never requested.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any

from faultscape.errors import ModelError, library_text

_MEMBER = re.compile(
    r"archive_format|archive_version|byteorder|\.data/[\w.-]+|models/[\w-]+\.json|data/(weights|constants|sample_inputs)/[\w.-]+|extra/[^\\]+"
)
_PICKLED = re.compile(r"(custom|opaque)_obj_", re.IGNORECASE)
# namespaces whose operators only compute
NAMESPACES = ("aten", "prim", "prims", "quantized", "quantized_decomposed", "profiler", "torchvision")
# the exceptions in them that do more
EFFECTS = ("save", "from_file", "PythonOp", "IgnoredPythonOp", "rpc_async", "rpc_remote", "rpc_sync")
_FLOW = (
    "cond|while_loop|scan|associative_scan|map_impl|wrap_with_set_grad_enabled|wrap_with_autocast"
    "|flex_attention"
)
_OPERATOR = re.compile(
    rf"torch\.ops\.({'|'.join(NAMESPACES)})\.(?!__|({'|'.join(EFFECTS)})(\.|$))\w+(\.(?!__)\w+)?|torch\.ops\.higher_order\.({_FLOW})"
    r"|torch\.ops\.aten\.__i?(and|or|xor|lshift|rshift)__\.\w+|torch\.sym_\w+|math\.[a-z]\w*"
    r"|_operator\.(add|sub|mul|matmul|truediv|floordiv|mod|pow|neg|pos|abs|eq|ne|lt|le|gt|ge|and_|or_|xor|not_|invert|lshift|rshift|getitem|index)"
)
_NAME = re.compile(r"[\w.\-]*")
# fields read as text or JSON, or not at all
_TEXT = ("metadata", "in_spec", "out_spec", "torch_version", "as_string", "as_strings", "guards_code")
_ARITHMETIC = (
    ast.Expression,
    ast.BinOp,
    ast.UnaryOp,
    ast.BoolOp,
    ast.Compare,
    ast.Name,
    ast.keyword,
    ast.operator,
    ast.unaryop,
    ast.boolop,
    ast.cmpop,
    ast.expr_context,
)


def check(path: str) -> None:
    """Raise ModelError naming the first thing in an exported program beyond a graph with its weights."""
    try:
        from torch.export.pt2_archive import PT2ArchiveReader
    except ImportError:
        raise ModelError(f"{path}: reading exported programs needs torch 2.9 or later") from None
    try:
        with PT2ArchiveReader(path) as archive:
            names = archive.get_file_names()
            graphs = {name: archive.read_bytes(name) for name in names if name.startswith("models/")}
            configs = [archive.read_bytes(name) for name in names if name.endswith("_config.json")]
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: is not an exported program: {library_text(error, first_line=True, most=200)}"
        ) from None
    if not graphs:
        raise ModelError(f"{path}: contains no exported program; save one with torch.export.save")
    for name in names:
        if _PICKLED.search(name):
            raise ModelError(
                f"{path}: holds the object {name!r}, which only unpickling could read; export the network"
                " without it"
            )
        if not _MEMBER.fullmatch(name) or ".." in name:
            raise ModelError(
                f"{path}: holds {name!r}, which is not part of a graph with its weights; save it with"
                " torch.export.save alone"
            )
    if len({name.lower() for name in names}) < len(names):
        raise ModelError(f"{path}: contains two members with the same name; it is damaged or forged")
    if any(_PICKLED.search(config.decode("utf-8", "replace")) for config in configs):
        raise ModelError(
            f"{path}: names an object that only unpickling could read; export the network without it"
        )
    for graph in graphs.values():
        for problem in problems(graph):
            raise ModelError(f"{path}: {problem}; only graphs of torch's own operators are run")


def problems(graph: bytes) -> Iterator[str]:
    """Yield everything in the JSON of a graph that torch would evaluate, call or write into code and that is
    neither arithmetic, an operator nor a name.

    >>> list(problems(b'{"target": "torch.ops.aten.relu.default", "expr_str": "2*s0 + 1", "name": "relu"}'))
    []
    >>> (
    ...     list(problems(b'{"target": "torch.os.system"}')),
    ...     list(problems(b'{"target": "torch.ops.aten.from_file.default"}')),
    ... )
    (["calls 'torch.os.system'"], ["calls 'torch.ops.aten.from_file.default'"])
    """
    try:
        yield from _within(json.loads(graph), "")
    except (ValueError, RecursionError):
        yield "its graph is not JSON"


def _within(value: Any, key: str) -> Iterator[str]:
    if key in _TEXT:
        return
    if isinstance(value, dict):
        for word, inner in value.items():
            if not (arithmetic(word) if key == "range_constraints" else _NAME.fullmatch(word)):
                yield f"has the name {word[:80]!r}"
            yield from _within(inner, word)
    elif isinstance(value, list):
        for inner in value:
            yield from _within(inner, key)
    elif isinstance(value, str):
        if key == "expr_str":
            if not arithmetic(value):
                yield f"has the size {value[:80]!r}"
        elif key in ("target", "as_operator"):
            if not _OPERATOR.fullmatch(value):
                yield f"calls {value[:80]!r}"
        elif not _NAME.fullmatch(value):
            yield f"has the name {value[:80]!r}"


def arithmetic(text: str) -> bool:
    """Whether a text is arithmetic on numbers and plain names, with functions that begin with a capital, as
    SymPy writes it; quoted words may only name symbols.

    >>> (
    ...     arithmetic("16*FloorDiv(Symbol('s0', integer=True) - 1, 2) + Max(1, u0)"),
    ...     arithmetic("__import__('os')"),
    ...     arithmetic("s0.real"),
    ...     arithmetic("S('exit()')"),
    ... )
    (True, False, False, False)
    """
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    quoted: set[int] = set()
    for node in ast.walk(tree):  # outer nodes come before inner ones
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or not node.func.id[0].isupper():
                return False
            if node.func.id in ("Symbol", "Float"):
                quoted |= {id(word) for word in node.args}
        elif isinstance(node, ast.Constant):
            plain = (
                isinstance(node.value, str) and id(node) in quoted and re.fullmatch(r"[\w.+-]*", node.value)
            )
            if not (plain or isinstance(node.value, int | float)):
                return False
        elif not isinstance(node, _ARITHMETIC) or (isinstance(node, ast.Name) and "__" in node.id):
            return False
    return True
