"""Conditions under which models are judged: the sets of a study by kind, and the units to resample.

Conventions: the *clean* set is the one that made sets were derived from, or else the first labelled one. A
*corrupted* set applies one corruption at one severity to it, a *foggy* set one density of fog. *Anomaly* sets
have anomaly labels: blended sets, those of known data sets, and the clean set under each holdout. *Natural*
sets are those that the command names. Intervals resample original images with everything made from them, or
whole groups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np

from faultscape.corpus.groups import of_few_groups
from faultscape.corpus.mixtures import mixture
from faultscape.errors import ClassesError, OptionError, StudyError, closest
from faultscape.metrics.intervals.units import LEAST
from faultscape.reading.image_truths import Judged, find_judged, with_labels
from faultscape.reading.sets import refuse_unfinished
from faultscape.reading.study import Study
from faultscape.stressors.catalogue import entry
from faultscape.stressors.holdout import hold_out
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.stress_sets import StressSets
from faultscape.verbs.stress.options import FS_STATIC

Kind = Literal["clean", "corrupted", "foggy", "natural", "anomaly", "misclassified"]
_MIXTURES = (".toml", ".json")


@dataclass(frozen=True, eq=False)
class LabelledStudy:
    """A ``study`` with everything its images are judged by: ``truth`` names the source of labels, '' for
    none; ``withheld`` {holdout: (C,)} are the classes that each holdout withholds; ``notes`` are about
    holdouts left out.
    """

    study: Study
    truth: str
    judged: Mapping[str, Judged]
    withheld: Mapping[str, np.ndarray]
    notes: tuple[str, ...]

    @property
    def holdouts(self) -> dict[str, list[str]]:
        """{holdout: names of the classes that it withholds}."""
        return {name: list(self.study.stress.holdouts[name]) for name in self.withheld}


def read_labelled_study(study: Study, truth: str) -> LabelledStudy:
    """Read what the images of a study are judged by; a holdout of a class that the study no longer has is
    left out.
    """
    withheld = dict[str, np.ndarray]()
    notes = list[str]()
    for name, words in study.stress.holdouts.items():
        try:
            withheld[name] = hold_out(study.classes, list(words)).is_withheld[:-1]
        except ClassesError as error:
            notes.append(f"holdout {name} is left out: {error}")
    judged = with_labels(study, find_judged(study, study.image_rows, truth))
    return LabelledStudy(study, truth, judged, withheld, tuple(notes))


@dataclass(frozen=True)
class Condition:
    """One condition: its name, its images in corpus order, and how made sets were made; ``holdout`` defines
    the anomalous pixels if no labels do, or is the one whose withheld classes are left out. Scorers are
    chosen on those for ``validation``; those for ``training`` are copies of training images, which may teach.
    """

    name: str
    kind: Kind
    sets: tuple[str, ...]
    images: tuple[str, ...]
    holdout: str = ""
    corruption: str = ""
    severity: int = 0
    of: str = ""
    edition: str = ""
    validation: bool = False
    training: bool = False

    @property
    def with_anomalies(self) -> bool:
        """Whether the condition has anomalous pixels."""
        return self.kind == "anomaly"

    @property
    def tests_anomalies(self) -> bool:
        """Whether scores of anomalies are judged by it."""
        return self.with_anomalies and not (self.validation or self.training)


@dataclass(frozen=True)
class Units:
    """Units to resample: the unit of each image {id: number}, their count, whether they are groups, and
    whether these are all of one group (``same_groups``).
    """

    of: Mapping[str, int]
    count: int
    grouped: bool
    same_groups: bool = False


def find_conditions(
    labelled: LabelledStudy, natural: Sequence[str], misclassified: Sequence[str]
) -> tuple[list[Condition], list[str]]:
    """Return the conditions of a study in the order of the card, and notes about sets that are left out;
    StudyError if nothing can be judged.
    """
    study = labelled.study
    judged = labelled.judged
    stress = study.stress
    sets: dict[str, list[Image]] = {}
    for image in study.image_rows.values():
        sets.setdefault(image.set, []).append(image)
    for word in natural:
        _refuse_unknown("--natural", word, sets)
        if word in {about.of for about in stress.sets.values()}:
            raise OptionError(
                f"--natural {word}: it is the clean set, from which sets were made; name another set"
            )
    with_labels = {name: [i.id for i in mine if judged[i.id].semantic] for name, mine in sets.items()}
    with_anomaly = {name: [i.id for i in mine if judged[i.id].anomaly] for name, mine in sets.items()}
    bases = list(
        dict.fromkeys(
            about.of for about in stress.sets.values() if about.kind != "blend" and with_labels.get(about.of)
        )
    )
    collected = [
        name
        for name in sets
        if name not in stress.sets and with_labels[name] and not with_anomaly[name] and name not in natural
    ]
    # images that models were tuned or trained on are the last resort
    last = {"validation": 1, "train": 2}
    chosen = sorted(collected, key=lambda name: last.get(sets[name][0].role, 0))
    clean = [name for name in bases if name in collected] or chosen[:1]
    notes = [
        f"set {name} has labels but is not shown; add --natural {name} to show it as a natural shift"
        for name in collected
        if name not in clean and sets[name][0].role != "train"
    ]
    out = [Condition(name, "clean", (name,), tuple(with_labels[name])) for name in clean]
    for name, about in stress.sets.items():
        if name not in sets or about.kind == "blend":
            continue
        refuse_unfinished(study, name)
        mine = tuple(i.id for i in sets[name])
        if with_anomaly[name]:
            out.append(Condition(name, "anomaly", (name,), mine, of=about.of))
        elif about.kind == "corrupt":
            word = entry(str(about.parameters["corruption"])).name
            out.append(
                Condition(
                    name,
                    "corrupted",
                    (name,),
                    mine,
                    corruption=word,
                    severity=int(str(about.parameters["severity"])),
                    of=about.of,
                )
            )
        else:
            out.append(Condition(name, "foggy", (name,), mine, of=about.of))
    out += [
        Condition(name, "natural", (name,), tuple(with_labels[name] or [i.id for i in sets[name]]))
        for name in natural
    ]
    for name, mine in with_anomaly.items():
        about = stress.sets.get(name)
        if mine and (about is None or about.kind == "blend"):
            if about is not None:
                refuse_unfinished(study, name)
            edition = str(about.line.get("edition") or "") if about else ""
            out.append(
                Condition(
                    name, "anomaly", (name,), tuple(mine), of=about.of if about else "", edition=edition
                )
            )
    out += [
        Condition(
            f"{name}.{holdout}" if len(clean) > 1 else holdout,
            "anomaly",
            (name,),
            tuple(with_labels[name]),
            holdout=holdout,
        )
        for name in clean
        for holdout in labelled.withheld
    ]
    out += [_misclassified(word, sets, with_labels) for word in misclassified]
    if not out:
        raise StudyError(
            f"{study.root} has no labelled images, stress sets or anomaly labels to judge reliability by; "
            "import labels with `faultscape label import`, or make sets with `faultscape stress`"
        )
    names = [condition.name for condition in out]
    if twice := next((name for k, name in enumerate(names) if name in names[:k]), None):
        raise OptionError(
            f"two conditions of the card are called {twice}; name each set once, give --natural only "
            "collected sets, and name holdouts differently from sets (`faultscape stress holdout --as "
            "NAME`)"
        )
    of_role = {
        role: {name for name in sets if _is_for(role, name, sets, stress)} for role in ("validation", "train")
    }
    told = [
        replace(
            one,
            validation=of_role["validation"].issuperset(one.sets),
            training=of_role["train"].issuperset(one.sets),
        )
        for one in out
    ]
    return told, notes


def _is_for(role: str, name: str, sets: Mapping[str, Sequence[Image]], stress: StressSets) -> bool:
    """Return whether a set is for validation, or for training: its images have that role, or those of the set
    that it was made of. The splits of fs-static have roles of their own, whatever they were made of.
    """
    if name not in sets:
        return False
    if all(image.role == role for image in sets[name]):
        return True
    about = stress.sets.get(name)
    split = about is not None and about.parameters.get("preset") == FS_STATIC
    return about is not None and not split and _is_for(role, about.of, sets, stress)


def in_distribution(conditions: Sequence[Condition], holdout: str) -> list[Condition]:
    """Return the conditions with the classes that a holdout withholds left out, except those in which these
    are the anomaly (ADE20k-InD and its corruptions in Buchanan et al. 2022, Table 3); all as they are for ''.
    """
    if not holdout:
        return list(conditions)
    return [replace(condition, holdout=holdout) for condition in conditions if not condition.holdout]


def _misclassified(
    word: str, sets: Mapping[str, Sequence[Image]], labelled: Mapping[str, Sequence[str]]
) -> Condition:
    """Return the condition for detecting misclassification: a set, or all sets of a mixture together."""
    if Path(word).suffix in _MIXTURES and Path(word).exists():
        names = [part.name for part in mixture(word).parts]
        for name in names:
            _refuse_unknown(f"--misclassified {word}", name, sets)
        called = Path(word).stem
    else:
        _refuse_unknown("--misclassified", word, sets)
        names = [word]
        called = word
    if bare := next((name for name in names if not labelled[name]), None):
        raise StudyError(
            f"--misclassified {word}: set {bare} has no class labels, so wrong pixels cannot be found"
        )
    return Condition(
        f"errors of {called}",
        "misclassified",
        tuple(names),
        tuple(id_ for name in names for id_ in labelled[name]),
    )


def _refuse_unknown(option: str, name: str, sets: Mapping[str, object]) -> None:
    if name not in sets:
        raise OptionError(
            f"{option} {name}: the study has no such set; it has"
            f" {', '.join(sets)}.{closest(name, list(sets))}"
        )


def units_of_images(images: Mapping[str, Image], conditions: Sequence[Condition]) -> Units:
    """Return the units of the images of some conditions: the group of each, or its original image."""
    judged = {id_ for condition in conditions for id_ in condition.images}
    numbers: dict[str, int] = {}
    of: dict[str, int] = {}
    groups: dict[str, str] = {}
    for image in (image for image in images.values() if image.id in judged):
        first = image
        while first.parent in images:
            first = images[first.parent]
        groups[first.id] = image.group
        of[image.id] = numbers.setdefault(f"group {image.group}" if image.group else first.id, len(numbers))
    return Units(of, len(numbers), any(groups.values()), of_few_groups(groups, LEAST))
