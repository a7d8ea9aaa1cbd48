"""Check that the code of a TorchScript file calls only operators that compute, and that its pickles make only
tensors, plain values and objects of this code, before torch loads any of it.

Conventions: torch runs parts of such a file while it loads it (default arguments, constants of classes,
``__setstate__``), and an operator of its language writes files. So the code is first inspected as text,
through torch's own archive reader. Only the form that torch itself writes is accepted (ASCII without
comments, strings in double quotes on one line, no adjacent strings); in this form every operator appears by
name, after a dot or as the last argument of ``getattr``. Its pickles are read by torch's own reader, which
makes objects of the classes that they name, also of those that are compiled into torch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from itertools import pairwise
from pickletools import genops

from faultscape.errors import ModelError
from faultscape.prediction.network_files.exported_files import EFFECTS, NAMESPACES

_TOKEN = re.compile(r'[ \n]+|("(?:[^"\\\n]|\\[^\n])*"|\w+|[!$%&()*+,\-./:;<=>?@\[\]^`{|}~])', re.ASCII)
_CLASSES = ("profiler", "quantized", "rnn")  # torch's own C++ classes that ordinary networks use
_GLOBAL = re.compile(
    r"torch \w+|torch\._utils _rebuild_\w+|torch\._tensor _rebuild_from_type_v2"
    r"|torch\.jit\._pickle (build_\w+|restore_type_tag)|builtins complex|collections OrderedDict",
    re.ASCII,
)
_OF_CODE = re.compile(r"__torch__(\.\w+)* \w+", re.ASCII)
_OTHER_GLOBALS = ("INST", "STACK_GLOBAL", "EXT1", "EXT2", "EXT4")
_UNPACKED = 1 << 28  # bytes by which the code of a network may exceed its archive


def check(path: str) -> None:
    """Raise ModelError naming the first thing in the code of a TorchScript file that does more than compute;
    other errors come from torch's reader.
    """
    import torch

    archive = torch._C.PyTorchFileReader(path)  # noqa: SLF001 - the reader that torch.jit.load itself uses; there is no public one
    names = archive.get_all_records()
    if any(name.lower() == "model.json" for name in names):
        raise ModelError(
            f"{path}: is written as torch did before 1.1; load it there, and save it with torch.jit.save of a"
            " later one"
        )
    unpacked = sum(map(archive.get_record_size, names))
    if unpacked > os.path.getsize(path) + _UNPACKED:
        raise ModelError(
            f"{path}: its members unpack to {unpacked:,} bytes, far more than it has; it is forged"
        )
    for name in names:
        if name.lower().endswith(".py"):
            for problem in problems(archive.get_record(name)):
                raise ModelError(f"{path}: its code {problem}; only operators of torch that compute are run")
        elif name.lower().endswith("pkl"):
            for problem in problems_of_pickle(archive.get_record(name)):
                raise ModelError(
                    f"{path}: its {name} {problem}; only tensors, plain values and objects of its own code"
                    " are read"
                )


def problems(code: bytes) -> Iterator[str]:
    r"""Yield each operator in code that does more than compute, or that hides its name.

    >>> list(
    ...     problems(b"def forward(self, x: Tensor) -> Tensor:\n  return ops.quantized.relu6(torch.relu(x))")
    ... )
    []
    >>> (
    ...     list(problems(b'torch.save(x, "file")')),
    ...     list(problems(b'getattr(torch, "sa" "ve")(x, "file")')),
    ...     list(problems(b"ops.mine.run(x)")),
    ... )
    (["calls 'save'"], ['holds strings beside each other'], ["calls operators of 'mine'"])
    """
    words: list[str] = []
    at = 0
    text = code.decode("latin-1")
    while at < len(text):
        token = _TOKEN.match(text, at)
        if token is None:
            yield f"is not as torch writes it, at {text[at : at + 20]!r}"
            return
        at = token.end()
        words += [token[1]] if token[1] else []
    if any(one[0] == '"' == other[0] for one, other in pairwise(words)):
        yield "holds strings beside each other"
        return
    count = len(words)
    words += [""] * 7  # padding, so that the words after any word can be read
    for place, word in enumerate(words[:count]):
        before = words[place - 1]
        after = words[place + 1]
        if word in EFFECTS and before == ".":
            yield f"calls {word!r}"
        elif word == "getattr":
            name = _named(words, place)
            if not re.fullmatch(r'"[\w.-]+"', name) or name[1:-1] in EFFECTS:
                yield f"asks for {name[:80]!r} by getattr"
        elif (
            word == "ops"
            and before != "."
            and after != ":"
            and not (after == "." and words[place + 2] in NAMESPACES)
        ):
            yield f"calls operators of {words[place + 2]!r}"
        elif word == "__torch__" and not _plain(words[place + 1 : place + 7]):
            yield f"uses the class {''.join(words[place : place + 7])!r}"


def problems_of_pickle(data: bytes) -> Iterator[str]:
    r"""Yield each name in a pickle that is neither of torch's readers of tensors nor a class of the file.

    >>> (
    ...     list(problems_of_pickle(b"\x80\x02c__torch__.nets\nSmall\n)\x81.")),
    ...     list(problems_of_pickle(b"\x80\x02cnowhere\nMade\n)\x81.")),
    ... )
    ([], ["names 'nowhere Made'"])
    """
    try:
        for operation, argument, _ in genops(data):
            if operation.name in _OTHER_GLOBALS:
                yield f"holds {operation.name}"
            elif operation.name == "GLOBAL" and not _may_be_named(str(argument)):
                yield f"names {str(argument)[:80]!r}"
    except (ValueError, UnicodeDecodeError):
        yield "is not as torch writes it"


def _may_be_named(name: str) -> bool:
    words = re.findall(r"\.|\w+", name.replace(" ", ".").removeprefix("__torch__")) + [""] * 6
    return bool(_GLOBAL.fullmatch(name) or (_OF_CODE.fullmatch(name) and _plain(words[:6])))


def _named(words: list[str], place: int) -> str:
    """Return the string that ends the arguments of the call at a place, or '' unless it is a single string
    after a comma.
    """
    depth = 0
    for at in range(place + 1, len(words)):
        depth += (words[at] in "([{") - (words[at] in ")]}") if words[at] else 0
        if depth <= 0:
            return words[at - 1] if words[at] == ")" and words[at - 2] == "," else ""
    return ""


def _plain(after: list[str]) -> bool:
    """Whether the words after ``__torch__`` name, in full, a class of the file or one of torch's that
    ordinary networks use.
    """
    if after[0] != "." or (after[1] == "torch" and after[2] != "."):
        return False
    return after[1:4] != ["torch", ".", "classes"] or (after[4] == "." and after[5] in _CLASSES)
