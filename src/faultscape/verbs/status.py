"""status: what is done, stale and missing, and the next line to type."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from faultscape.errors import counted
from faultscape.stages import evidence
from faultscape.stages.status import selections as status_selections


@dataclass(frozen=True)
class Status:
    """Each stage with its state and a sentence, and the next command ('' when all is done)."""

    study: str
    stages: tuple[tuple[str, str, str], ...]
    next: str

    def __repr__(self) -> str:
        lines = [f"{self.study}"]
        lines += [f"  {stage:<8} {state:<8} {words}" for stage, state, words in self.stages]
        lines.append(f"next: {self.next}" if self.next else "next: nothing; all is done")
        return "\n".join(lines)


def status(study: str) -> Status:
    """Say which stages of a study are done, stale or missing, and the next command.

    Parameters
    ----------
    study
        The study folder.
    """
    from faultscape.stages.evidence import current
    from faultscape.stages.pairs import missing, wanted
    from faultscape.study.folder import existing
    from faultscape.study.lock import unfinished
    from faultscape.study.parts import read_manifest, there
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import label_maps, selections
    from faultscape.study.tables.answers import Answers
    from faultscape.study.tables.corpus import each_shard, part_name, shard_sizes
    from faultscape.study.tables.label_maps import outdated
    from faultscape.study.tables.logs import read_failures
    from faultscape.study.tables.pairs import folder

    root, place = existing(study), shlex.quote(study)
    if line := unfinished(root):  # meanwhile its files may say one thing and another
        return Status(study, (("predict", "stale", "a change of models was interrupted; finish it first"),), line)
    settings, sizes = read_settings(root), shard_sizes(root) if (root / "corpus.parquet").exists() else {}
    images, models = sum(sizes.values()), tuple(settings.models)
    failures = len(read_failures(root))
    stages = [
        (
            "collect",
            "done" if images else "missing",
            f"{counted(images, 'image')} in {counted(len(sizes), 'shard')}"
            + (f"; failures.csv has {counted(failures, 'row')}" if failures else ""),
        )
    ]
    todo, rest = "", ""
    stored = {m: there(label_maps.predictions(root, m)) for m in models}
    lacking = {m: [s for s in sizes if part_name(s) not in stored[m]] for m in models}
    old = set(outdated(root, settings, each_shard(root)))
    late = [m for m in models if lacking[m] or m in old]
    sources = " ".join(shlex.quote(f"{m}={settings.models[m].source}") for m in late)
    if late:
        number = sum(map(len, lacking.values()))
        words = (
            f"{counted(number, 'shard')} to do"
            if set(late) - old
            else "the working size, photos or the network of some shards changed since"
        )
        stages.append(("predict", "missing" if set(late) - old else "stale", f"{', '.join(late)}: {words}"))
        todo = f"faultscape predict {place} {sources}"
    elif len(models) < 2:
        stages.append(("predict", "missing", f"{len(models) or 'no'} model{'s' * (not models)}; a competition needs two"))
        todo = f"faultscape predict {place} {' '.join(['NAME=SOURCE'] * (2 - len(models)))}"
    else:
        empty = [m for m in models if not any(part.rows for part in stored[m].values())]
        words = f"; of {', '.join(empty)} not one map could be used (failures.csv)" if empty else ""
        stages.append(("predict", "done", f"{counted(len(models), 'model')}: {', '.join(models)}{words}"))
    truths = evidence.truths(root)
    if len(models) >= 2 and not settings.classifies:
        parts = wanted(root, settings, sorted(sizes), [])
        undone = missing(root, parts)
        made = {m: read_manifest(folder(root, m)) for m in models}
        state = "stale" if any(part.part in made[part.name] for part in undone) else "missing" if undone else "done"
        stages.append(("compare", state, f"{len(parts) - len(undone)} of {len(parts)} parts"))
        todo = todo or (f"faultscape compare {place}" if undone else "")
    discarded = Answers(root).discarded()
    names = selections.names(root)
    if not names:
        stages.append(("select", "missing", "no selection yet"))
        todo = todo or f"faultscape select {place}"
    truth = evidence.find_truth(root) or (truths[0] if truths else evidence.LABELS)
    held = {name: selections.read_selection(root, name) for name in names}
    for name in names:
        lines, now, later = status_selections.of_one(
            root, place, settings, name, held, truth, truth in truths, current(root, name, discarded)
        )
        stages += lines
        todo, rest = todo or now, rest or later
    stages += _measures(root)
    state, words, now = _report(root, place, names, stages)
    stages.append(("report", state, words))
    todo = todo or now or rest
    if not images:
        page = root / "web" / "review.html"
        todo = (
            f"open {page}, then faultscape collect {place} --accept accept.csv"
            if page.exists()
            else f"faultscape collect {place} IMAGES"
        )
    return Status(study, tuple(stages), todo)


def _report(root: Path, place: str, names: Sequence[str], stages: Sequence[tuple[str, str, str]]) -> tuple[str, str, str]:
    """Return the state of the page of the selection main, without one of the first that is ranked; its name; and what to type."""
    from faultscape.study.tables import selections

    ranked = [name for name in names if selections.path(root, name, "json", stem="standings").exists()]
    name = selections.MAIN if selections.MAIN in names or not ranked else ranked[0]
    page, standings = (selections.path(root, name, form, stem=stem) for form, stem in (("html", "report"), ("json", "standings")))
    done = page.exists() and standings.exists() and page.stat().st_mtime >= standings.stat().st_mtime
    done = done and all(state == "done" for stage, state, words in stages if stage == "rank" and words.startswith(f"{name}:"))
    which = "" if name == selections.MAIN else f" --selection {name}"
    ready = any(stage == "rank" and state == "done" and words.startswith(f"{name}:") for stage, state, words in stages)
    todo = f"faultscape report {place}{which}" if ready and not done else ""
    return "done" if done else "stale" if page.exists() else "missing", page.name, todo


def _measures(root: Path) -> list[tuple[str, str, str]]:
    """Return the line of what `measure` wrote into the study, where it did: stale when maps, truth or classes are others now."""
    from faultscape.errors import FaultscapeError
    from faultscape.stages.measure.sets import inputs, of_study
    from faultscape.study.json_text import read_object

    path = root / "measures" / "measure.json"
    if not path.exists():
        return []
    try:
        made = read_object(path.read_bytes())["provenance"]["inputs"]
        if len(made) != 1:  # a table of several data sets is not the study's own
            return []
        ((truth, made_from),) = made.items()
        fresh = inputs(of_study(root, truth)) == made_from
    except (OSError, ValueError, KeyError, TypeError, AttributeError, FaultscapeError):
        return [("measure", "stale", "measures/measure.json cannot be read, or its truth is gone; run measure again")]
    return [
        (
            "measure",
            "done" if fresh else "stale",
            f"against {truth}" + ("" if fresh else ": maps, truth or classes changed since"),
        )
    ]
