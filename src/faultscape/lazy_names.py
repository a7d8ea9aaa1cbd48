"""The public names of a package, loaded when they are used; a name that is not there is answered with the one
that was probably meant.

Conventions: the names stand in the stub (``__init__.pyi``) beside the package's file.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import lazy_loader

_ELSEWHERE = {  # names of other libraries, and what a package of its own has
    "f1": ("fs.metrics.dice",),
    "f1_score": ("fs.metrics.dice",),
    "iou": ("fs.metrics.miou",),
    "jaccard": ("fs.metrics.miou",),
    "MeasureMetric": ("faultscape.metrics.torchmetrics.MeasureMetric",),
}


def attach(package: str, file: str) -> tuple[Callable[[str], object], Callable[[], list[str]], list[str]]:
    """Return the ``__getattr__``, ``__dir__`` and ``__all__`` of a package, whose file has a stub beside it.

    >>> import faultscape.metrics
    >>> find, _, names = attach("faultscape.metrics", faultscape.metrics.__file__)
    >>> "regions" in names
    True
    >>> find("regoins")
    Traceback (most recent call last):
    AttributeError: fs.metrics has no 'regoins'. Did you mean 'regions'?
    """
    load, listed, names = lazy_loader.attach_stub(package, file)

    def find(name: str) -> object:
        if name in names or name.startswith("__"):
            return load(name)
        raise AttributeError(unknown_name(package, name, names), name=name, obj=sys.modules.get(package))

    return find, listed, names


def unknown_name(package: str, name: str, names: list[str]) -> str:
    """Return the message for a name that a package does not have."""
    from faultscape.errors import closest  # here and below: what only a mistake needs slows no import

    place = f"fs{package.removeprefix('faultscape').removeprefix('.verbs')}"
    elsewhere = _homes().get(name, ()) or _ELSEWHERE.get(name, ())
    if elsewhere:
        return f"{place} has no {name!r}; it is {' or '.join(elsewhere)}"
    return f"{place} has no {name!r}.{closest(name, names) or f' dir({place}) lists what it has.'}"


def _homes() -> dict[str, tuple[str, ...]]:
    """Return {name: where it is}, of the names of all rooms and of the groups of options."""
    import re
    from pathlib import Path

    root = Path(__file__).parent
    found = dict[str, tuple[str, ...]]()
    for stub in sorted(root.glob("*/__init__.pyi")):
        if stub.parent.name == "verbs":
            continue
        text = stub.read_text(encoding="utf-8")
        for name in re.findall(r"import (\w+) as \1$", text, re.MULTILINE):
            found[name] = (*found.get(name, ()), f"fs.{stub.parent.name}.{name}")
    groups = (root / "options" / "__init__.py").read_text(encoding="utf-8")
    for name in re.findall(r'^    "(\w+)",$', groups, re.MULTILINE):
        found[name] = (*found.get(name, ()), f"fs.options.{name}")
    return found
