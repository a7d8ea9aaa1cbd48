"""What becomes stale by a change, and why: that, and nothing else, is told.

Two studies in which all is done, one of label maps and one of classifiers, are made once; each row changes a copy of
one. The slow tests hold that what is still called done is what would be made anew, and that the lines that `status`
names can be run, one after the other, until nothing is named or it is a person's turn.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from dataclasses import dataclass
from itertools import dropwhile, takewhile
from pathlib import Path
from typing import Any

import pytest

import anew
import faultscape as fs
import made
import made_answers
from faultscape.cli import main
from faultscape.study.tables.selections import read_selection
from golden import STUDY, copied
from undoing import FEW, chosen


@dataclass(frozen=True)
class Done:
    """A copy of a study in which all is done, and where a change may write."""

    study: str
    made: made.Corpus | made_answers.Answers
    at: Path

    def images(self, selection: str = "main") -> list[str]:
        return list(read_selection(Path(self.study), selection)[0].images)

    def others(self, selection: str = "main") -> list[str]:
        """The images that a selection did not choose."""
        return [i for i in self.all if i not in set(self.images(selection))]

    @property
    def all(self) -> list[str]:
        return list(self.made.ids if isinstance(self.made, made.Corpus) else self.made.images)

    def masks(self, *images: str, turned: bool = False, truth: str = "labels") -> None:
        assert isinstance(self.made, made.Corpus)
        for image in images:
            mask = self.made.truths[self.made.ids.index(image)]
            made.write(self.at / truth / f"{image}.png", mask[::-1] if turned else mask)
        fs.label.import_(self.study, self.at / truth, truth=truth)

    def discard(self, image: str) -> None:
        (self.at / "discards").mkdir()
        table = self.at / "discards" / "discard.csv"
        table.write_text(f'image,reason\n"{image}",blurred\n')
        fs.label.import_(self.study, table)

    def classes(self, change: Callable[[list[dict]], object]) -> None:
        """Give the study its class list with changes."""
        assert isinstance(self.made, made.Corpus)
        raw = json.loads(self.made.classes.read_text()) | {"parents": {}}
        change(raw["classes"])
        (self.at / "classes.json").write_text(json.dumps(raw))
        fs.collect(self.study, classes=self.at / "classes.json")


def _make_maps(folder: Path) -> made.Corpus:
    """Two of three models compete; main is duels, and order is drawn."""
    corpus = made.corpus(folder / "corpus", images=6, models=3)
    raw = json.loads(corpus.classes.read_text()) | {"parents": {}}
    corpus.classes.write_text(json.dumps(raw))
    study = chosen(corpus, folder / STUDY)
    fs.select(study, goal="order", budget=20, engine="local")
    fs.label.import_(study, corpus.truth)
    for name in ("main", "order"):
        fs.rank(study, selection=name, **FEW)
    fs.plan(study, engine="local")
    fs.measure(study, **FEW)
    for name in ("main", "order"):
        fs.report(study, selection=name)
    return corpus


def _make_answers(folder: Path) -> made_answers.Answers:
    """Three classifiers; main is duels, the others are drawn."""
    it = made_answers.study(folder, images=40)
    fs.select(it.study, top=3, sampling=fs.options.Sampling(spares=0), engine="local")
    for selector in ("random", "vma"):
        fs.select(it.study, selector=selector, budget=10, engine="local")
    made_answers.import_labels(it)
    for name in ("main", "random", "vma"):
        fs.rank(it.study, selection=name, **FEW)
    fs.plan(it.study, engine="local")
    for name in ("main", "random", "vma"):
        fs.report(it.study, selection=name)
    return it


def done(kind: str, at: Path) -> Done:
    if kind == "maps":
        study, corpus = copied("done, of maps", _make_maps, at / STUDY)
        return Done(study, corpus, at)
    it = made_answers.moved("done, of answers", _make_answers, at / "answers")
    return Done(it.study, it, at)


def model(it: Done, number: int) -> str:
    assert isinstance(it.made, made.Corpus)
    return str(list(it.made.models.values())[number])


def add_model(it: Done) -> None:
    fs.predict(it.study, {"late": model(it, 2)}, engine="local")


def replace_model(it: Done) -> None:
    fs.predict(it.study, {"model-1": model(it, 2)}, engine="local")
    fs.compare(it.study, engine="local")


def of_earlier_method(it: Done, path: str) -> None:
    file = Path(it.study, path)
    held = json.loads(file.read_text())
    held["provenance"]["inputs"]["method"] = "0"
    file.write_text(json.dumps(held))


def called(it: Done, *names: str) -> None:
    (it.at / "classes.txt").write_text("\n".join(names))
    fs.collect(it.study, classes=it.at / "classes.txt")


def select(it: Done, **options: Any) -> None:
    fs.select(it.study, engine="local", **options)


MAPS: dict[str, Callable[[Done], object]] = {
    "nothing": lambda _: None,
    "the same labels again": lambda it: it.masks(*it.all),
    "another label": lambda it: it.masks(*it.images(), turned=True),
    "another label of an image that was drawn": lambda it: it.masks(it.others()[0], turned=True),
    "labels of another truth": lambda it: it.masks(*it.all[:2], truth="second"),
    "a label removed": lambda it: fs.label.remove(it.study, it.images()[0]),
    "a chosen image discarded": lambda it: it.discard(it.images()[0]),
    "another image discarded": lambda it: it.discard(it.others()[0]),
    "a model renamed": lambda it: fs.predict(it.study, rename={"model-0": "zero"}),
    "a model removed": lambda it: fs.predict(it.study, remove=["model-1"]),
    "a model added": add_model,
    "a model added and compared": lambda it: (add_model(it), fs.compare(it.study, engine="local")),
    "a model added, compared and chosen for": lambda it: (
        add_model(it),
        fs.compare(it.study, engine="local"),
        select(it),
    ),
    "another source of a model": replace_model,
    "an image removed": lambda it: fs.collect(it.study, remove=[it.images()[0]]),
    "another image removed": lambda it: fs.collect(it.study, remove=[it.others()[0]]),
    "images removed and back": lambda it: (
        fs.collect(it.study, remove=it.all[:2]),
        fs.collect(it.study, it.made.photos),
    ),
    "a class renamed": lambda it: it.classes(lambda entries: entries[1].update(name="street")),
    "another colour of a class": lambda it: it.classes(lambda entries: entries[1].update(color=[1, 2, 3])),
    "one more class": lambda it: it.classes(lambda entries: entries.append({"index": 77, "name": "dog"})),
    "a selection that grew": lambda it: select(it, per_class=2),
    "a selection replaced": lambda it: select(
        it, replace=True, maps=fs.options.MapRules(concordance="fwiou")
    ),
    "a selection replaced by the same": lambda it: select(it, replace=True),
    "a selection removed": lambda it: fs.select(it.study, remove="main"),
    "one more selection": lambda it: select(it, selector="random", budget=3),
    "standings of an earlier method": lambda it: of_earlier_method(it, "standings.json"),
    "measures of an earlier method": lambda it: of_earlier_method(it, "measures/measure.json"),
    "a plan of an earlier method": lambda it: of_earlier_method(it, "plan.json"),
    "ranked with another epsilon": lambda it: fs.rank(it.study, epsilon=0.5, **FEW),
    "a holdout": lambda it: fs.stress.holdout(it.study, classes=["car"]),
}
ANSWERS: dict[str, Callable[[Done], object]] = {
    "one more selection": lambda it: select(it, selector="disputed", budget=6),
    "a label removed": lambda it: fs.label.remove(it.study, it.images("random")[0]),
    "an image of no selection discarded": lambda it: it.discard(
        next(i for i in it.others() if {i} <= {*it.others("random")} & {*it.others("vma")})
    ),
    "an image of random alone discarded": lambda it: it.discard(
        next(i for i in it.images("random") if {i} <= {*it.others()} & {*it.others("vma")})
    ),
    "more draws": lambda it: select(it, as_="random", more=4),
    "duels replaced": lambda it: select(it, top=2, replace=True),
    "a model removed": lambda it: fs.predict(it.study, remove=["model-2"]),
    "a model added": lambda it: fs.predict(it.study, {"late": it.made.tables["model-0"]}),
    "another source of a model": lambda it: fs.predict(it.study, {"model-2": it.made.tables["model-0"]}),
    "a class renamed": lambda it: called(it, "feline", *made_answers.NAMES[1:]),
}

# rows, and below them what is not done any more and why: a kind of artefact, the names of those of which it is said
OF_MAPS = """
nothing
the same labels again
images removed and back
a holdout
  nothing
another label
another label of an image that was drawn
  standings main order: labels changed
  plan: labels changed; standings are out of date, settled a question, or left one open
  measures: labels changed
  report main order: labels changed; standings of main changed; standings of order changed
labels of another truth
  standings main order: labels of another truth changed
  plan: standings are out of date, settled a question, or left one open
  report main order: standings of main changed; standings of order changed
a label removed
  labels main order: missing
  standings main order: labels changed
  plan: labels changed; standings are out of date, settled a question, or left one open
  measures: labels changed; selections now cover other measured images
  report main order: labels changed; standings of main changed; standings of order changed
a chosen image discarded
another image discarded
  standings main order: images were discarded
  plan: images were discarded; standings are out of date, settled a question, or left one open
  report main order: images were discarded; standings of main changed; standings of order changed
a model renamed
  standings main order: a model of the selection was renamed or removed
  plan: models were added, renamed or removed
  measures: models were added, renamed or removed
  report main order: models were added, renamed or removed
a model removed
  selection main order: a model that it was drawn with is gone
  standings main order: a model of the selection was renamed or removed
  plan: models were added, renamed or removed
  measures: models were added, renamed or removed
  report main order: models were added, renamed or removed
a model added
  pairs: missing
  selection main order: models were added since
  standings main order: models were added or removed
  plan: model late was added
  measures: model late was added
  report main order: model late was added
a model added and compared
  selection main order: models were added since
  standings main order: models were added or removed
  plan: model late was added
  measures: model late was added
  report main order: model late was added
a model added, compared and chosen for
  selection order: models were added since
  standings order: models were added or removed
  standings main: model late was added
  plan: model late was added
  measures: model late was added
  report main order: model late was added
another source of a model
  selection main order: images or predictions changed since
  standings main order: images or predictions changed
  plan: images or predictions changed; standings are out of date, settled a question, or left one open
  measures: images, predictions or classes changed
  report main order: images or predictions changed; standings of main changed; standings of order changed
an image removed
another image removed
  selection main order: images or predictions changed since; images of it left the corpus
  standings main order: images or predictions changed; labels changed
  plan: images or predictions changed; labels changed; standings are out of date, settled a question, or left one open
  measures: images, predictions or classes changed; labels changed
  report main order: labels changed; images or predictions changed; standings of main changed; standings of order changed
a class renamed
  standings main order: classes were renamed
  plan: standings are out of date, settled a question, or left one open
  measures: classes were renamed
  report main order: classes were renamed
another colour of a class
  measures: colours of classes changed
  report main order: colours of classes changed
one more class
  pairs: stale
  selection main order: images or predictions changed since
  standings main order: images or predictions changed
  plan: images or predictions changed; standings are out of date, settled a question, or left one open
  measures: images, predictions or classes changed; colours of classes changed
  report main order: images or predictions changed; colours of classes changed; standings of main changed; standings of order changed
a selection that grew
a selection replaced
  standings main: the selection was extended or replaced
  plan: a selection was made or extended; standings are out of date, settled a question, or left one open
  report order: standings of main changed
  report main: the selection was extended or replaced; standings of main changed
a selection replaced by the same
  plan: a selection was made or extended
a selection removed
  plan: a selection was made or extended; standings are out of date, settled a question, or left one open
  report order: standings of main changed
one more selection
  standings order: another selection that affects this ranking was made, changed or removed
  standings random: missing
  plan: a selection was made or extended
  report main order: standings of order changed
standings of an earlier method
  standings main: an earlier version made them
  plan: standings are out of date, settled a question, or left one open
  report main order: standings of main changed
measures of an earlier method
  measures: an earlier version made them
a plan of an earlier method
  plan: an earlier version made it
ranked with another epsilon
  report main order: standings of main changed
"""
OF_ANSWERS = """
one more selection
  standings disputed: missing
  standings random vma: another selection that affects this ranking was made, changed or removed
  plan: a selection was made or extended; standings are out of date, settled a question, or left one open
  report main random vma: standings of random changed; standings of vma changed
a label removed
  labels random: missing
  standings main random vma: labels changed
  plan: labels changed; standings are out of date, settled a question, or left one open
  report main random vma: labels changed; standings of main changed; standings of random changed; standings of vma changed
an image of no selection discarded
  plan: images were discarded
an image of random alone discarded
  standings random: images were discarded
  standings vma: another selection that affects this ranking was made, changed or removed
  plan: images were discarded; standings are out of date, settled a question, or left one open
  report random: images were discarded; standings of random changed; standings of vma changed
  report main vma: standings of random changed; standings of vma changed
more draws
  standings random: the selection was extended or replaced
  standings vma: another selection that affects this ranking was made, changed or removed
  plan: a selection was made or extended; standings are out of date, settled a question, or left one open
  report random: the selection was extended or replaced; standings of random changed; standings of vma changed
  report main vma: standings of random changed; standings of vma changed
duels replaced
  standings random vma: another selection that affects this ranking was made, changed or removed
  standings main: the selection was extended or replaced
  plan: a selection was made or extended; standings are out of date, settled a question, or left one open
  report random vma: standings of main changed; standings of random changed; standings of vma changed
  report main: the selection was extended or replaced; standings of main changed; standings of random changed; standings of vma changed
a model removed
  selection main random vma: a model that it was drawn with is gone
  standings main random vma: a model of the selection was renamed or removed
  plan: models were added, renamed or removed
  report main random vma: models were added, renamed or removed
a model added
  selection main random vma: models were added since
  standings main random vma: models were added or removed
  plan: model late was added
  report main random vma: model late was added
another source of a model
  selection main random vma: images or predictions changed since
  standings main random: images or predictions changed
  standings vma: images or predictions changed; another selection that affects this ranking was made, changed or removed
  plan: images or predictions changed; standings are out of date, settled a question, or left one open
  report main random vma: images or predictions changed; standings of main changed; standings of random changed; standings of vma changed
a class renamed
  standings main random vma: classes were renamed
  plan: standings are out of date, settled a question, or left one open
  report main random vma: classes were renamed
"""


def says(table: str, row: str) -> str:
    """What a table says of a row: the indented lines below it, or below others that it stands with."""
    _, _, rest = table.partition(f"\n{row}\n")
    told = dropwhile(lambda line: not line.startswith("  "), rest.splitlines())
    lines = takewhile(lambda line: line.startswith("  "), told)
    return "".join(f"{line.strip()}\n" for line in lines if line != "  nothing")


CHANGES = {"maps": (MAPS, OF_MAPS), "answers": (ANSWERS, OF_ANSWERS)}
ROWS = [(kind, row) for kind, (changes, _) in CHANGES.items() for row in changes]


def told(study: str) -> str:
    """What is not done any more, and why, a line each."""
    rows: dict[tuple[str, str], list[str]] = {}
    why = anew.whys(study)
    for (kind, name), state in anew.states(study).items():
        if state != "done":
            rows.setdefault((kind, "; ".join(why.get((kind, name), ())) or state), []).append(name)
    return "".join(
        f"{' '.join([kind, *sorted(filter(None, names))])}: {says}\n" for (kind, says), names in rows.items()
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_a_change_makes_stale_what_follows_from_it_and_says_why(kind: str, row: str, tmp_path: Path) -> None:
    it = done(kind, tmp_path)
    changes, table = CHANGES[kind]
    changes[row](it)
    assert told(it.study) == says(table, row)


def test_standings_from_other_predictions_than_the_selection_say_so(tmp_path: Path) -> None:
    it = done("maps", tmp_path)
    replace_model(it)
    notes = fs.rank(it.study, **FEW).notes
    assert any("drawn from other images or predictions than the study has now" in note for note in notes)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "row"), ROWS)
def test_what_stays_done_is_what_would_be_made_anew_and_the_lines_that_are_named_come_to_an_end(
    kind: str, row: str, tmp_path: Path
) -> None:
    it = done(kind, tmp_path)
    CHANGES[kind][0][row](it)
    assert anew.differing(it.study) == []
    for _ in range(60):
        line = fs.status(it.study).next
        if not line or line.startswith("faultscape label export") or "NAME=SOURCE" in line:  # a person's turn
            return
        assert main(shlex.split(line)[1:]) == 0, line
    raise AssertionError(f"still to do after 60 lines: {line}")
