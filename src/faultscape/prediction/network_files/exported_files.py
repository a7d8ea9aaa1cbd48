"""Check that the file of an exported program (``.pt2``) holds only a graph and numbers, and nothing that
torch would run while reading it.

Conventions: torch does more than parse such a file: it unpickles objects, loads compiled libraries, evaluates
the text of symbolic sizes, looks up functions by dotted names, imports modules that structures name, and
writes names into the code of ``forward``. So a file is first inspected through torch's own archive reader:
members must belong to a graph, and its JSON is judged field by field (`problems`). Guards, which are
code, are never requested. Where torch's reader fails, torch reads the same bytes as an archive of an older
form by other means; such an archive is refused.

The fields are those of torch's own schema, followed as its reader follows them, so that each
text is judged by where it stands and not by what it is called (a tensor may bear the name of any field). A
text passes only where a rule for its field says what it may be; a field without a rule, or one that this
version of torch does not have, is named and refused. Structures of arguments and results are tuples, lists
and dicts with plain keys: torch imports modules that any other kind names.
"""

from __future__ import annotations

import ast
import dataclasses
import enum
import importlib.util
import json
import re
import types
import typing
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from typing import IO, Any

from faultscape.errors import ModelError, library_text

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
_VALUE = re.compile(r"\w*")  # names that are written into code
_ATTRIBUTE = re.compile(r"(?!__)[\w@-]*(\.(?!__)[\w@-]*)*")  # dotted names that are attributes of modules
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
_MOST_POWER = 16  # of a power in a size; SymPy would compute a tower of powers for ever
_INFINITE = ("Infinity", "-Infinity", "NaN")
_SEQUENCES = ("builtins.tuple", "builtins.list")
_DICTS = ("builtins.dict", "collections.OrderedDict")
_NODE_TEXTS = ("stack_trace", "nn_module_stack", "torch_fn", "custom", "from_node")

_MEMBER = re.compile(
    r"archive_format|archive_version|byteorder|\.data/[\w.-]+|models/[\w-]+\.json|data/(weights|constants|sample_inputs)/[\w.-]+|extra/[^\\]+"
)
_PICKLED = re.compile(r"(custom|opaque)_obj_", re.IGNORECASE)
_OLD = "version"  # the member by which torch knows an archive of the older form


def check(path: str, file: IO[bytes]) -> None:
    """Raise ModelError naming the first thing in an exported program, opened at its start, beyond a graph
    with its weights.
    """
    try:
        from torch.export.pt2_archive import PT2ArchiveReader
    except ImportError:
        raise ModelError(f"{path}: reading exported programs needs torch 2.9 or later") from None
    try:
        with PT2ArchiveReader(file) as archive:
            names = archive.get_file_names()
            unpacked = sum(map(archive.archive_file.get_record_size, names))
            whole = unpacked <= file.seek(0, 2)  # torch itself compresses nothing in it
            names = names if whole else []
            graphs = {name: archive.read_bytes(name) for name in names if name.startswith("models/")}
            configs = {name: archive.read_bytes(name) for name in names if name.endswith("_config.json")}
        with zipfile.ZipFile(file) as other:
            is_old = _OLD in other.namelist()
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: is not an exported program: {library_text(error, first_line=True, most=200)}"
        ) from None
    if not whole:
        raise ModelError(f"{path}: its members unpack to {unpacked:,} bytes, more than it has; it is forged")
    if is_old:
        raise ModelError(
            f"{path}: holds {_OLD!r}, as programs of torch before 2.8 do; save it again with"
            " torch.export.save"
        )
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
    if any(_PICKLED.search(config.decode("utf-8", "replace")) for config in configs.values()):
        raise ModelError(
            f"{path}: names an object that only unpickling could read; export the network without it"
        )
    documents = [(document, "ExportedProgram") for document in graphs.values()]
    documents += [(document, "PayloadConfig") for document in configs.values()]
    for document, kind in documents:
        for problem in problems(document, kind):
            raise ModelError(f"{path}: {problem}; only graphs of torch's own operators are run")


def problems(document: bytes, kind: str = "ExportedProgram") -> Iterator[str]:
    """Yield everything in the JSON of a graph, or of another kind of torch's schema, that torch would look
    up, evaluate, import or write into code, and that its field may not hold.
    """
    from torch._export.serde import schema

    try:
        yield from _within(getattr(schema, kind), json.loads(document.decode()), kind)
    except (ValueError, RecursionError):
        yield f"its {kind} is not JSON"


def _within(kind: Any, value: Any, field: str) -> Iterator[str]:
    """Yield the problems of a value that torch reads as a type of its schema; ``field`` is its place there,
    CLASS.FIELD.
    """
    held = typing.get_args(kind)
    if typing.get_origin(kind) in (typing.Union, types.UnionType):
        if value is not None:
            yield from _within(held[0], value, field)
    elif dataclasses.is_dataclass(kind) and isinstance(value, dict):
        yield from _within_class(kind, value)
    elif typing.get_origin(kind) is list and isinstance(value, list):
        for inner in value:
            yield from _within(held[0], inner, field)
    elif typing.get_origin(kind) is dict and isinstance(value, dict):
        for word, inner in value.items():
            yield from _problems_of_text(word, field)
            yield from _within(held[1], inner, field) if held[1] is not str else _words(word, inner, field)
    elif kind is str and isinstance(value, str):
        yield from _problems_of_text(value, field)
    elif not _is_number(kind, value):
        yield f"the field {field} holds {str(value)[:80]!r}"


def _within_class(kind: Any, value: dict[str, Any]) -> Iterator[str]:
    known = _fields(kind)
    for word, inner in value.items():
        if word not in known:
            yield f"has the field {kind.__name__}.{word[:80]}, which this version of torch does not know"
        else:
            yield from _within(known[word], inner, f"{kind.__name__}.{word}")
    if value.get("use_pickle") is True:
        name = value.get("path_name")
        yield f"needs PayloadMeta.use_pickle, since only unpickling could read the object {name!r}"


@cache
def _fields(kind: Any) -> dict[str, Any]:
    from torch._export.serde import schema

    return typing.get_type_hints(kind, globalns={**vars(schema)})


def _is_number(kind: Any, value: Any) -> bool:
    if kind is float:
        return value in _INFINITE if isinstance(value, str) else type(value) in (int, float)
    if kind is bool:
        return type(value) is bool
    return isinstance(kind, type) and issubclass(kind, int | enum.IntEnum) and type(value) is int


def _problems_of_text(text: str, field: str) -> Iterator[str]:
    rule = _RULES.get(field)
    if rule is None:
        yield f"the field {field} holds {text[:80]!r}, which is not understood"
    else:
        yield from rule(text, field)


def _words(key: str, text: Any, field: str) -> Iterator[str]:
    """Yield the problems of a text beside a node or a graph: torch looks up what ``source_fn_stack`` names,
    and keeps the others as they are.
    """
    if not isinstance(text, str):
        yield f"the field {field}.{key[:80]} holds {str(text)[:80]!r}"
    elif key == "source_fn_stack":
        for source in text.split(";"):
            if not _only_looked_up(source.rpartition(",")[2]):
                yield f"the field {field}.{key} looks up {source[:80]!r}"


def _only_looked_up(name: str) -> bool:
    """Whether torch, which looks up a dotted name from one of three modules on, would import nothing for
    it.
    """
    if not re.fullmatch(r"[\w.<>]+", name):
        return False
    if not name.startswith("torch") or _OPERATOR.fullmatch(name):
        return True
    import torch

    words = name.split(".")
    in_layers = name.startswith("torch.nn")
    place: Any = torch.nn if in_layers else torch
    words = words[2:] if in_layers else words[1:]
    for word in words:
        if not isinstance(place, types.ModuleType):
            break
        if type(place) is not types.ModuleType:  # makes what is asked of it
            return False
        if word not in vars(place):  # a package may import a part of it that is not loaded yet
            is_package = "__path__" in vars(place)
            return not importlib.util.find_spec(f"{place.__name__}.{word}") if is_package else True
        place = vars(place)[word]
    return True


def _plain(text: str, field: str) -> Iterator[str]:
    del text, field
    yield from ()


def _matches(pattern: re.Pattern[str]) -> Callable[[str, str], Iterator[str]]:
    def rule(text: str, field: str) -> Iterator[str]:
        if not pattern.fullmatch(text):
            yield f"has the name {text[:80]!r} in the field {field}"

    return rule


def _operator(text: str, field: str) -> Iterator[str]:
    del field
    if not _OPERATOR.fullmatch(text):
        yield f"calls {text[:80]!r}"


def _size(text: str, field: str) -> Iterator[str]:
    del field
    if not arithmetic(text):
        yield f"has the size {text[:80]!r}"


def _tree(text: str, field: str) -> Iterator[str]:
    try:
        version, tree = json.loads(text)
    except (ValueError, TypeError):
        version = None
        tree = None
    if version != 1 or not isinstance(tree, dict):
        yield f"the field {field} holds {text[:80]!r}, but a structure of arguments was expected"
        return
    # keys of arguments are written into code, those of results are not
    may_be_key = _VALUE.fullmatch if field.endswith("in_spec") else lambda _: True
    for kind in _odd_nodes(tree, may_be_key):
        yield (
            f"the field {field} nests values in {kind[:80]!r}; let the network take and return tuples, lists"
            " and dicts"
        )


def _odd_nodes(node: Any, may_be_key: Callable[[str], object]) -> Iterator[str]:
    """Yield what the nodes of a serialised tree say they are, unless that is a plain tuple, list or dict."""
    if not isinstance(node, dict) or node.keys() != {"type", "context", "children_spec"}:
        yield str(node)
        return
    kind = node["type"]
    context = node["context"]
    children = node["children_spec"]
    if not isinstance(children, list):
        yield str(children)
    elif kind is None and context is None and not children:
        return
    elif (kind in _SEQUENCES and context == "null") or (
        kind in _DICTS and _are_plain_keys(context, may_be_key)
    ):
        for child in children:
            yield from _odd_nodes(child, may_be_key)
    else:
        yield f"{kind} of {context}" if kind in (*_SEQUENCES, *_DICTS) else str(kind)


def _are_plain_keys(context: Any, may_be_key: Callable[[str], object]) -> bool:
    try:
        keys = json.loads(context)
    except (ValueError, TypeError):
        return False
    return isinstance(keys, list) and all(
        may_be_key(key) if isinstance(key, str) else key is None or isinstance(key, int | float)
        for key in keys
    )


def _one_of(*words: str) -> Callable[[str, str], Iterator[str]]:
    def rule(text: str, field: str) -> Iterator[str]:
        if text not in words:
            yield f"the field {field} holds {text[:80]!r}, which is not understood"

    return rule


# what the texts of a field may be, or the keys where it is a dict; the texts of Argument are passed to
# operators as they are, and guards are never asked for
_RULES: dict[str, Callable[[str, str], Iterator[str]]] = {
    "Node.target": _operator,
    "Argument.as_operator": _operator,
    "SymExpr.expr_str": _size,
    "ExportedProgram.range_constraints": _size,
    "ModuleCallSignature.in_spec": _tree,
    "ModuleCallSignature.out_spec": _tree,
    "Node.metadata": _one_of(*_NODE_TEXTS, "source_fn_stack"),
    "GraphModule.metadata": _one_of("custom"),
    **dict.fromkeys(
        (
            "Argument.as_string",
            "Argument.as_strings",
            "ConstantValue.as_string",
            "ExportedProgram.torch_version",
            "ExportedProgram.guards_code",
        ),
        _plain,
    ),
    **dict.fromkeys(
        (
            "Argument.as_string_to_argument",
            "Graph.sym_bool_values",
            "Graph.sym_float_values",
            "Graph.sym_int_values",
            "Graph.tensor_values",
            "GradientToUserInputSpec.user_input_name",
            "GraphArgument.name",
            "InputToConstantInputSpec.name",
            "ModuleCallSignature.forward_arg_names",
            "NamedArgument.name",
            "Node.name",
            "SymBoolArgument.as_name",
            "SymFloatArgument.as_name",
            "SymIntArgument.as_name",
            "TensorArgument.name",
            "TokenArgument.name",
            "UserInputMutationSpec.user_input_name",
        ),
        _matches(_VALUE),
    ),
    **dict.fromkeys(
        (
            "BufferMutationSpec.buffer_name",
            "Device.type",
            "ExportedProgram.opset_version",
            "ExportedProgram.verifiers",
            "GradientToParameterSpec.parameter_name",
            "InputToBufferSpec.buffer_name",
            "InputToParameterSpec.parameter_name",
            "InputToTensorConstantSpec.tensor_constant_name",
            "ModuleCallEntry.fqn",
            "ParameterMutationSpec.parameter_name",
            "PayloadConfig.config",
            "PayloadMeta.path_name",
        ),
        _matches(_ATTRIBUTE),
    ),
}


def arithmetic(text: str) -> bool:
    r"""Whether a text is arithmetic on numbers and plain names, with functions that begin with a capital, as
    SymPy writes it; quoted words may only name symbols.

    >>> (
    ...     arithmetic("16*FloorDiv(Symbol('s0', integer=True) - 1, 2) + Max(1, u0)"),
    ...     arithmetic("__import__('os')"),
    ...     arithmetic("s0.real"),
    ...     arithmetic("S('exit()')"),
    ...     arithmetic("Max(1,\n2)"),
    ...     arithmetic("s0**s1 + 1") or arithmetic("(s0**2)**2"),
    ... )
    (True, False, False, False, False, False)
    """
    if not (text.isascii() and text.isprintable()) or "#" in text:  # SymPy removes the ends of lines
        return False
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
    return not any(_is_costly(node) for node in ast.walk(tree))


def _is_costly(node: ast.AST) -> bool:
    """Whether a part of a size is a power or shift that is not by a small number, or of another power."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Pow | ast.LShift):
        of = [node.left, node.right]
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and _is_power(node.func.id):
        of = [*node.args, *(word.value for word in node.keywords)]
    else:
        return False
    by = of[-1].value if len(of) == 2 and isinstance(of[-1], ast.Constant) else None
    if not isinstance(by, int) or not 0 <= by <= _MOST_POWER:
        return True
    return any(
        (isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow | ast.LShift))
        or (isinstance(inner, ast.Name) and _is_power(inner.id))
        for inner in ast.walk(of[0])
    )


def _is_power(name: str) -> bool:
    return bool(re.search("pow|shift|exp|factorial", name, re.IGNORECASE))
