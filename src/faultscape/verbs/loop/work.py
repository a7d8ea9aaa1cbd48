"""The rounds of a study: choose, label, train, judge (Yan et al. 2021, section 5).

Conventions: where a round stands follows from what is there. Round k of MODEL makes the selection
``MODEL-k-learn``, the network ``MODEL-k``, and the selection ``MODEL-k-judge``, which is drawn once the
network is there; MODEL is what the first network was called when the rounds began, and networks may have been
renamed since. loop.json is written at each step.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pydantic import TypeAdapter, ValidationError

from faultscape import plug
from faultscape.errors import ModelError, OptionError, SelectionError, StudyError, closest, counted
from faultscape.nouns import JsonObject
from faultscape.ranking.drawn.estimate_intervals import difference_intervals
from faultscape.ranking.drawn.estimates import lure
from faultscape.ranking.drawn.steps import steps
from faultscape.reading import evidence
from faultscape.reading.artefact import texts
from faultscape.reading.study import LABELS, Study, opened
from faultscape.study.folder import put
from faultscape.study.tables.logs import log
from faultscape.verbs.compare import compare
from faultscape.verbs.graph import undone
from faultscape.verbs.label import import_
from faultscape.verbs.label.artefact import export_line
from faultscape.verbs.loop.artefact import (
    CALLED,
    LOOP,
    NETWORK,
    OPEN,
    labels_waited_for,
    left_to_label,
    unused_images,
)
from faultscape.verbs.loop.page import write_page
from faultscape.verbs.loop.result import FAILS, Looped, Round
from faultscape.verbs.loop.signature import LEAST
from faultscape.verbs.options import TrainOptions
from faultscape.verbs.rank import rank
from faultscape.verbs.select import select
from faultscape.verbs.select.options import Sampling
from faultscape.verbs.status.costs import COSTS
from faultscape.verbs.train import train
from faultscape.verbs.train.artefact import MODELS, NETWORKS
from faultscape.verbs.train.options import TrainingData, TrainingPlan
from faultscape.verbs.train.training_record import seconds_of_training

if TYPE_CHECKING:
    from faultscape.verbs.options import LoopOptions

_DEFAULTS = {"images": 10, "judged": 20, "epochs": 20, "rate": 1e-4, "backbone": None}


def go_on(options: LoopOptions) -> Looped:
    """Do what can be done of the open round, or of the next."""
    study = opened(options.study)
    asked = _asked(study, options)
    model = str(asked["model"])
    rounds = _rounds(study)
    line = f"faultscape loop {study.place}"
    for _ in range(options.rounds):
        waiting = _Round(study, asked, rounds, options.engine).go_on()
        if waiting:
            return Looped(options.study, model, tuple(rounds), *waiting)
    return Looped(options.study, model, tuple(rounds), f"{counted(len(rounds), 'round')} done", line)


def _asked(study: Study, options: LoopOptions) -> dict[str, Any]:
    """Return what the rounds are of, as it was given now, or before."""
    held = _document(study)
    before = str(held.get("model", ""))
    if options.model and before and options.model != before:
        raise OptionError(
            f"--model {options.model}: the rounds of this study are those of {before}; continue these, or"
            f" move {LOOP.path(study)} away to begin others"
        )
    asked: dict[str, Any] = {"model": before or _model(study, options.model)}
    for name, usual in _DEFAULTS.items():
        asked[name] = getattr(options, name) or held.get(name) or usual
    if asked["backbone"]:
        asked["backbone"] = plug.absolute(asked["backbone"])
        file = asked["backbone"].rpartition(":")[0]
        if plug.is_own(asked["backbone"]) and not Path(file).is_file():
            raise OptionError(f"--backbone {asked['backbone']}: there is no such file; give file.py:function")
    masks = os.path.abspath(options.masks) if options.masks else str(held.get("masks") or "")
    if masks and not Path(masks).is_dir():
        raise OptionError(f"--masks {masks}: there is no such folder")
    asked["masks"] = masks
    asked["truth"] = _truth(study, options.truth, str(held.get("truth") or ""))
    return asked


def _truth(study: Study, named: str | None, before: str) -> str:
    """Return the labels that count in all rounds, which ``before`` are those of the rounds so far."""
    if named and before and named != before:
        raise OptionError(
            f"--truth {named}: the rounds of this study are those of truth {before}; continue these, or move"
            f" {LOOP.path(study)} away to begin others"
        )
    return study.truth(named or before or None) if study.truths else LABELS


def _model(study: Study, named: str | None) -> str:
    """Return the network that the first round continues."""
    trained = [name for name, about in study.settings.models.items() if about.kind == "trained"]
    if named is not None and named not in trained:
        there = f"those are {', '.join(trained)}" if trained else "there is none yet"
        raise ModelError(
            f"--model {named}: expected a network that `faultscape train` made and `predict` knows;"
            f" {there}.{closest(named, trained)}"
        )
    if named is None and len(trained) != 1:
        there = (
            f"there are {', '.join(trained)}: name one with --model"
            if trained
            else f"there is none yet: `faultscape train {study.place} NAME` makes one"
        )
        raise ModelError(f"a loop improves a network that `train` made and `predict` knows; {there}")
    if len(study.models) < 2:
        raise ModelError(
            "a loop draws images on which models differ, and the study has one; add another with `faultscape"
            f" predict {study.place} NAME=SOURCE`"
        )
    return named or trained[0]


def _document(study: Study) -> JsonObject:
    """Return loop.json, {} before any round; StudyError if it cannot be read."""
    held = study.document(LOOP.path(study))
    if held is None and LOOP.path(study).exists():
        raise StudyError(
            f"{LOOP.path(study)}: cannot be read; restore it, or move it away to begin other rounds"
        )
    return held or {}


def _rounds(study: Study) -> list[Round]:
    """Return the complete rounds; StudyError if their file is damaged."""
    try:
        return TypeAdapter(list[Round]).validate_python(_document(study).get("rounds", []))
    except ValidationError as error:
        what = f"{'.'.join(map(str, error.errors()[0]['loc']))}: {error.errors()[0]['msg']}"
        raise StudyError(
            f"{LOOP.path(study)}: is damaged ({what}); move it away to begin other rounds"
        ) from None


class _Round:
    """The open round of a study."""

    def __init__(self, study: Study, asked: dict[str, Any], rounds: list[Round], engine: str) -> None:
        self.study = study
        self.asked = asked
        self.rounds = rounds
        self.engine = engine
        self.parent = rounds[-1].network if rounds else str(asked["model"])
        held = _document(study)
        self.truth = str(asked["truth"])
        self.called = str(held.get(CALLED) or asked["model"])
        stem = f"{self.called}-{len(rounds) + 1}"
        self.network = str(held.get(NETWORK) or stem)
        self.learn = f"{stem}-learn"
        self.judge = f"{stem}-judge"

    @property
    def _data(self) -> TrainingData:
        return TrainingData(set_=[f"selection:{self.learn}"], truth=self.truth)

    def go_on(self) -> tuple[str, str] | None:
        """Do what can be done; return what the round waits for and the line for it, None once it is
        complete.
        """
        place = self.study.called
        self._refuse_other_networks()
        self._compared()
        if self.learn not in self.study.reread().selections:
            self._refuse_small_pool()
            self._refuse_parent()
            select(
                place,
                as_=self.learn,
                selector="mad",
                budget=self.asked["images"],
                sampling=Sampling(temperature=1.0),
                engine=self.engine,
            )
        if waiting := self._labelled(self.learn, "to learn from"):
            return waiting
        if self.network not in self.study.reread().settings.models:
            train(
                place,
                self.network,
                init=self.parent,
                data=self._data,
                plan=TrainingPlan(epochs=self.asked["epochs"], rate=self.asked["rate"]),
                backbone=self.asked["backbone"],
            )
        self._compared()
        if self.judge not in self.study.reread().selections:
            select(place, as_=self.judge, goal="order", budget=self.asked["judged"], engine=self.engine)
        if waiting := self._labelled(self.judge, "to judge on"):
            return waiting
        rank(place, selection=self.judge, truth=self.truth, engine=self.engine)
        self.rounds.append(self._outcome())
        # first: once the round is written it is not made again
        now = self.study.reread()
        write_page(now, self.rounds, self.truth, now.selection(self.judge).slots.definition)
        self._write("")
        log(self.study.root, "loop", network=self.network, parent=self.parent)
        return None

    def _refuse_other_networks(self) -> None:
        """Raise ModelError if the study lost the network that the round continues, or has a model with the
        name of the round's network that did not learn in this round.
        """
        if self.parent not in self.study.settings.models:
            source = NETWORKS.sources(self.study).get(self.parent, "SOURCE")
            raise ModelError(
                f"{self.parent}, which the round continues, was removed from the study; predict it again:"
                f" `faultscape predict {self.study.place} {shlex.quote(f'{self.parent}={source}')}`"
            )
        made = NETWORKS.record(self.study.reread(), self.network) or {}
        if self.network in self.study.settings.models and self.learn not in texts(made.get("selections")):
            raise ModelError(
                f"the round would call its network {self.network}, and the study has another model of this"
                f" name; rename that one: `faultscape predict {self.study.place} --rename"
                f" {self.network}=NEW`"
            )

    def _refuse_small_pool(self) -> None:
        """Raise SelectionError if a round would leave too few images to judge it on, before people label."""
        left = unused_images(self.study)
        images = int(self.asked["images"])
        if left < images + LEAST["judged"]:
            raise SelectionError(
                f"a round that learns from {counted(images, 'image')} takes {images + LEAST['judged']} that"
                f" trained no model, so that some can judge it; the pool has {left}: give fewer --images, or"
                f" collect more with `faultscape collect {self.study.place} IMAGES`"
            )

    def _refuse_parent(self) -> None:
        """Raise ModelError or StudyError if the network cannot be continued, before people label."""
        from faultscape.verbs.train.lineage import refuse_parent  # imports torch

        asked = TrainOptions(
            study=self.study.called,
            name=self.network,
            init=self.parent,
            data=self._data,
            backbone=self.asked["backbone"],
        )
        refuse_parent(self.study.reread(), asked)

    def _compared(self) -> None:
        if undone(self.study.reread(), "pairs"):
            compare(self.study.called, engine=self.engine)

    def _labelled(self, selection: str, why: str) -> tuple[str, str] | None:
        """Have the images of a selection labelled; return what is waited for, None once they all are."""
        if self.asked["masks"]:
            self._import(selection)
        study = self.study.reread()
        held = study.selection(selection)
        now = held.now
        if not now.asked:
            raise SelectionError(
                f"all images of selection {selection} are discarded; draw others with `faultscape select"
                f" {study.place} --as {selection} --more {len(held.slots.images)}`, and type this line again"
            )
        left = left_to_label(study, selection, self.truth)
        self._write(selection, left=left)
        if not left:
            return None
        words = f"round {len(self.rounds) + 1} waits for masks of {counted(left, 'image')} {why}: {selection}"
        if self.asked["masks"]:
            words += f"; {self.asked['masks']} has none of them"
        return words, export_line(study.reread(), selection)

    def _import(self, selection: str) -> None:
        """Import the masks of a selection's images that have none yet from the folder of masks."""
        study = self.study.reread()
        held = study.label_count(selection, self.truth).images
        with tempfile.TemporaryDirectory() as folder:
            found = 0
            for image in study.selection(selection).now.images:
                mask = Path(self.asked["masks"]) / f"{image}.png"
                if image not in held and mask.is_file():
                    target = Path(folder, f"{image}.png")
                    target.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(mask, target)
                    found += 1
            if found:
                import_(study.called, folder, truth=self.truth)

    def _outcome(self) -> Round:
        """Compare parent and child on the images that the round drew for it."""
        study = self.study.reread()
        slots = study.selection(self.judge).slots
        models = (self.parent, self.network)
        images, score = evidence.scores(study, models, self.truth, slots.definition, study.discarded)
        lost = evidence.undecidable(study, models, self.truth) | {*study.discarded}
        found = steps(slots.draws, images, score, lost=lost, learns=False)
        seen = score[:, found.columns]
        names = [images[k] for k in found.columns]
        learnt = study.label_count(self.learn, self.truth).labelled
        fails = seen < FAILS
        hours = (learnt + len(names)) * COSTS["mask"] / 3600
        return Round(
            self.network,
            self.parent,
            learnt,
            len(names),
            hours,
            seconds_of_training(study.root / MODELS / self.network),
            gain(seen, found.probability, found.pool),
            _which(names, fails[0] & ~fails[1]),
            _which(names, fails[0] & fails[1]),
            _which(names, ~fails[0] & fails[1]),
        )

    def _write(self, open_: str, *, left: int = 0) -> None:
        """Write the rounds, with the selection that is open, of which so many images are left to label."""
        study = self.study.reread()
        usual = {**_DEFAULTS, "truth": study.find_truth()}
        given = {name: value for name, value in self.asked.items() if value and value != usual.get(name)}
        inputs = {"labels": labels_waited_for(study, open_, self.truth) if left else ""} if open_ else {}
        held = {
            **{name: value for name, value in self.asked.items() if value},
            "rounds": [asdict(one) for one in self.rounds],
            CALLED: self.called,
            NETWORK: self.network if open_ else "",
            OPEN: open_,
            "provenance": {"inputs": inputs, "arguments": given},
        }
        text = json.dumps(held, indent=1, ensure_ascii=False, allow_nan=True) + "\n"
        put(LOOP.path(study), text.encode())


def gain(score: np.ndarray, probability: np.ndarray, pool: int) -> list[float]:
    """Return [x, low, high], the second model's mean score minus the first's over a pool, from scores (2, M)
    on images drawn with these probabilities, and its 95 % interval (LURE, Student's t); NaN for all three
    with fewer than two images.

    >>> score = np.array([[0.4, 0.5, 0.6], [0.5, 0.4, 0.8]])
    >>> [round(end, 3) for end in gain(score, np.array([1 / 30, 1 / 29, 1 / 28]), 30)]
    [0.067, -0.436, 0.569]
    """
    if score.shape[1] < 2:
        return [float("nan")] * 3
    found = lure(1 - score, probability, pool)
    return [float(found.loss[0] - found.loss[1]), *difference_intervals(found)[0, 1].tolist()]


def _which(names: Sequence[str], chosen: np.ndarray) -> tuple[str, ...]:
    return tuple(name for name, yes in zip(names, chosen.tolist(), strict=True) if yes)
