"""run: every stage that is undone, up to the labels, and later from the labels on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.stages import evidence
from faultscape.verbs.status import Status


@dataclass(frozen=True)
class Ran:
    """What `run` did, stage by stage, and where the study stands now."""

    done: tuple[str, ...]
    status: Status

    def __repr__(self) -> str:
        return "\n".join([*self.done, repr(self.status)])


_WANTED = {
    "order": "if it is their order that you want, as many images drawn for all of them tell it better:",
    "best": "if you want to know which one is best, images drawn for that tell it sooner:",
}


def run(
    study: str,
    *arguments: Any,
    task: str | None = None,
    classes: Any = None,
    size: str | None = None,
    scale: str | None = None,
    per_class: int | None = None,
    top: int | None = None,
    distance: str | None = None,
    concordance: str | None = None,
    truth: str | None = None,
    goal: str = "order",
    engine: str = "processes",
) -> Ran:
    """Do all stages that are undone: collect, predict, compare, select; once labels are there, rank and report.

    Parameters
    ----------
    study
        The study folder.
    arguments
        Folders, globs or list files of images, and models as NAME=SOURCE (in Python also a dict); none is needed to go on with what the study has.
    task
        segmentation (default) or classification, for a new study.
    classes
        A class file or a built-in name, for a new study.
    size
        WIDTHxHEIGHT at which maps are compared, or own.
    scale
        The file that `faultscape scale` wrote.
    per_class
        Images for each defender, attacker and class (default 1).
    top
        Of classifiers: images for each pair of models (default 30).
    distance
        Of classifiers: wordnet, path, hops, 01, or a file of distances between classes.
    concordance
        Of label maps: miou (default), fwiou, mpa, pixel_accuracy, dice, or file.py:function.
    truth
        Which labels count; default: labels, or the only ones.
    goal
        order (of all models; default) or best: which draws to recommend beside the duels, as `select --goal`.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    """
    from faultscape.nouns import PairSlot, Slot
    from faultscape.prediction.catalogue import there
    from faultscape.selection.catalogue import check_goal
    from faultscape.study.settings import read_settings
    from faultscape.verbs import select
    from faultscape.verbs.collect import collect
    from faultscape.verbs.compare import compare
    from faultscape.verbs.predict import predict
    from faultscape.verbs.rank import rank
    from faultscape.verbs.report import report
    from faultscape.verbs.status import status

    check_goal(goal)
    images = [a for a in arguments if isinstance(a, str) and (("=" not in a) or Path(a).exists())]
    models = [a for a in arguments if a not in images]
    root, done = Path(study), []
    if images:
        done.append(repr(collect(study, *images, task=task, classes=classes, size=size)))
    if models:
        done.append(repr(predict(study, *models, engine=engine)))
    elif (root / "study.toml").exists() and (known := read_settings(root).models):
        todo = {name: model.source for name, model in known.items() if there(model.source)}
        gone = [name for name in known if name not in todo]
        if gone:  # what it said is stored; status and compare say it when that is not enough
            done.append(f"{', '.join(gone)}: the source is no longer there; the stored maps are used")
        if todo:
            done.append(repr(predict(study, todo, engine=engine)))
    if not read_settings(root).classifies:
        done.append(repr(compare(study, engine=engine)))
    slots = select.select(
        study, scale=scale, per_class=per_class, top=top, distance=distance, concordance=concordance, engine=engine
    )
    done.append(repr(slots))
    if isinstance(slots.chosen[0], Slot | PairSlot):
        done.append(
            f"these show where models fail; {_WANTED[goal]} "
            f"faultscape select {shlex.quote(study)} --goal {goal}{'' if goal == 'best' else f' --budget {len(slots.images)}'}"
        )
    if evidence.find_truth(root, truth):
        done.append(repr(rank(study, truth=truth, engine=engine)))
        done.append(repr(report(study)))
    return Ran(tuple(done), status(study))
