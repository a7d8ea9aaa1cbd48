"""A model of a user-defined kind: ``file.py:SOURCE:PLACE``, where SOURCE is a `prediction.Source` and PLACE
is what it reads.

Conventions: the file is run unchecked: it is the user's own code. Its output is checked like any model's: a
row per image, in order, known labels, and maps of a size that fits their images.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np

from faultscape import plug
from faultscape.classes.class_lists import allowed, table
from faultscape.errors import FaultscapeError, LabelMapError, ModelError, OptionError, said_by
from faultscape.maps import class_answers, runs
from faultscape.prediction import stamps, trials
from faultscape.prediction.batches import Batch, Row
from faultscape.prediction.inference import Output
from faultscape.prediction.source import Opening, OpenModel, Part, Source, Trial
from faultscape.prediction.sources.folder import check_size, check_values
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.tables.corpus import Image

_MOST_ID = 65535
_WRITTEN = re.compile(r"(.+?\.py):([^\W\d]\w*):(.*)", re.DOTALL)


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is of a user-defined kind.

    >>> recognised("own.py:STACK:maps.npy", "segmentation"), recognised("own.py:load", "segmentation")
    (True, False)
    """
    del task
    return _WRITTEN.fullmatch(source) is not None


class _OwnError(ModelError):
    """The user's code failed."""


@contextmanager
def _own_errors(source: str) -> Iterator[None]:
    """Turn any exception of the user's code into one line that names the code."""
    try:
        yield
    except MemoryError:
        raise
    except FaultscapeError as error:  # raised by our functions in the user's code, such as `row_of_map`
        raise _OwnError(f"{source}: {error}") from None
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever a person's code raises
        raise _OwnError(f"{source}: its code failed: {said_by(error)}") from None


def check(name: str, source: str) -> None:
    """Raise ModelError if there is no such file or it does not define a kind of model; the file is run."""
    kind, place = find(source, f"{name}={source}")
    with _own_errors(source):
        kind.check(name, place)


def find(source: str, called: str = "") -> tuple[Source, str]:
    """Return the ``Source`` that a file defines, and what it reads; ModelError if there is none."""
    file, name, place = _parted(source)
    called = called or source
    if not Path(file).is_file():
        raise ModelError(f"{called}: there is no file {file}")
    try:
        kind = plug.find("model", f"{file}:{name}", {}, of=Source)
    except OptionError as error:
        raise ModelError(str(error)) from None
    return kind, place


def there(source: str) -> bool:
    """Whether the file that defines the kind exists."""
    return Path(_parted(source)[0]).is_file()


def kept_as(source: str) -> str:
    """Return the SOURCE with absolute paths, so that any worker finds them."""
    file, name, place = _parted(source)
    return f"{os.path.abspath(file)}:{name}:{os.path.abspath(place) if os.path.exists(place) else place}"


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of what is read, and of the file that defines the kind."""
    kind, place = find(source)
    file, name, _ = _parted(source)
    with _own_errors(source):
        return stamps.key_of(plug.digest(f"{file}:{name}"), name, kind.digest(place, options))


def _parted(source: str) -> tuple[str, str, str]:
    """Return the file, the name in it, and the place after them."""
    match = _WRITTEN.fullmatch(source)
    if match is None:
        raise ModelError(f"{source}: is not file.py:SOURCE:PLACE")
    file, name, place = match.groups()
    return file, name, place


class OwnModel(OpenModel):
    """An open model of a user-defined kind, whose output is checked; ``fault`` says why the first image has a
    problem on which its code fails or whose answer cannot be used.
    """

    fault = ""

    def __init__(self, opening: Opening, settings: Settings) -> None:
        kind, place = find(opening.source)
        self._source = opening.source
        self._settings = settings
        self._resize = bool(opening.options.get("resize_maps"))
        opening.refuse_changes(digest(opening.source, opening.options))
        with _own_errors(self._source):
            self._model = kind.open(replace(opening, source=place), settings)
        self.device = self._model.device
        self.threads = self._model.threads
        self._places = table(settings.class_list, opening.labels)
        self._allowed = allowed(settings.class_list, opening.labels)

    def batch_size(self, images: int) -> int:
        """Return how many images the model wants at once."""
        with _own_errors(self._source):
            return self._model.batch_size(images)

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield what the model yields; a batch that fails is repeated image by image, and an image that fails
        becomes a row with a problem.
        """
        for batch in batches:
            try:
                yield from self._yielded(batch, part)
            except _OwnError as error:
                self.fault = self.fault or str(error)
                if len(batch) == 1:
                    yield Batch([Row(batch[0].id, None, problem=str(error))])
                else:
                    yield from self.batches([[image] for image in batch], part)

    def _yielded(self, batch: Sequence[Image], part: Part) -> list[Batch]:
        """Return what the model yields for a batch; ModelError if it is not for the requested images."""
        with _own_errors(self._source):
            made = list(self._model.batches([batch], part))
            rows = [row.id for one in made for row in one.rows]
        if rows != [image.id for image in batch] or len(made) != 1:
            raise ModelError(
                f"{self._source}: yielded rows of {rows[:3]}; expected a row for each of"
                f" {[image.id for image in batch][:3]}, in this order"
            )
        with _own_errors(self._source):
            checked = [self._checked(image, row) for image, row in zip(batch, made[0].rows, strict=True)]
        return [replace(made[0], rows=checked)]

    def try_on(self, trial: Trial) -> None:
        """Run the model twice on one image of the study; ModelError if its code fails or its answers
        differ.
        """
        with _own_errors(self._source):
            self._model.try_on(trial)
        first, second = (self._yielded([trial.image], Part())[0].rows[0] for _ in range(2))
        if first.runs != second.runs:
            trials.check_same(
                self._source, self._output(first), self._output(second), "seed what it draws at random"
            )

    def _output(self, row: Row) -> Output:
        if row.runs is None:
            return Output(None, problem=row.problem)
        if self._settings.classifies:
            return Output(np.zeros((1, 1), np.uint16), answer=row.runs)
        return Output(runs.decode(row.runs))

    def _checked(self, image: Image, row: Row) -> Row:
        if row.runs is None:
            return row
        try:
            if self._settings.classifies:
                values = class_answers.decode([row.runs])[0][0]
                values = values[values != class_answers.NONE]
                _refuse_no_ids(f"the answer for {image.id}", values, self._allowed)
            else:
                values = runs.labels(row.runs)
                shape = runs.shape(row.runs)
                check_size(
                    f"the map of {image.id}",
                    np.empty(shape, np.bool_),
                    (image.width, image.height),
                    self._settings.working_size,
                    resize_maps=self._resize,
                )
            check_values(f"the answer for {image.id}", values, self._places, self._allowed)
        except FaultscapeError as error:
            self.fault = self.fault or f"{self._source}: {error}"
            return Row(image.id, None, problem=str(error), photo=row.photo)
        return row


def _refuse_no_ids(what: str, values: np.ndarray, allowed_: str) -> None:
    """Raise LabelMapError if a label of an answer cannot be an id."""
    if len(odd := values[(values < 0) | (values > _MOST_ID)]):
        raise LabelMapError(f"{what}: holds the value {int(odd[0])}; allowed are {allowed_}")
