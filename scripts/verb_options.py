"""Write src/faultscape/verbs/options.pyi: the options of each verb, as type checkers see it, read off the signatures.

A test holds the file equal to what this script writes.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from pathlib import Path

import faultscape
from faultscape.verbs.verb_list import LINES, signature_of, title_of

STUB = Path(faultscape.__file__).parent / "verbs" / "options.pyi"
WIDEST = 110  # columns of a line
HEAD = """\
# The options of each verb, as their work takes them; written by scripts/verb_options.py from the signatures.

from dataclasses import dataclass
"""


def taken(kind: str, *, many: bool) -> str:
    """Return the kind of an option as its work takes it, from its annotation in the signature.

    >>> taken("list[str] | None", many=False), taken("Place | None", many=False), taken("Source", many=True)
    ('tuple[str, ...]', 'str | None', 'tuple[Source, ...]')
    """
    if many:
        return f"tuple[{taken(kind, many=False)}, ...]"
    if found := re.match(r"(?:str \| )?list\[(.*)\]", kind):
        return f"tuple[{found[1]}, ...]"
    return re.sub(r"\b(PlaceOrMaps|Place|LabelMeanings|Size)\b", "str", kind)


def names_in(file: Path, module: str) -> dict[str, str]:
    """Return {name: its module} of what the file of a module imports, and of its own classes."""
    nodes = [*ast.walk(ast.parse(file.read_text(encoding="utf-8")))]
    imported = [node for node in nodes if isinstance(node, ast.ImportFrom)]
    own = {node.name: module for node in nodes if isinstance(node, ast.ClassDef)}
    return {alias.name: node.module or "" for node in imported for alias in node.names} | own


def _lines(imports: set[tuple[str, str]]) -> list[str]:
    lines = list[str]()
    for module in sorted({module for module, _ in imports}):
        names = sorted(name for of, name in imports if of == module)
        line = f"from {module} import {', '.join(names)}"
        fits = len(line) <= WIDEST
        lines += [line] if fits else [f"from {module} import (", *(f"    {name}," for name in names), ")"]
    return lines


def stub() -> str:
    """Return the text of the stub."""
    imports = {("faultscape.verbs.verb", "Options")}
    classes = list[str]()
    for words in LINES:
        function = inspect.unwrap(signature_of(words))
        if not hasattr(signature_of(words), "changes_nothing"):
            continue
        known = names_in(Path(inspect.getfile(function)), function.__module__)
        lines = ["@dataclass(frozen=True, kw_only=True)", f"class {title_of(words)}(Options):"]
        for name, parameter in inspect.signature(function).parameters.items():
            many = parameter.kind is inspect.Parameter.VAR_POSITIONAL
            kind = taken(str(parameter.annotation), many=many)
            needed = parameter.default is inspect.Parameter.empty and not many
            lines.append(f"    {name}: {kind}{'' if needed else ' = ...'}")
            imports |= {(known[word], word) for word in re.findall(r"\w+", kind) if word in known}
        classes.append("\n".join(lines))
    return "\n".join([HEAD, *_lines(imports), "", "\n\n".join(classes), ""])


if __name__ == "__main__":
    if sys.argv[1:] == ["--print"]:
        sys.stdout.write(stub())
    else:
        STUB.write_text(stub(), encoding="utf-8")
