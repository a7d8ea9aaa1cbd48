"""What the graph calls done against what the same lines make of a copy of the study: numbers, plans and pages
must be the same.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import faultscape as fs
from faultscape.reading.study import Study
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_corpus, write_corpus
from faultscape.study.tables.stress_sets import drop_sets, labels_folder
from faultscape.verbs import graph
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.plan.artefact import PLAN
from faultscape.verbs.rank.artefact import STANDINGS
from faultscape.verbs.report.artefact import REPORT
from faultscape.verbs.verb import call_again

KINDS = ("standings", "plan", "measures", "report", "sets")  # in the order in which they are made


def states(study: str) -> dict[tuple[str, str], str]:
    """The state of every artefact of a study, by kind and name."""
    return {(node.artefact, node.name): node.state for node in graph.nodes(Study(Path(study)))}


def whys(study: str) -> dict[tuple[str, str], tuple[str, ...]]:
    """Why what is stale of a study is stale, by kind and name."""
    return {
        (node.artefact, node.name): node.why
        for node in graph.nodes(Study(Path(study)))
        if node.state == "stale"
    }


def differing(study: str) -> list[str]:
    """The files of a study that are called done, and that are others when they are made anew."""
    root, snapshot = Path(study), Study(Path(study))
    done = [pair for pair, state in states(study).items() if pair[0] in KINDS and state == "done"]
    other = [
        name
        for kind, name in done
        if kind == "sets" and _made_anew(root, snapshot, name) != _made(root, _sets_of(snapshot, name))
    ]
    done = [pair for pair in done if pair[0] != "sets"]
    if not done:
        return other
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / root.name
        shutil.copytree(root, fresh)
        files = [file for pair in done for file in _files(root, *pair)]
        for file in files:
            (fresh / file).unlink()
        shutil.rmtree(fresh / "measures", ignore_errors=True)  # what is kept of each image too
        for kind, name in sorted(done, key=lambda pair: KINDS.index(pair[0])):
            if kind == "standings":
                call_again(fs.rank, str(fresh), STANDINGS.again(snapshot, name).options, engine="local")
            elif kind == "plan":
                call_again(fs.plan, str(fresh), PLAN.again(snapshot).options, engine="local")
            elif kind == "measures":
                call_again(fs.measure, str(fresh), MEASURES.again(snapshot).options, engine="local")
            else:
                call_again(fs.report, str(fresh), REPORT.again(snapshot, name).options)
        return other + [file for file in files if _content(fresh / file) != _content(root / file)]


def _made_anew(root: Path, study: Study, name: str) -> object:
    """What the line of some made sets makes of a copy of the study that has none of their images."""
    about, mine = study.stress.sets[name], _sets_of(study, name)
    with tempfile.TemporaryDirectory() as folder:
        fresh = Path(folder) / root.name
        shutil.copytree(root, fresh)
        write_corpus(fresh, [image for image in read_corpus(fresh) if image.set not in mine])
        drop_sets(fresh, mine)
        for set_ in mine:
            shutil.rmtree(labels_folder(fresh, set_), ignore_errors=True)
        call_again(getattr(fs.stress, about.kind), str(fresh), about.line, engine="local")
        return _made(fresh, mine)


def _sets_of(study: Study, name: str) -> list[str]:
    """The sets that were made by the same line as one."""
    sets = study.stress.sets
    return [
        other
        for other, about in sets.items()
        if (about.kind, about.of, about.line) == (sets[name].kind, sets[name].of, sets[name].line)
    ]


def _made(root: Path, sets: list[str]) -> object:
    """What is known of the images of made sets, where they lie aside, and their labels."""
    rows = {
        i.id: (i.digest, i.parent, i.condition, i.role, i.group) for i in read_corpus(root) if i.set in sets
    }
    folders = [labels_folder(root, name) / kind for name in sets for kind in (".", "anomaly")]
    return rows, [label_maps.content_digest(folder) for folder in folders]


def _files(root: Path, kind: str, name: str) -> list[str]:
    if kind == "plan":
        return ["plan.json"]
    if kind == "measures":
        return ["measures/measure.json", "measures/report.html"]
    stem, ending = ("standings", "json") if kind == "standings" else ("report", "html")
    return [selections.path(root, name, ending, stem=stem).name]


def _content(path: Path) -> Any:
    return json.loads(path.read_text()) if path.suffix == ".json" else path.read_bytes()
