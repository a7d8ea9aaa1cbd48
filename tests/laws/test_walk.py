"""Random walks over a small study: what the graph calls done equals what is made anew, following "next" ends
in a verdict, no label is lost, be it taken back, a line that is tried with --dry-run changes nothing and says what
the line itself does, what is called something else is not made again, and where all is done `run` does nothing.

The end of a walk: the printed line is run, and between lines a person fills in what it asks for, until none is
printed. Every line ends with status 0, none is printed twice in one state of the study, and the end is a
verdict: it is decided, or nothing that can be labelled would change it.

Most walks are over a study of classifiers, some over one of label maps, which is measured too.
`FAULTSCAPE_WALKS` says how many walks of thirty steps; `make soak` takes 200 of them, some 6,000 steps, and
writes what was typed to the file that `FAULTSCAPE_SOAK` names.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import json
import os
import platform
import shlex
import shutil
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

import anew
import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.errors import FaultscapeError
from faultscape.labelling.answers import majority
from faultscape.ranking.duel_standings import from_json
from faultscape.reading.study import Study
from faultscape.reporting.competition.standing_tables import recommended
from faultscape.standings import FEW, could_be_best
from faultscape.study.answers.labels import Answers as StoredAnswers
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps, selections
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.rank.open_selections import left
from faultscape.verbs.select.artefact import SELECTION, is_replaced
from faultscape.verbs.status import more_images
from faultscape.verbs.verb import group_options

STEPS = 30
WALKS = int(os.environ.get("FAULTSCAPE_WALKS", "4"))
NAMES = ("main", "random", "more", "order", "best")
LINES = 60  # more than a study of two dozen images can need
TYPED: Counter[str] = Counter()  # steps, and lines of each verb that were done or refused
BEGUN = time.time()


@pytest.fixture(scope="module", autouse=True)
def typed(request: pytest.FixtureRequest) -> Iterator[None]:
    """Write what was typed to the file that `FAULTSCAPE_SOAK` names, if every law held."""
    yield
    if (log := os.environ.get("FAULTSCAPE_SOAK")) and not request.session.testsfailed:
        said = [
            (
                f"{TYPED.pop('steps'):,} steps in {TYPED.pop('walks')} walks, {time.time() - BEGUN:.0f} s;"
                " every law held"
            ),
            "",
        ]
        about = (
            f"{dt.datetime.now(dt.UTC):%Y-%m-%d}, faultscape {fs.__version__}, Python"
            f" {platform.python_version()}, {platform.machine()}, {os.cpu_count()} cores"
        )
        Path(log).write_text(
            "\n".join([about, *said, *(f"{number:>6,}  {what}" for what, number in sorted(TYPED.items()))])
            + "\n"
        )


class Answers:
    """A study of classifiers: where it lies, its images, and what people and added models say of them."""

    one_cell = "top"  # the option of how many images a duel shows

    def __init__(self, folder: Path) -> None:
        self.made, self.folder = made_answers.study(folder / "made", images=24, errors=(0.1, 0.4)), folder
        self.study, self.images, self.sources = (
            self.made.study,
            self.made.images,
            str(folder / "made" / "ids.csv"),
        )
        self.truth_of = dict(zip(self.images, self.made.truth.tolist(), strict=True))
        self.names = list(made_answers.NAMES)  # as the study calls its classes today

    def call_classes(self, names: list[str]) -> None:
        (self.folder / "renamed.txt").write_text("\n".join(names))
        fs.collect(self.study, classes=str(self.folder / "renamed.txt"))
        self.names = names

    def import_labels(self, images: list[str], truth: str = "labels") -> None:
        # tables keep the words that they had
        rows = [f"{image},{made_answers.NAMES[self.truth_of[image]]}" for image in images]
        path = self.folder / "labels.csv"
        path.write_text("\n".join(["image,label", *rows]) + "\n")
        fs.label.import_(self.study, str(path), truth=truth)

    def fill_in(self, exported: Path) -> list[str]:
        """Answer every question of a file as is true, and return which images it asks about."""
        with exported.open(newline="") as file:
            rows = list(csv.DictReader(file))
        for row in rows:
            is_it = self.names[self.truth_of[row["image"]]] == row["class"]
            row |= {"annotator": "ann", "answer": "yes" if is_it else "no"}
        with exported.open("w", newline="") as file:
            out = csv.DictWriter(file, list(rows[0]))
            out.writeheader()
            out.writerows(rows)
        return []  # answers are no labels

    def import_discards(self, images: list[str]) -> None:
        path = self.folder / "discard.csv"
        path.write_text("image,reason\n" + "".join(f"{image},blurred\n" for image in images))
        fs.label.import_(self.study, str(path))

    def model(self, number: int, share: float) -> str:
        rng = np.random.default_rng(number)
        answers = np.where(rng.random(24) < share, rng.integers(0, 5, 24), self.made.truth)
        path = self.folder / f"added-{number}.csv"
        rows = [
            f"{image},{made_answers.NAMES[k]}" for image, k in zip(self.images, answers.tolist(), strict=True)
        ]
        path.write_text("image,label\n" + "\n".join(rows) + "\n")
        return str(path)


class Maps:
    """A study of label maps, as `Answers` is one of classifiers."""

    one_cell = "per_class"

    def __init__(self, folder: Path) -> None:
        self.made, self.folder = made.corpus(folder / "made", images=10, models=2, shape=(18, 24)), folder
        self.study, self.images, self.sources = (
            str(folder / "study"),
            list(self.made.ids),
            str(self.made.photos),
        )
        fs.collect(self.study, self.sources, classes=self.made.classes)
        fs.predict(self.study, self.made.models, engine="local")
        fs.compare(self.study, engine="local")
        self.names = list(made.NAMES)
        self.cutouts = folder / "cutouts"
        for k in range(2):
            rgba = np.zeros((8, 8, 4), np.uint8)
            rgba[1:7, 1:7] = (90 * k, 200, 30, 255)
            made.write(self.cutouts / f"{k}.png", rgba)

    def call_classes(self, names: list[str]) -> None:
        entries = json.loads(self.made.classes.read_text())
        for entry, name in zip(entries["classes"], names, strict=True):
            entry["name"] = name
        renamed = self.folder / "renamed.json"
        renamed.write_text(json.dumps(entries | {"parents": {"things": names[2:4]}}))
        fs.collect(self.study, classes=str(renamed))
        self.names = names

    def import_labels(self, images: list[str], truth: str = "labels") -> None:
        masks = Path(tempfile.mkdtemp(dir=self.folder))
        self._draw(images, masks)
        fs.label.import_(self.study, masks, truth=truth)

    def fill_in(self, exported: Path) -> list[str]:
        """Draw the mask of every exported image, and return which these are."""
        files = sorted((exported / "images").rglob("*.png"))
        images = [str(file.relative_to(exported / "images").with_suffix("")) for file in files]
        self._draw(images, exported / "labels")
        return images

    def _draw(self, images: list[str], masks: Path) -> None:
        for image in images:
            (masks / image).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(self.made.truth / f"{image}.png", masks / f"{image}.png")

    def import_discards(self, images: list[str]) -> None:
        folder = Path(tempfile.mkdtemp(dir=self.folder))
        (folder / "discard.csv").write_text(
            "image,reason\n" + "".join(f"{image},blurred\n" for image in images)
        )
        fs.label.import_(self.study, folder)

    def model(self, number: int, share: float) -> Path:
        rng = np.random.default_rng(number)
        folder = self.folder / f"added-{number}"
        for image, truth in zip(self.images, self.made.truths, strict=True):
            made.write(folder / f"{image}.png", made.disturbed(rng, truth, round(10 * share)))
        return folder


class Walk(RuleBasedStateMachine):
    """Whatever a person types, in any order."""

    kind: type[Answers | Maps] = Answers

    @initialize()
    def begin(self) -> None:
        TYPED["walks"] += 1
        self.folder = Path(tempfile.mkdtemp())
        self.made = self.kind(self.folder)
        self.study, self.root = self.made.study, Path(self.made.study)
        self.labelled: dict[str, str] = {}
        self.taken_back: set[str] = set()
        self.models = self.drawn = 2
        if isinstance(self.made, Maps):  # only what has labels is measured
            self.label(self.made.images[:3])

    def teardown(self) -> None:
        if hasattr(self, "folder"):
            self.follow()
            shutil.rmtree(self.folder)

    def follow(self) -> None:
        """Type what `status` prints until it prints nothing; a person fills in what it exports."""
        printed = set[tuple[str, ...]]()
        for _ in range(LINES):
            if not (line := fs.verdict(self.study).next):
                self.the_end_is_a_verdict()
                self.nothing_is_done_twice()
                return
            state = (line, *(f"{one}" for one in fs.status(self.study).stages))
            assert state not in printed, f"printed twice: {line}"
            printed.add(state)
            words = shlex.split(line)
            if "NAME=SOURCE" in words:
                self.add_model(0.3)
                continue
            with contextlib.chdir(self.folder):
                assert main(words[1:]) == 0, line
            TYPED[f"what status says, {' '.join(words[1:3]) if words[1] == 'label' else words[1]}: done"] += 1
            if words[1:3] == ["label", "export"]:
                exported = self.folder / words[4]
                drawn = self.made.fill_in(exported)
                under = words[words.index("--truth") + 1] if "--truth" in words else "labels"
                fs.label.import_(self.study, str(exported), truth=under)
                self.labelled |= dict.fromkeys(drawn, "") if under == "labels" else {}
        raise AssertionError(f"still to do after {LINES} lines: {line}")

    def the_end_is_a_verdict(self) -> None:
        """Either it is decided, or nothing that can be labelled would change it."""
        said, study = fs.verdict(self.study), Study(self.root)
        if said.decided or len(study.models) < 2 or fs.status(self.study).stuck:
            return
        pool = more_images.pool_size(Study(self.root))
        drawn = [
            name
            for name, made in study.selections.items()
            if made.slots.draws and SELECTION.is_done(study, name) and not is_replaced(study, name)
        ]
        if not drawn and pool < FEW:
            return
        for name in drawn:
            held = from_json(study.document(selections.path(self.root, name, "json", stem="standings")) or {})
            settled = len(could_be_best(held.rankings[recommended(held)])) == 1
            count = study.label_count(name)
            complete = count.labelled == len(study.selection(name).now.images)
            # images on which models agree are not drawn: no label of these tells them apart
            if settled or (complete and left(study, name) == 0):
                return
        raise AssertionError(f"the end is no verdict: {said!r} {fs.status(self.study)!r}")

    def nothing_is_done_twice(self) -> None:
        """Where nothing is printed any more, `run` leaves every file as it is."""
        before = self.bytes()
        fs.run(self.study, engine="local")
        assert self.bytes() == before

    def label(self, images: list[str]) -> None:
        images = [image for image in images if image in Study(self.root).ids]
        if not images:
            return
        self.made.import_labels(images)
        TYPED["label import: done"] += 1
        self.labelled |= dict.fromkeys(images, "")

    @rule(share=st.sampled_from([0.1, 0.3, 0.6]))
    @precondition(lambda self: self.models < 5)
    def add_model(self, share: float) -> None:
        fs.predict(self.study, {f"added-{self.models}": self.made.model(self.models, share)}, engine="local")
        if isinstance(self.made, Maps):
            fs.compare(self.study, engine="local")
        self.models += 1

    @rule()
    def remove_model(self) -> None:
        if len(names := list(read_settings(self.root).models)) > 2:
            fs.predict(self.study, remove=[names[-1]])

    @rule(share=st.sampled_from([0.2, 0.5]), which=st.integers(0, 1))
    def replace_model(self, share: float, which: int) -> None:
        """Another source takes the place of a model's."""
        TYPED["predict: another source"] += 1
        self.drawn += 1
        fs.predict(
            self.study,
            {[*Study(self.root).models][which]: self.made.model(self.drawn, share)},
            engine="local",
        )
        if isinstance(self.made, Maps):
            fs.compare(self.study, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(which=st.integers(0, 1))
    def rename_model(self, which: int) -> None:
        """A model is called something else, and back."""
        name = [*Study(self.root).models][which]
        if isinstance(self.made, Maps):  # labels that came since are counted
            fs.compare(self.study, engine="local")
        made_once = self.parts()
        fs.predict(self.study, rename={name: name.removesuffix("-b") if name.endswith("-b") else f"{name}-b"})
        TYPED["predict --rename: done"] += 1
        assert self.parts() == made_once
        assert not isinstance(self.made, Maps) or fs.compare(self.study, engine="local").parts_made == 0
        self.what_is_done_is_what_would_be_made_anew()

    @rule(which=st.integers(0, 1))
    def rename_class(self, which: int) -> None:
        """A class is called something else, and back."""
        names, said = list(self.made.names), self.verdicts()
        old = names[which]
        names[which] = old.removesuffix(" b") if old.endswith(" b") else f"{old} b"
        made_once = self.parts()
        self.made.call_classes(names)
        TYPED["collect --classes: a class renamed"] += 1
        assert self.parts() == made_once
        assert self.verdicts() == {(i, names[which] if n == old else n): yes for (i, n), yes in said.items()}
        self.what_is_done_is_what_would_be_made_anew()

    def verdicts(self) -> dict[tuple[str, str], bool | None]:
        """What people's answers about classes say."""
        return majority(answers.answers()) if (answers := StoredAnswers(self.root)).answers() else {}

    def parts(self) -> list[bytes]:
        """The maps and answers of models, the labels and the counts that are stored, whatever they are called."""
        rooms = [self.root / room for room in ("predictions", "pairs", "truth")]
        return sorted(path.read_bytes() for room in rooms for path in room.rglob("*.parquet"))

    @rule(top=st.integers(1, 4))
    def duel(self, top: int) -> None:
        self.ask("select", **{self.made.one_cell: top}, spares=1, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(budget=st.integers(2, 6), name=st.sampled_from(NAMES[1:]))
    def draw(self, budget: int, name: str) -> None:
        self.ask("select", selector="random", budget=budget, as_=name, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(budget=st.sampled_from([None, 4, 12]), goal=st.sampled_from(["order", "best"]))
    def draw_for(self, goal: str, budget: int | None) -> None:
        self.ask("select", goal=goal, budget=budget, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(name=st.sampled_from(NAMES[1:]), more=st.integers(1, 6))
    def draw_more(self, name: str, more: int) -> None:
        self.ask("select", as_=name, more=more, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(first=st.integers(0, 20), number=st.integers(1, 12), who=st.sampled_from(["ann", "bob"]))
    def label_as(self, first: int, number: int, who: str) -> None:
        first %= len(self.made.images)
        images = [
            image for image in self.made.images[first : first + number] if image in Study(self.root).ids
        ]
        if images:
            self.made.import_labels(images, f"labels-{who}")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(first=st.integers(0, 20), number=st.integers(1, 8))
    def label_some(self, first: int, number: int) -> None:
        first %= len(self.made.images)
        self.label(self.made.images[first : first + number])
        self.what_is_done_is_what_would_be_made_anew()

    @rule(first=st.integers(0, 23))
    def discard(self, first: int) -> None:
        with suppress(FaultscapeError):
            self.made.import_discards([self.made.images[first % len(self.made.images)]])

    @rule(name=st.sampled_from(NAMES), seed=st.integers(0, 1))
    def rank(self, name: str, seed: int) -> None:
        self.ask("rank", selection=name, seed=seed, resamples=5, engine="local")

    @rule(name=st.sampled_from(NAMES), better=st.sampled_from([0.1, 0.3]))
    def report(self, name: str, better: float) -> None:
        self.ask("report", selection=name, better=better)

    @rule(worst=st.integers(0, 2))
    def measure(self, worst: int) -> None:
        self.ask("measure", worst=worst, resamples=20, engine="local")

    @rule(within=st.sampled_from([1.0, 10.0]))
    def plan(self, within: float) -> None:
        self.ask("plan", within=within, engine="local")

    @rule(top=st.integers(1, 3))
    def replace(self, top: int) -> None:
        self.ask("select", **{self.made.one_cell: top}, spares=1, replace=True, engine="local")
        self.what_is_done_is_what_would_be_made_anew()

    @rule(name=st.sampled_from(NAMES))
    def remove_selection(self, name: str) -> None:
        self.ask("select", remove=name)
        self.what_is_done_is_what_would_be_made_anew()

    @rule(first=st.integers(0, 22))
    def remove_images(self, first: int) -> None:
        self.ask("collect", remove=self.made.images[first : first + 2])
        self.what_is_done_is_what_would_be_made_anew()

    @rule()
    def collect_again(self) -> None:
        fs.collect(self.study, self.made.sources)
        assert {image.id for image in read_corpus(self.root) if not image.parent} == set(self.made.images)
        self.what_is_done_is_what_would_be_made_anew()

    @rule(first=st.integers(0, 23), discards=st.booleans())
    def take_back(self, first: int, discards: bool) -> None:
        image = self.made.images[first % len(self.made.images)]
        is_done = self.tried_first("label remove", fs.label.remove, image, discards=discards)
        # one that bob alone gave is kept among his
        if is_done and not discards and self.labelled.pop(image, None) is not None:
            self.taken_back.add(image)
        self.what_is_done_is_what_would_be_made_anew()

    @rule(goal=st.sampled_from([None, "order", "best", "failures"]))
    def run(self, goal: str | None) -> None:
        self.ask("run", goal=goal, engine="local")

    def ask(self, verb: str, **options: Any) -> None:
        """Call a verb; what it refuses in a sentence is not a fault."""
        function = getattr(fs, verb)
        changes = [key for key in ("replace", "remove") if options.get(key)]
        line = " --".join([verb, *changes])
        if changes:
            self.tried_first(line, function, **group_options(function, options))
            return
        try:
            function(self.study, **group_options(function, options))
            TYPED[f"{line}: done"] += 1
        except FaultscapeError:
            TYPED[f"{line}: refused"] += 1

    def tried_first(self, line: str, do: Callable[..., Any], *words: str, **options: Any) -> bool:
        """Do a line after its --dry-run, and return whether it is done: the dry run changes nothing, says what the
        line itself does and becomes stale by it, and is refused where that is.
        """
        before, said = self.bytes(), list[object]()
        for dry_run in ({"dry_run": True}, {}):
            try:
                result = do(self.study, *words, **options, **dry_run)
                said.append((result.done, result.stale) if hasattr(result, "stale") else "drawn")
            except FaultscapeError as refusal:
                said.append(str(refusal))
            assert not dry_run or self.bytes() == before
        TYPED[f"{line}: {'refused' if isinstance(said[1], str) and said[1] != 'drawn' else 'done'}"] += 1
        assert said[0] == said[1] or said[1] == "drawn"
        return not isinstance(said[1], str)

    def bytes(self) -> bytes:
        """Return what the study's files hold, but for the log of lines."""
        files = sorted(path for path in self.root.rglob("*") if path.is_file() and path.name != "log.jsonl")
        return b"".join(str(path).encode() + path.read_bytes() for path in files)

    @invariant()
    def no_label_is_lost(self) -> None:
        TYPED["steps"] += 1
        if getattr(self, "labelled", None):
            held = {
                row.id
                for shard in (0,)
                for row in label_maps.read_stored(label_maps.truth(self.root, "labels"), shard)
            }
            assert set(self.labelled) <= held
            kept = label_maps.read_stored(label_maps.truth(self.root, "labels") / "removed", 0)
            assert self.taken_back <= {row.id for row in kept}

    @rule()
    def what_is_done_is_what_would_be_made_anew(self) -> None:
        assert anew.differing(self.study) == []


class WalkOfMaps(Walk):
    """The same, where models draw label maps; and sets are made of the images."""

    kind = Maps

    @rule(severity=st.sampled_from(["1", "3"]), seed=st.integers(0, 1), moved=st.booleans())
    def corrupt(self, severity: str, seed: int, *, moved: bool) -> None:
        self.stress(
            "corrupt",
            corruption=["contrast", "elastic_transform"],
            severities=severity,
            seed=seed,
            move_labels=moved,
        )

    @rule(seed=st.integers(0, 1))
    def blend(self, seed: int) -> None:
        assert isinstance(self.made, Maps)
        self.stress(
            "blend",
            preset="fishyscapes-v1",
            objects=str(self.made.cutouts),
            seed=seed,
            blending=fs.options.Blending(smallest=9),
        )

    @rule(name=st.sampled_from(["contrast-1", "elastic_transform-3", "fishyscapes-v1"]))
    def remove_set(self, name: str) -> None:
        self.ask("collect", remove=[f"{name}/*"])
        self.what_is_done_is_what_would_be_made_anew()

    def stress(self, kind: str, **options: Any) -> None:
        """Make sets; what is refused in a sentence is not a fault."""
        try:
            getattr(fs.stress, kind)(self.study, engine="local", **options)
            TYPED[f"stress {kind}: done"] += 1
        except FaultscapeError:
            TYPED[f"stress {kind}: refused"] += 1
        self.what_is_done_is_what_would_be_made_anew()


def of(walks: int, steps: int = STEPS) -> settings:
    return settings(
        max_examples=walks,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
        phases=[Phase.generate],
    )


OF_MAPS = max(2, WALKS // 10)
Walk.TestCase.settings, WalkOfMaps.TestCase.settings = of(WALKS - OF_MAPS), of(OF_MAPS)
TestWalk, TestWalkOfMaps = (pytest.mark.slow(walk.TestCase) for walk in (Walk, WalkOfMaps))


class ShortWalk(Walk):
    """One for `make test`."""


class ShortWalkOfMaps(WalkOfMaps):
    """Another."""


ShortWalk.TestCase.settings, ShortWalkOfMaps.TestCase.settings = of(1, steps=10), of(1, steps=8)
TestShortWalk, TestShortWalkOfMaps = ShortWalk.TestCase, ShortWalkOfMaps.TestCase
