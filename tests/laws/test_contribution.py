"""A newcomer's metric, selector, label format and corruption are one file of code and one line in a catalogue
each: what shows them is written by one command, and the laws of their catalogue hold, in a copy of the tree.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

import children

ROOT = Path(__file__).parents[2]
KAPPA = '''"""Cohen's kappa: agreement beyond that of two maps with the same shares of classes."""

from __future__ import annotations

import numpy as np

from faultscape.metrics.computations import pixels
from faultscape.metrics.metric import Metric


def kappa(
    both: np.ndarray, reference: np.ndarray, prediction: np.ndarray, *, over: str = "union"
) -> np.ndarray:
    """Return Cohen's kappa (...) from counts (..., C) and (..., C + 1); NaN where there is one class alone."""
    del over
    count = np.asarray(reference[..., :-1].sum(-1), float)
    expected = (reference[..., :-1].astype(float) * prediction[..., :-1]).sum(-1)
    left = count * count - expected
    above = both.sum(-1) * count - expected
    return np.divide(above, left, out=np.full(np.shape(left), np.nan), where=left > 0)


KAPPA = Metric(
    "kappa",
    title="Kappa error",
    says="1 − Cohen's kappa",
    group="pixels",
    better="high",
    join="pooled",
    definition="agreement of pixels beyond that expected from the shares of classes",
    reads="both",
    compute=pixels(kappa),
    needs=frozenset(["connected"]),
    options=("pooling",),
    source="Cohen 1960",
    formula=r"\\frac{p_o - p_e}{1 - p_e}",
    least=-1.0,
)
'''
SPREAD = '''"""Images on which the losses that are expected of models lie far apart."""

from __future__ import annotations

import numpy as np

from faultscape.selection.selector import Facts, Selector
from faultscape.selection.selector_weights import DrawOptions


def prefer_spread(facts: Facts, _: DrawOptions) -> np.ndarray:
    """Return the range of the expected losses of each image (I,)."""
    return np.where(facts["complete"], np.ptp(facts["expected"], axis=0), -np.inf)


SPREAD = Selector(
    name="spread",
    title="spread of losses",
    purpose="where the expected losses of models lie farthest apart",
    source="ours",
    needs=("expected",),
    prefer=prefer_spread,
)
'''
ROWS = '''"""Masks as text: the ids of a row of pixels are a line."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from faultscape.errors import LabellingError
from faultscape.formats.label_tools.tool_labels import Format
from faultscape.nouns import Classes


def write(_label: Path, _photo: Path, _size: tuple[int, int], ids: np.ndarray | None, _: Classes) -> bytes | None:
    """Return the lines of a mask; None without ids."""
    return None if ids is None else "".join(" ".join(map(str, row)) + "\\n" for row in ids.tolist()).encode()


def read(path: str, _classes: Classes, _size: tuple[int, int]) -> np.ndarray:
    """Return the (H, W) ids of a file."""
    rows = [line.split() for line in Path(path).read_bytes().splitlines()]
    try:
        return np.array(rows, np.int64).reshape(len(rows), -1)
    except (ValueError, OverflowError) as error:
        raise LabellingError(f"{path}: is not rows of numbers: {error}") from None


ROWS = Format(
    "rows",
    title="rows",
    says="write the ids of each image's pixels into {folder}",
    kind="masks",
    write=write,
    read=read,
    endings=frozenset({".rows"}),
    label="labels/{image}.rows",
)
'''
HAZE = '''"""Haze: a veil of white."""

from __future__ import annotations

import numpy as np

from faultscape.stressors.definition import Corruption, Parameters


def haze(pixels: np.ndarray, parameters: Parameters, start: int) -> np.ndarray:
    """Return (H, W, C) pixels mixed with white, of which parameters[0] is the share."""
    del start
    top = int(np.iinfo(pixels.dtype).max)
    share = round(parameters[0] * 256)
    return ((pixels.astype(np.int64) * (256 - share) + top * share) >> 8).astype(pixels.dtype)


HAZE = Corruption(
    "haze", "Haze", "weather", ("share",), ((0.1,), (0.2,), (0.3,), (0.4,), (0.5,)), haze, random=False
)
'''
EVERY_KIND = ("tests/docs/test_tables.py", "tests/docs/test_site.py", "tests/laws/test_choices.py")


@dataclass(frozen=True)
class Contribution:
    """A file of code with an entry, the catalogue that gets its line, and the laws of that catalogue."""

    file: str
    text: str
    catalogue: str
    tuple_: str
    laws: tuple[str, ...]

    @property
    def entry(self) -> str:
        return next(re.finditer(r"^([A-Z]+) = \w+\(", self.text, re.MULTILINE))[1]


KINDS = {
    "metric": Contribution(
        "metrics/kappa.py",
        KAPPA,
        "metrics/catalogue.py",
        "METRICS",
        ("tests/laws/test_metrics_catalogue.py", "tests/docs/test_definitions.py"),
    ),
    "selector": Contribution(
        "selection/spread.py",
        SPREAD,
        "selection/catalogue.py",
        "SELECTORS",
        ("tests/laws/test_selectors.py",),
    ),
    "format": Contribution(
        "formats/label_tools/rows.py",
        ROWS,
        "labelling/catalogue.py",
        "FORMATS",
        ("tests/laws/test_formats.py",),
    ),
    "corruption": Contribution(
        "stressors/corruptions/haze.py",
        HAZE,
        "stressors/catalogue.py",
        "CORRUPTIONS",
        ("tests/stressors/test_corruptions.py", "tests/stressors/test_corruption_elsewhere.py"),
    ),
}


def with_line(catalogue: str, of: Contribution) -> str:
    """The text of a catalogue with an entry at its end, and the import of the entry's file."""
    module = "faultscape." + of.file.removesuffix(".py").replace("/", ".")
    before, start, rest = catalogue.partition(f"\n{of.tuple_}")
    inside, end, after = rest.partition("\n)\n")
    lines = f"{before}{start}{inside}\n    {of.entry},{end}{after}"
    return lines.replace("\nfrom faultscape", f"\nfrom {module} import {of.entry}\nfrom faultscape", 1)


@pytest.mark.slow
def test_each_kind_is_one_file_and_one_line(tmp_path: Path) -> None:
    for name in ("src", "tests", "docs", "scripts"):
        # with what numba keeps beside the package, which it need not compile again there
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("_build"))
    for path in ROOT.iterdir():
        if path.is_file():
            shutil.copy(path, tmp_path)
    package = tmp_path / "src" / "faultscape"
    for of in KINDS.values():
        (package / of.file).write_text(of.text, encoding="utf-8")
        catalogue = package / of.catalogue
        catalogue.write_text(with_line(catalogue.read_text(encoding="utf-8"), of), encoding="utf-8")
    run = partial(children.python, cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path / "src")})
    run("scripts/tables.py")
    laws = [law for of in KINDS.values() for law in of.laws]
    run("-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *EVERY_KIND, *laws)
    pages = [tmp_path / "docs" / "reference" / page for page in ("catalogues.md", "verbs/select.md")]
    shown = "".join(page.read_text(encoding="utf-8") for page in pages)
    assert [kind for kind, of in KINDS.items() if of.entry.lower() not in shown] == []
