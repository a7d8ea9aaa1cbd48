"""Write of_maps.pyi and of_scores.pyi of src/faultscape/metrics/functions: the function of each metric as editors
and the reference see it, read off the catalogue.

A test holds the files equal to what this script writes.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import faultscape
from faultscape.metrics.functions import of_maps, of_scores

FOLDER = Path(faultscape.__file__).parent / "metrics" / "functions"
HEAD = """\
# The functions of metrics as type checkers see them; written by scripts/metric_functions.py.

"""
IMPORTS = {
    "of_maps": """\
from faultscape.arguments import ClassList
from faultscape.choices import (
    Absent,
    Connectivity,
    Match,
    Over,
    Per,
    Pooling,
    Preset,
    RegionKind,
    RegionScale,
    VoidRule,
)
from faultscape.metrics.overlaps.regions import Maps

""",
    "of_scores": """\
from typing import Literal

from faultscape.choices import Connectivity, Curve, FprRule, Pooling, Preset, Track
from faultscape.metrics.scores.region_overlap import Planes

""",
}


def stub(name: str) -> str:
    """Return the text of the stub of a file."""
    module = {"of_maps": of_maps, "of_scores": of_scores}[name]
    functions = []
    for metric_name, (_, metric) in module.FUNCTIONS.items():
        parameters = "".join(f"    {one},\n" for one in module.signature_of(metric).split(", ") if one)
        # annotations that hold a comma are one parameter
        parameters = parameters.replace("tuple[int,\n    ...]", "tuple[int, ...]")
        text = textwrap.indent(f'"""{module.text_of(metric)}\n"""', "    ", lambda line: bool(line.strip()))
        functions.append(f"def {metric_name}(\n{parameters}) -> float:\n{text}\n")
    return HEAD + IMPORTS[name] + "\n".join(functions)


if __name__ == "__main__":
    for file in IMPORTS:
        (FOLDER / f"{file}.pyi").write_text(stub(file), encoding="utf-8")
