"""What the graph calls done against what the same lines make of a copy of the study: numbers, plans and pages must be the same."""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import faultscape as fs
from faultscape.stages import graph
from faultscape.stages.artefacts import measures, plan, report, standings
from faultscape.stages.given_options import call_again
from faultscape.stages.snapshot import Snapshot
from faultscape.study.tables import selections

KINDS = ("standings", "plan", "measures", "report")  # in the order in which they are made


def states(study: str) -> dict[tuple[str, str], str]:
    """The state of every artefact of a study, by kind and name."""
    return {(node.artefact, node.name): node.state for node in graph.nodes(Snapshot(Path(study)))}


def whys(study: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Why what is stale of a study is stale, by kind and name."""
    return {(node.artefact, node.name): node.why for node in graph.nodes(Snapshot(Path(study))) if node.state == "stale"}


def differing(study: str) -> list[str]:
    """The files of a study that are called done, and that are others when they are made anew."""
    root, snapshot = Path(study), Snapshot(Path(study))
    done = [pair for pair, state in states(study).items() if pair[0] in KINDS and state == "done"]
    if not done:
        return []
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / root.name
        shutil.copytree(root, fresh)
        files = [file for pair in done for file in _files(root, *pair)]
        for file in files:
            (fresh / file).unlink()
        shutil.rmtree(fresh / "measures", ignore_errors=True)  # what is kept of each image too
        for kind, name in sorted(done, key=lambda pair: KINDS.index(pair[0])):
            if kind == "standings":
                held = standings.provenance(snapshot, name) or {}
                fs.rank(str(fresh), selection=name, truth=held["truth"], engine="local", **held.get("arguments", {}))
            elif kind == "plan":
                fs.plan(str(fresh), engine="local", **plan.again(snapshot).options)
            elif kind == "measures":
                call_again(fs.measure, str(fresh), measures.again(snapshot).options, engine="local")
            else:
                fs.report(str(fresh), selection=name, **report.again(snapshot, name).options)
        return [file for file in files if _content(fresh / file) != _content(root / file)]


def _files(root: Path, kind: str, name: str) -> list[str]:
    if kind == "plan":
        return ["plan.json"]
    if kind == "measures":
        return ["measures/measure.json", "measures/report.html"]
    stem, ending = ("standings", "json") if kind == "standings" else ("report", "html")
    return [selections.path(root, name, ending, stem=stem).name]


def _content(path: Path) -> Any:
    return json.loads(path.read_text()) if path.suffix == ".json" else path.read_bytes()
