"""Archives of networks that would run something when they are read, made by code, each in another way: what
they run is a module that leaves a mark, and nothing else.

Conventions: a change is given to `torch_networks.forged`: {member: bytes, or what changes its JSON}. The
module is `MARK`; where it is imported, a file of that name appears in its folder.
"""

from __future__ import annotations

import io
import json
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

MARK = "left_beside_the_network"
MODEL = "models/model.json"
Change = dict[str, bytes | Callable[[Any], None]]


def module_beside(folder: Path) -> Path:
    """Write a module that leaves a mark where it is imported, and return the mark."""
    mark = folder / "imported"
    (folder / f"{MARK}.py").write_text(
        f"import enum\nimport pathlib\npathlib.Path({str(mark)!r}).touch()\n"
        "class Choice(enum.Enum):\n    one = 1\n"
    )
    return mark


def _tree(type_: str | None, context: Any, *children: dict[str, Any]) -> dict[str, Any]:
    return {"type": type_, "context": context, "children_spec": [*children]}


_LEAF = _tree(None, None)
HOSTILE_TREES = {
    "factory": _tree(
        "collections.defaultdict",
        {"default_factory_module": MARK, "default_factory_name": "Choice", "dict_context": ["out"]},
        _LEAF,
    ),
    "enum": _tree(
        "builtins.dict", json.dumps([{"__enum__": True, "fqn": f"{MARK}:Choice", "name": "one"}]), _LEAF
    ),
    "enum within": _tree(
        "builtins.tuple", json.dumps({"__enum__": True, "fqn": f"{MARK}:Choice", "name": "one"}), _LEAF
    ),
    "deque": _tree("collections.deque", "1", _LEAF),
    "named tuple": _tree("collections.namedtuple", "mine.Pair", _LEAF),
    "class of a library": _tree("transformers.modeling_outputs.SemanticSegmenterOutput", '["logits"]', _LEAF),
}
IMPORTING = ("factory", "enum", "enum within")


def with_tree(tree: dict[str, Any], field: str = "out_spec", *, deep: bool = False) -> Change:
    """Give the result (or the arguments) of a program another structure."""
    for _ in range(3 if deep else 0):
        tree = _tree("builtins.tuple", "null", tree)

    def change(whole: Any) -> None:
        signature = whole["graph_module"]["module_call_graph"][0]["signature"]
        signature[field] = json.dumps([1, tree])

    return {MODEL: change}


def with_keyword(name: str) -> Change:
    """Let the only argument of a program be a keyword with this name."""
    arguments = _tree("builtins.tuple", "null")
    tree = _tree("builtins.tuple", "null", arguments, _tree("builtins.dict", json.dumps([name]), _LEAF))

    def change(whole: Any) -> None:
        signature = whole["graph_module"]["module_call_graph"][0]["signature"]
        signature["in_spec"], signature["forward_arg_names"] = json.dumps([1, tree]), None

    return {MODEL: change}


def called(name: str, code: str) -> Change:
    """Call a tensor by a name that is also one of a field, and write code where its size stands."""

    def change(whole: Any) -> None:
        text = json.dumps(whole["graph_module"]).replace('"relu"', json.dumps(name))
        whole["graph_module"] = json.loads(text)
        sizes = whole["graph_module"]["graph"]["tensor_values"][name]["sizes"]
        next(size for size in sizes if "as_expr" in size)["as_expr"]["expr_str"] = code

    return {MODEL: change}


def _in(*path: str | int) -> Callable[[Any], Callable[[Any], None]]:
    def set_to(value: Any) -> Callable[[Any], None]:
        def change(whole: Any) -> None:
            for step in path[:-1]:
                whole = whole[step]
            whole[path[-1]] = value

        return change

    return set_to


_NODE, _ENTRY = ("graph_module", "graph", "nodes", 0), ("graph_module", "module_call_graph", 0)
_SIGNATURE = ("graph_module", "signature")
NOT_UNDERSTOOD: dict[str, tuple[Change, str]] = {
    "field of another version": ({MODEL: _in("callbacks")(["x"])}, "the field ExportedProgram.callbacks"),
    "field of a node": ({MODEL: _in(*_NODE, "hook")("x")}, "the field Node.hook"),
    "kind of argument": (
        {MODEL: _in(*_NODE, "inputs", 0, "arg")({"as_code": "x"})},
        "the field Argument.as_code",
    ),
    "object of a library": (
        {MODEL: _in("graph_module", "graph", "custom_obj_values")({"o": {"name": "o", "class_fqn": "a.B"}})},
        "Graph.custom_obj_values",
    ),
    "named tuples": (
        {MODEL: _in("graph_module", "treespec_namedtuple_fields")({"a.B": {"field_names": ["x"]}})},
        "GraphModule.treespec_namedtuple_fields",
    ),
    "text for a number": ({MODEL: _in("schema_version", "minor")("7")}, "SchemaVersion.minor"),
    "list for a text": ({MODEL: _in(*_NODE, "target")([])}, "Node.target"),
    "words of a node": ({MODEL: _in(*_NODE, "metadata", "run")("x")}, "Node.metadata"),
    "words of the program": ({MODEL: _in("graph_module", "metadata")({"run": "x"})}, "GraphModule.metadata"),
    "function that is looked up": (
        {MODEL: _in(*_NODE, "metadata", "source_fn_stack")("a,torch.utils.tensorboard.SummaryWriter")},
        "Node.metadata",
    ),
    "handler of an extension": (
        {MODEL: _in(*_NODE, "metadata", "source_fn_stack")("a,#mine:thing")},
        "Node.metadata",
    ),
    "name of a node": ({MODEL: _in(*_NODE, "name")("torch.load")}, "Node.name"),
    "name of an argument": (
        {MODEL: _in(*_ENTRY, "signature", "forward_arg_names")(["image=1"])},
        "ModuleCallSignature.forward_arg_names",
    ),
    "attribute of a class": (
        {MODEL: _in(*_SIGNATURE, "input_specs", 0, "parameter", "parameter_name")("__class__.forward")},
        "InputToParameterSpec.parameter_name",
    ),
    "protocol of a tree": (
        {MODEL: _in(*_ENTRY, "signature", "in_spec")('[2, {"type": null}]')},
        "ModuleCallSignature.in_spec",
    ),
    "name of weights": (
        {"data/weights/model_weights_config.json": _in("config", "__class__.forward")(None)},
        "PayloadConfig.config",
    ),
    "pickled weight": (
        {
            "data/weights/model_weights_config.json": lambda config: config["config"]["head.bias"].update(
                use_pickle=True
            )
        },
        "PayloadMeta.use_pickle",
    ),
}


def two_directories(clean: Path, beside: dict[str, bytes], to: Path) -> Path:
    """Write an archive that has two tables of contents: readers that trust the place written at its end find
    the clean one, readers that count back from the end find the other.
    """
    stream = io.BytesIO()
    with zipfile.ZipFile(clean) as before, zipfile.ZipFile(stream, "w") as first:
        for name in before.namelist():
            first.writestr(name, before.read(name))
        root = before.namelist()[0].partition("/")[0]
        first.writestr(f"{root}/extra/padding", b" " * sum(map(len, beside.values())) + b" " * 4096)
        number = len(first.namelist())
    second = io.BytesIO()
    with zipfile.ZipFile(second, "w") as other:
        for name, data in beside.items():
            other.writestr(name, data)
        for k in range(number - len(beside)):
            other.writestr(f"other{k}", b"")
    bodies, tables = [], []
    for held in (stream.getvalue(), second.getvalue()):
        size, at = struct.unpack("<II", held[-22:][12:20])
        bodies.append(held[:at])
        tables.append(held[at : at + size])
    longest = max(map(len, tables))
    tables = [_padded(table, longest) for table in tables]
    moved = len(bodies[0]) - len(bodies[1])
    tables[1] = _moved(tables[1], moved)
    end = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, number, number, longest, len(bodies[0]), 0)
    to.write_bytes(bodies[0] + tables[0] + bodies[1] + tables[1] + end)
    return to


def _entries(table: bytes) -> list[bytes]:
    found, at = [], 0
    while at < len(table):
        size = 46 + sum(struct.unpack("<HHH", table[at + 28 : at + 34]))
        found.append(table[at : at + size])
        at += size
    return found


def _padded(table: bytes, size: int) -> bytes:
    """Lengthen the comment of the last entry."""
    *rest, last = _entries(table)
    more = size - len(table)
    comment = struct.unpack("<H", last[32:34])[0] + more
    return b"".join([*rest, last[:32] + struct.pack("<H", comment) + last[34:] + b" " * more])


def _moved(table: bytes, by: int) -> bytes:
    return b"".join(
        entry[:42] + struct.pack("<I", struct.unpack("<I", entry[42:46])[0] + by) + entry[46:]
        for entry in _entries(table)
    )


def pickle_of(module: str, name: str) -> bytes:
    """Return a pickle that names a global and makes an object of it."""
    return b"\x80\x02c" + f"{module}\n{name}\n".encode() + b")\x81."


def _wide(number: int, bits: int) -> bytes:
    """A number of protocol buffers in five bytes, with bits beyond the 32 that readers keep."""
    groups = [number >> 7 * k & 127 for k in range(4)]
    return bytes([*(group | 128 for group in groups), number >> 28 | bits])


_GROUP, _GROUP_END = _wide(100 << 3 | 3, 0), _wide(100 << 3 | 4, 0)
_WITHIN_GROUP = b"\x08\x96\x01\x13\x14\x1a\x02hi\x25abcd"
_ELSEWHERE = b"\x70\x01"  # the field of a tensor that says that its data is in another file


def _with_every_tensor(data: bytes, more: bytes) -> bytes:
    """Add a field to every tensor of an ONNX file."""
    import onnx

    model = onnx.load_model_from_string(data)
    for tensor in model.graph.initializer:
        tensor.MergeFromString(more)
    return model.SerializeToString()


def _narrow_to_wide(data: bytes) -> bytes:
    """Say of the first tensor that its data is elsewhere with a number of more than 32 bits."""
    import onnx

    model = onnx.load_model_from_string(data)
    plain = model.graph.initializer[0].SerializeToString()
    assert plain.count(_ELSEWHERE) == 1
    other = plain.replace(_ELSEWHERE, b"\x70" + _wide(1, 16))
    del model.graph.initializer[0]
    whole = model.graph.SerializeToString() + b"\x2a" + _length(other) + other
    model.ClearField("graph")
    return model.SerializeToString() + b"\x3a" + _length(whole) + whole


def _wide_key(data: bytes) -> bytes:
    """Write the key of the graph with more than 32 bits."""
    import onnx

    model = onnx.load_model_from_string(data)
    whole = model.graph.SerializeToString()
    model.ClearField("graph")
    return model.SerializeToString() + _wide(0x3A, 16) + _length(whole) + whole


def _length(data: bytes) -> bytes:
    out, left = b"", len(data)
    while left > 127:
        out += bytes([left & 127 | 128])
        left >>= 7
    return out + bytes([left])


# forms of an ONNX file whose weights are in another file, all of which readers accept
HIDDEN_WEIGHTS: dict[str, Callable[[bytes], bytes]] = {
    "group of fields": lambda data: data + _GROUP + _WITHIN_GROUP + _GROUP_END,
    "name that is no text": lambda data: _with_every_tensor(
        data, b"\x6a\x0f\x0a\x08checksum\x12\x03\xff\xfe\xfd"
    ),
    "number of many bits": _narrow_to_wide,
    "key of many bits": _wide_key,
}
