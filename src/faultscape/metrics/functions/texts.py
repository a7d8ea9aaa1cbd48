"""What functions made from the catalogue are called, take and say: signatures and docstrings from entries.

Conventions: an option's type and default are those of ``Definitions``, its text that of its docstring. A
function takes the options of its metric alone, because any other would change nothing.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields
from functools import cache
from types import FunctionType
from typing import Any, cast

from faultscape.errors import OptionError
from faultscape.metrics.definitions import Definitions, meant
from faultscape.metrics.metric import Metric

PRESET_ALONE = ("thresholds", "rounding")  # which only a preset sets
PRESET = "A name of `PRESETS`, which the options given override."
_WIDTH = 102


@cache
def options_text() -> dict[str, str]:
    """Return {name: what it is} of the fields of ``Definitions``.

    >>> options_text()["connectivity"]
    '8 (default) or 4.'
    """
    _, _, rows = inspect.cleandoc(Definitions.__doc__ or "").partition("----------\n")
    found = re.findall(r"^(\w+)\n((?:    .*\n?)+)", rows, re.MULTILINE)
    return {name: " ".join(text.split()) for name, text in found}


def options_of(metric: Metric, leave_out: Collection[str] = ()) -> list[str]:
    """Return the options of a metric that its function takes by name, in the order of ``Definitions``."""
    return [
        f.name
        for f in fields(Definitions)
        if f.name in metric.options and f.name not in (*PRESET_ALONE, *leave_out)
    ]


def finished(metric: Metric, leave_out: Collection[str] = ()) -> list[str]:
    """Return the parameters of a preset and of the options of a metric, as they are written."""
    kinds = {f.name: (str(f.type), f.default) for f in fields(Definitions)}
    out = ["preset: Preset | None = None"]
    for name in options_of(metric, leave_out):
        kind, default = kinds[name]
        shown = f'"{default}"' if isinstance(default, str) else repr(default)
        out.append(f"{name}: {kind.replace(chr(39), chr(34))} = {shown}")
    return out


def docstring(
    metric: Metric, of: str, arrays: Mapping[str, str], errors: str, leave_out: Collection[str] = ()
) -> str:
    """Return the docstring of a metric's function: its definition, source, errors and parameters."""
    better = "Large is good" if metric.better == "high" else "Small is good"
    head = f"Return `{metric.name}` of {of}: {metric.text(Definitions())}."
    source = f" Source: {metric.source}." if metric.source else ""
    about = f"{better}; NaN is undefined. Images are combined as `measure` does.{source} {errors}"
    rows = {
        **arrays,
        "preset": PRESET,
        **{name: options_text()[name] for name in options_of(metric, leave_out)},
    }
    parts = [*textwrap.wrap(head, _WIDTH), "", *textwrap.wrap(about, _WIDTH), "", "Parameters", "-" * 10]
    for name, text in rows.items():
        parts += [name, *textwrap.wrap(text, _WIDTH - 4, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(parts)


def named_functions(
    made: Mapping[str, tuple[Callable[..., Any], Metric]],
    signature: Callable[[Metric], str],
    text: Callable[[Metric], str],
    module: str,
) -> dict[str, Callable[..., Any]]:
    """Return {name: function} with the names, signatures and docstrings that `help` and editors show."""
    out = {}
    for name, (function, metric) in made.items():
        # the parameters as they are written, read by Python itself
        like = cast("FunctionType", _like(f"def {name}({signature(metric)}) -> float: ..."))
        function.__name__ = function.__qualname__ = name
        function.__module__ = module
        function.__doc__ = text(metric)
        cast("Any", function).__signature__ = inspect.signature(like)
        function.__annotations__ = dict(like.__annotations__)
        out[name] = function
    return out


def refuse_others(metric: Metric, options: Mapping[str, Any], allowed: Collection[str]) -> None:
    """Raise OptionError for an option that the metric does not have."""
    for name in options:
        if name not in allowed or name in PRESET_ALONE:
            known = sorted(name for name in allowed if name not in PRESET_ALONE)
            raise OptionError(
                f"{metric.name} has no option {name!r}; it takes {', '.join(known)}{meant(name, known)}"
            )


def _like(text: str) -> Any:
    """Return the function that a line defines; annotations stay text."""
    held: dict[str, Any] = {}
    exec(f"from __future__ import annotations\n{text}", held)  # noqa: S102 - the line is made of the catalogue
    return next(value for key, value in held.items() if isinstance(value, FunctionType))
