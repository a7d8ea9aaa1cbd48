"""Where `report --log` sends a page and its numbers: one function for each experiment tracker.

Conventions: a run that Python has open is used and stays open; otherwise one is made, named like the
selection, and closed. Servers, keys and experiments are those of the tracker's own settings. A tracker is
imported when it is asked for.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from faultscape.choices import Tracker
from faultscape.errors import OptionError, StudyError, library_text
from faultscape.results.result import Result


@dataclass(frozen=True)
class Sent:
    """What a tracker gets: tables by name, numbers by ``metric/model``, and the page."""

    study: str  # name of the study
    selection: str
    tables: Mapping[str, Result]
    numbers: Mapping[str, float]
    page: Path


def tracker_of(name: Tracker) -> Any:
    """Return the library of a tracker; OptionError if it is not installed."""
    try:
        return import_module(name)
    except ImportError as error:
        raise OptionError(
            f"--log {name} needs {name}, which cannot be imported ({library_text(error)}); install it with"
            f" `pip install {name}`"
        ) from None


def send(name: Tracker, library: Any, what: Sent) -> None:
    """Send what a report shows to a tracker; StudyError if that fails."""
    try:
        _SENDERS[name](library, what)
    except Exception as error:  # noqa: BLE001 - a server, a key, a disk: each library has errors of its own
        raise StudyError(
            f"{what.page} is written, but {name} did not take it: {library_text(error)}; set {name} up, then"
            " run this line again"
        ) from None


def _to_mlflow(mlflow: Any, what: Sent) -> None:
    run = nullcontext() if mlflow.active_run() else mlflow.start_run(run_name=_run_name(what))
    with run:
        odd = re.compile(r"[^\w./ :-]")  # what a metric of MLflow may not be called
        mlflow.log_metrics({odd.sub("_", name): number for name, number in what.numbers.items()})
        for name, table in what.tables.items():
            mlflow.log_table(table.to_arrow().to_pydict(), f"{name}.json")
        mlflow.log_artifact(str(what.page))


def _to_wandb(wandb: Any, what: Sent) -> None:
    project = os.environ.get("WANDB_PROJECT") or what.study
    run = nullcontext(wandb.run) if wandb.run else wandb.init(project=project, name=_run_name(what))
    with run as held:
        tables = {name: table.to_arrow() for name, table in what.tables.items()}
        found = {
            name: wandb.Table(columns=table.column_names, data=[[*row.values()] for row in table.to_pylist()])
            for name, table in tables.items()
        }
        held.log({**what.numbers, **found, "report": wandb.Html(str(what.page), inject=False)})


def _to_trackio(trackio: Any, what: Sent) -> None:
    quiet = {"embed": False, "auto_log_cpu": False, "auto_log_gpu": False}
    trackio.init(project=what.study, name=_run_name(what), **quiet)
    try:
        tables = {name: trackio.Table(dataframe=table.to_pandas()) for name, table in what.tables.items()}
        trackio.log({**what.numbers, **tables, "report": trackio.Html(what.page, inject=False)})
    finally:
        trackio.finish()


def _run_name(what: Sent) -> str:
    return f"{what.study}, {what.selection}"


_SENDERS: Mapping[Tracker, Callable[[Any, Sent], None]] = {
    "mlflow": _to_mlflow,
    "wandb": _to_wandb,
    "trackio": _to_trackio,
}
