"""The commands that bring back a model whose source was replaced, from what study.toml held about it.

Conventions: a label mapping that was given is written to ``methods/NAME/former-labels-DIGEST.json``, because
study.toml holds the new one from then on. What a first run records by itself (offsets of scorers, what a
submission could not see) is found again.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from faultscape.metrics.scorers import plain_name
from faultscape.prediction.sources.submissions import PREFIX
from faultscape.reading import evidence
from faultscape.reading.scorers import methods_folder
from faultscape.reading.study import Study
from faultscape.study.folder import put
from faultscape.study.json_text import read_object
from faultscape.study.parts import key_of
from faultscape.study.settings import ModelSettings
from faultscape.study.tables import pixel_counts
from faultscape.terminal_lines import option_words

_BESIDE = (  # recorded by the first run, or given in another way
    "labels", "offsets", "revision", "temperature", "program", "between", "hidden", "open",
)  # fmt: skip
_OF_FIT = {"seed": 0, "pixels": 2000}  # defaults, which need not be given again
_UNSTORED = "the study does not store --device, --engine and --workers"


def line_back(study: Study, name: str, before: ModelSettings, against: str | None) -> str:
    """Return the commands that bring a model back as it was ``before``, and which options they leave out, as
    part of a sentence; ``against`` is the truth that the line measures against which replaced it, or None.
    """
    held: Mapping[str, Any] = before.options
    words = {("input_size" if key == "size" else key): held[key] for key in held if key not in _BESIDE}
    if "scorer" in words:
        words["scorer"] = [plain_name(word) for word in words["scorer"]]
    if given := held.get("labels"):
        mapping = given if isinstance(given, dict) else before.labels  # of a table: of its words
        words["labels"] = str(_kept_labels(study.root, name, mapping))
    if before.kind == "submission":
        program = f"exec:{before.source.removeprefix(PREFIX)}"
        asked = option_words({"submission": program, "submission_name": name, **words})
        line = ["faultscape reliability", study.place, *asked]
    else:
        measured = against is not None or pixel_counts.dropped(study.root, name) > 0
        asked = option_words({**words, "measure": measured or None})
        of_truth = evidence.truth_words(study, against or "")
        line = ["faultscape predict", study.place, _named(name, before), *asked, *of_truth]
    first = " ".join(line)
    if not held.get("temperature"):
        return f"`{first}` ({_UNSTORED})"
    fit = temperature_line(study, name)
    return f"`{first}`, then `{fit}`, then the first again ({_UNSTORED})"


def temperature_line(study: Study, name: str) -> str:
    """Return the command that fits a model's temperature again, with the options that were recorded."""
    given: dict[str, Any] = {}
    try:
        about = read_object((methods_folder(study.root, name) / "temperature.json").read_bytes())
        held: Any = about["provenance"]
        told = {key: value for key, value in held["arguments"].items() if value != _OF_FIT.get(key)}
        given = {**told, "per_class": about.get("per_class") or None}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):  # of an earlier version, or damaged
        pass
    words = option_words({"model": name, **given})
    return " ".join(["faultscape fit", study.place, "temperature", *words])


def _named(name: str, before: ModelSettings) -> str:
    """Return NAME=SOURCE; a model of the hub at the revision that was used."""
    revision = before.options.get("revision", "")
    at = f"@{revision}" if revision and "@" not in before.source else ""
    return shlex.quote(f"{name}={before.source}{at}")


def _kept_labels(root: Path, name: str, labels: Mapping[str, str]) -> Path:
    """Return the file of a label mapping, which is written unless it is there."""
    path = methods_folder(root, name) / f"former-labels-{key_of(dict(labels))[:8]}.json"
    if not path.is_file():
        path.parent.mkdir(parents=True, exist_ok=True)
        put(path, (json.dumps(labels, ensure_ascii=False, indent=1) + "\n").encode())
    return path.resolve()
