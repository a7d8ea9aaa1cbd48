"""A study as it was read, for pages; and whether it has changed since.

Conventions: what was read never changes, except counts that are still being read. A study that was written to
is read again when a person asks for it, and stays as it was if that fails. Changes are detected from the
sizes and times of its files, at most once in two seconds; for answers in a server's database from the numbers
of their last rows.
"""

from __future__ import annotations

import collections
import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace

import numpy as np

from faultscape.errors import OptionError, StudyChangedError, StudyError
from faultscape.nouns import Classes, Definition
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.study.answers.schema import ANSWERS, DISCARDS, TAGS
from faultscape.study.settings import Settings
from faultscape.verbs.view.between import CONCORDANCE, Answers, MapCounts, between, read_counts
from faultscape.verbs.view.columns import Columns, read_all

# as the numbers on an image's page
_DEFINITION: Definition = {"selector": "", "concordance": CONCORDANCE, "over": "union"}
Stamp = tuple[tuple[str, int, int], ...]
_SECONDS = 2.0
_TRIES = 3
_AHEAD = "answers.sqlite-wal"  # the latest writes of a server that is still running
_FILES = ("study.toml", "corpus.parquet", "answers.sqlite", _AHEAD, "selection*.csv", "selection*.json")
_MANIFESTS = ("predictions/*/manifest.json", "truth/*/manifest.json", "pairs/*/manifest.json")


@dataclass(frozen=True, eq=False)
class Opened:
    """A study as it was read, and for one request as it is ``now``: its maps, and answers to it."""

    now: Study
    settings: Settings
    classes: Classes
    columns: Columns
    said: MapCounts | Answers
    stamp: Stamp
    _scores: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def models(self) -> tuple[str, ...]:
        """The models of the study, in its order."""
        return self.said.models

    @property
    def truths(self) -> tuple[str, ...]:
        """The truths of the study, sorted."""
        return tuple(self.columns.labelled)

    def scores(self, truth: str = "") -> np.ndarray:
        """Return (J, I) how far each model agrees with a truth, by default the one that counts (for
        classifiers 1 if right and 0 if wrong); NaN without a label. OptionError if there are no labels, or
        they are not counted yet.
        """
        truth = truth or self.now.find_truth() or next(iter(self.truths), "")
        if not truth:
            raise OptionError("scores need labels: import some with `faultscape label import`")
        if truth not in self._scores:
            found = np.full((len(self.models), len(self.columns)), np.nan, np.float32)
            try:
                images, values = evidence.scores(self.now, self.models, truth, _DEFINITION)
            except StudyError:
                raise OptionError(
                    f"the models are not compared with the labels of {truth} yet; run `faultscape rank`"
                ) from None
            found[:, self.columns.among(images)] = values
            self._scores[truth] = found
        return self._scores[truth]


class Library:
    """A study, read on construction; StudyError if it cannot be read."""

    def __init__(self, study: Study) -> None:
        self._lock = threading.Lock()
        self._reader: threading.Thread | None = None
        self._looked = time.monotonic()
        self._other = False
        self._held = self._open(study)

    @property
    def now(self) -> Opened:
        """The study as it was read. Once for each request: each file that its page needs besides is opened at
        most once, and read again if it changed.
        """
        return replace(self._held, now=self._held.now.now())

    def changed(self) -> bool:
        """Whether the study was written to since it was read."""
        if time.monotonic() - self._looked > _SECONDS:
            self._looked = time.monotonic()
            self._other = stamp_of(self._held.now.now()) != self._held.stamp
        return self._other

    def read_again(self) -> None:
        """Read the study again if it changed; if that fails, StudyError, and everything stays as it was."""
        with self._lock:
            if stamp_of(study := self._held.now.now()) != self._held.stamp:
                self._held = self._open(study)
            self._other = False

    def wait(self) -> None:
        """Wait until all counts are read."""
        if self._reader is not None:
            self._reader.join()

    def _open(self, study: Study) -> Opened:
        for _ in range(_TRIES - 1):
            with suppress(StudyChangedError):  # another process may be writing to it
                return self._opened(study.now())
        return self._opened(study.now())

    def _opened(self, study: Study) -> Opened:
        stamp = stamp_of(study)
        columns = read_all(study)
        said = between(study, columns)
        if isinstance(said, MapCounts):
            counts = read_counts(study.now(), said, columns)
            next(counts, None)  # load the first shard now, so that the first page does not wait for it
            self._reader = threading.Thread(target=collections.deque, args=(counts, 0), daemon=True)
            self._reader.start()
        return Opened(study.now(), study.settings, study.classes, columns, said, stamp)


def stamp_of(study: Study) -> Stamp:
    """Return the names, sizes and times of the files that pages are made from, and for a server's database
    how many rows its tables have.
    """
    found = []
    for pattern in (*_FILES, *_MANIFESTS):
        for path in study.root.glob(pattern):
            with suppress(OSError):  # gone by now
                about = path.stat()
                if about.st_size or path.name != _AHEAD:
                    # a reader briefly leaves an empty log
                    found.append((str(path), about.st_size, about.st_mtime_ns))
    return tuple(sorted([*found, *_rows_on_a_server(study)]))


def _rows_on_a_server(study: Study) -> Stamp:
    """Return the tables in a server's database that pages show, and the numbers of their last rows; empty if
    answers are in the study, or the server cannot be reached.
    """
    with suppress(StudyError):
        if study.settings.answers.url:
            return tuple((name, study.database.last_number(name), 0) for name in (ANSWERS, DISCARDS, TAGS))
    return ()
