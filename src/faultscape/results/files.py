"""Read results back from files: those that ``Result.save`` writes, and the documents that a study holds.

Conventions: a file names the class of its result and the number of its schema. A document of a study
(standings.json, plan.json, measure.json, reliability.json) is known by its keys, whatever it is called.
Only the classes below are ever made, from values of the types of their fields, and never by unpickling.
"""

from __future__ import annotations

import json
import os
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from faultscape.errors import FaultscapeError, ResultError, closest, reason
from faultscape.results.codec import MisfitError, built
from faultscape.results.result import SCHEMA, Result

KINDS = {  # {class: the module that has it}
    "Agreement": "faultscape.nouns",
    "Better": "faultscape.questions.answers",
    "ChosenImages": "faultscape.verbs.select.chosen_result",
    "Compared": "faultscape.verbs.compare.result",
    "Failures": "faultscape.questions.answers",
    "FigureData": "faultscape.reporting.competition.figure_data",
    "LabelPlan": "faultscape.verbs.plan.result",
    "Measured": "faultscape.verbs.measure.signature",
    "MeasuredBoxes": "faultscape.verbs.measure.signature",
    "MeasuredShare": "faultscape.verbs.measure.signature",
    "Ranked": "faultscape.verbs.rank.result",
    "RankedTable": "faultscape.ranking.tables.result",
    "Reliability": "faultscape.verbs.reliability.signature",
    "Scale": "faultscape.nouns",
    "Selected": "faultscape.verbs.select.chosen_result",
    "Slots": "faultscape.nouns",
    "Standings": "faultscape.standings",
    "Status": "faultscape.verbs.status.signature",
    "Verdict": "faultscape.reporting.verdict",
}
_READ_BY = {  # {ending of another file: what reads it}
    ".csv": "; a table of scores is ranked by `fs.rank_table`",
    ".parquet": "; a table of scores is ranked by `fs.rank_table`",
    ".npy": "; maps of a model are read by `fs.predict`",
    ".npz": "; maps of a model are read by `fs.predict`",
    ".png": "; a label map is read by `fs.formats.read_map`",
}
# raised where the parts of a file do not fit each other
_AT_ODDS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    ValueError,
    RecursionError,
)


def load(path: str | Path) -> Result:
    """Return the result in a file: one that its ``save`` wrote, or a document of a study.

    ResultError if the file cannot be read, if it does not hold a result, or one of another version.

    >>> import faultscape as fs, tempfile
    >>> scale = fs.nouns.Scale(("sky",), (12,), (0.25,), (0.5,))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     scale.save(f"{folder}/scale.json")
    ...     fs.load(f"{folder}/scale.json") == scale
    True
    """
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise ResultError(
            f"load: expected the path of a result, such as STUDY/standings.json; got {path!r:.60}"
        )
    if "://" in str(path):
        raise ResultError(f"{path} is not on this machine; download it, and load the file")
    held = _read(Path(path))
    try:
        found = _of_file(held, Path(path)) if "result" in held else _of_study(held, Path(path))
        repr(found)  # parts that do not fit each other are found here, not when somebody looks
        found.to_arrow()
    except ResultError:
        raise
    except MisfitError as error:
        raise ResultError(f"{path} is damaged: {error}; make it again") from None
    except FaultscapeError as error:
        raise ResultError(f"{path}: {error}") from None
    except _AT_ODDS as error:
        said = f"{type(error).__name__} {str(error)[:60]!r}"
        raise ResultError(
            f"{path} is damaged: its parts do not fit each other ({said}); make it again"
        ) from None
    return found


def _read(path: Path) -> dict[str, Any]:
    """Return the object in a file."""
    if path.exists() and not path.is_file():
        raise ResultError(f"{path} is not a file; give the path of a result, such as STUDY/standings.json")
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except RecursionError:
        raise ResultError(f"{path} is not a result: its lists are nested too deeply") from None
    except OSError as error:
        raise ResultError(f"{path}: {reason(error)}") from None
    except ValueError as error:
        instead = _READ_BY.get(path.suffix.lower(), "")
        raise ResultError(f"{path} is not a result, which is JSON ({error}){instead}") from None
    if not isinstance(found, dict):
        raise ResultError(f"{path} is not a result: expected an object, {{...}}; got {str(found)[:40]}")
    return cast("dict[str, Any]", found)


def _of_file(held: dict[str, Any], path: Path) -> Result:
    """Return what ``Result.save`` wrote."""
    name = held["result"]
    if held.get("schema") != SCHEMA:
        made_by = str(held.get("faultscape", "another version"))[:20]
        raise ResultError(
            f"{path} has schema {str(held.get('schema'))[:20]} of results, and this version reads {SCHEMA};"
            f" faultscape {made_by} wrote it"
        )
    if not isinstance(name, str) or name not in KINDS:
        raise ResultError(
            f"{path} holds {str(name)[:40]!r}, which is not a result; results are"
            f" {', '.join(KINDS)}{closest(str(name)[:40], list(KINDS))}"
        )
    return built(held.get("content"), kind_of(name), "")


def _of_study(held: dict[str, Any], path: Path) -> Result:
    """Return a document of a study as the result of the verb that wrote it."""
    if held.keys() >= {"models", "rankings", "matrices"}:
        return import_module("faultscape.ranking.standings_json").from_json(held)
    if held.keys() >= {"models", "questions", "duels"}:
        return built({**held, "study": str(path.parent)}, kind_of("LabelPlan"))
    if held.keys() >= {"cells", "conditions"}:
        return built({"path": str(path.parent), "document": held}, kind_of("Reliability"))
    if "datasets" in held or isinstance(held.get("models"), dict):
        return built({"path": str(path.parent), "document": held}, kind_of("Measured"))
    coco = "; masks of COCO are read by `fs.predict`, labels by `fs.label.import_`"
    raise ResultError(
        f"{path} is not a result: expected a file that `save` wrote, or standings.json, plan.json,"
        f" measure.json or reliability.json of a study{coco if 'annotations' in held else ''}"
    )


def kind_of(name: str) -> type[Result]:
    """Return the class of a kind of result."""
    return getattr(import_module(KINDS[name]), name)
