"""The public names of the package, read off its stubs and files: nothing of it is imported, so that the
reference needs neither torch nor any other library that a room loads when it is used.

Conventions: a room is a folder with a stub (``__init__.pyi``), whose lines say which file each name comes
from; a module that is public itself offers all that it defines without a leading underscore.
"""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "src" / "faultscape"
# verbs and their options have pages of their own, and so have the files of a study
NO_ROOMS = ("verbs", "options", "study")


@dataclass(frozen=True)
class Name:
    """A public name: how a user writes it (``metrics.miou``), the file that defines it, and its definition
    there.
    """

    written: str
    file: Path
    node: ast.stmt

    @property
    def last(self) -> str:
        """Its last part."""
        return self.written.rpartition(".")[2]


@cache
def tree(file: Path) -> ast.Module:
    """Return the parsed text of a file."""
    return ast.parse(file.read_text(encoding="utf-8"))


@cache
def docstrings_around(file: Path) -> tuple[str, ...]:
    """Return the docstrings of a file and of the folders above it within its room, the nearest first."""
    above = [folder / "__init__.py" for folder in file.parents if PACKAGE in folder.parents]
    return tuple(ast.get_docstring(tree(f)) or "" for f in dict.fromkeys((file, *above)) if f.exists())


@cache
def comments(file: Path) -> dict[int, str]:
    """Return the comments of a file that stand behind code, by line."""
    with file.open("rb") as opened:
        tokens = [t for t in tokenize.tokenize(opened.readline) if t.type == tokenize.COMMENT]
    behind = [t for t in tokens if t.line[: t.start[1]].strip()]
    return {
        t.start[0]: t.string.lstrip("# ") for t in behind if not t.string.startswith(("# type:", "# noqa"))
    }


def module_file(where: Path, dotted: str) -> Path:
    """Return the file of a module that is named from a folder on: ``methods.borda``, or ''."""
    path = where.joinpath(*dotted.split(".")) if dotted else where
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


def defined(file: Path, name: str) -> tuple[Path, ast.stmt] | None:
    """Return where a name of a file is defined, through its imports, and how; None for a module."""
    for node in reversed(tree(file).body):  # of overloads the last is the function itself
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name == name:
            return file, node
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Name) and t.id == name for t in targets):
                return file, node
        if isinstance(node, ast.ImportFrom) and any((a.asname or a.name) == name for a in node.names):
            (source,) = (a.name for a in node.names if (a.asname or a.name) == name)
            if not node.level and (node.module or "").partition(".")[0] != "faultscape":
                return None  # another library's
            inner = (node.module or "").removeprefix("faultscape").lstrip(".")
            found = defined(module_file(PACKAGE if not node.level else file.parent, inner), source)
            if found:
                return found
    made = file.with_suffix(".pyi")  # of functions that a file makes, its stub holds what they are
    return defined(made, name) if made != file and file.stem != "__init__" and made.exists() else None


def of_module(written: str, file: Path) -> list[Name]:
    """Return the functions and classes that a public module defines."""
    return [
        Name(f"{written}.{node.name}", file, node)
        for node in tree(file).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_")
    ]


def imported(stub: Path) -> list[tuple[str, str]]:
    """Return (module, name) of each line of a stub; '' for the stub's own folder."""
    return [
        (node.module or "", alias.name)
        for node in ast.parse(stub.read_text(encoding="utf-8")).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    ]


def of_stub(prefix: str, folder: Path) -> list[Name]:
    """Return the public names of a room."""
    found = []
    for module, name in imported(folder / "__init__.pyi"):
        file = module_file(folder, module)
        definition = None if not module else defined(file, name)
        if definition:
            found.append(Name(f"{prefix}{name}", *definition))
        else:
            inside = module_file(folder, f"{module}.{name}".lstrip("."))
            has_stub = inside.name == "__init__.py" and inside.with_suffix(".pyi").exists()
            if inside.name == "__init__.py" and not has_stub:  # a shelf of what other files define
                shelf = [(inner, defined(inside, inner)) for _, inner in imported(inside)]
                found += [Name(f"{prefix}{name}.{inner}", *of) for inner, of in shelf if of]
                continue
            found += (
                of_stub(f"{prefix}{name}.", inside.parent)
                if has_stub
                else of_module(f"{prefix}{name}", inside)
            )
    return found


@cache
def rooms() -> dict[str, list[Name]]:
    """Return the public names of each room and public module of the package."""
    found = {}
    for module, name in imported(PACKAGE / "__init__.pyi"):
        if module or name in NO_ROOMS:
            continue
        folder = PACKAGE / name
        found[name] = (
            of_stub(f"{name}.", folder)
            if (folder / "__init__.pyi").exists()
            else of_module(name, PACKAGE / f"{name}.py")
        )
    return found


@cache
def verbs() -> list[Name]:
    """Return the verbs, ``label.export`` and its like among them."""
    found = []
    for module, name in imported(PACKAGE / "__init__.pyi"):
        if module == "verbs":
            found += [
                n
                for n in of_module(name, PACKAGE / "verbs" / name / "signature.py")
                if isinstance(n.node, ast.FunctionDef)
            ]
        elif module.startswith("verbs.") and module.count(".") == 1:
            found.append(Name(name, *_one(f"{module}.signature", name)))
    return sorted(found, key=lambda n: n.written)


@cache
def options() -> list[Name]:
    """Return the groups of options that verbs take."""
    lines = [
        line
        for line in imported(PACKAGE / "options" / "__init__.py")
        if line[0].startswith("faultscape.verbs.")
    ]
    inside = [(module.removeprefix("faultscape."), name) for module, name in lines]
    return [Name(f"options.{name}", *_one(module, name)) for module, name in inside]


@cache
def results() -> list[Name]:
    """Return the classes that verbs return, by the annotations of verbs."""
    found: dict[str, Name] = {}
    for verb in verbs():
        assert isinstance(verb.node, ast.FunctionDef)
        returned = verb.node.returns
        for part in ast.walk(returned) if returned else ():
            if isinstance(part, ast.Name) and (definition := defined(verb.file, part.id)):
                found[part.id] = Name(part.id, *definition)
    return [found[name] for name in sorted(found)]


def _one(module: str, name: str) -> tuple[Path, ast.stmt]:
    """Return where a name of the package's own stub is defined; LookupError where it is not."""
    definition = defined(module_file(PACKAGE, module), name)
    if definition is None:
        raise LookupError(f"{module}.{name} of the stub is defined nowhere")
    return definition
