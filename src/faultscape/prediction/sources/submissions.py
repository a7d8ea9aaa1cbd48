"""A model that is a submitted program: it sees numbered images without access to their truth, and writes an
anomaly score and a segmentation of each; all answers are checked before any is used.

Conventions: ``submission:COMMAND``, with ``{input}`` and ``{output}`` as in ``exec:``. The input holds the
images of one shard as PNG files of their pixels only, ``0000.png`` and so on, in an order determined by a
seed and their bytes; the program must write ``0000_anomaly.npy`` and ``0000_segmentation.npy`` to the
output. An anomaly is (H, W) floats, all finite, at the size of its image; a segmentation is (H, W) whole
numbers, places of the class list, with C for void, unless --labels maps them. Any other file, file name, or
link makes the whole submission refused; an image that lacks a file counts as left out. Files are read one at
a time, and never beyond the size that the image allows. Both are kept at the working size, resized by nearest
neighbour like the truth; the score is kept with the labels as doubt. The program runs once per shard, and its
answers are yielded a few images at a time.
Source: Blum et al. 2021, section 3 (hidden test data) and its submission format.
"""

from __future__ import annotations

import os
import shlex
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np

from faultscape.classes import mapping as label_names
from faultscape.classes.class_lists import allowed, table
from faultscape.corpus.photos import read_photo
from faultscape.corpus.stress.recipes import recipe_of
from faultscape.errors import ImageError, ModelError, RefusedError, counted
from faultscape.formats import png
from faultscape.formats.npy import read_npy
from faultscape.maps import array_codes, runs
from faultscape.maps.resize import nearest
from faultscape.metrics.scorers import SUBMITTED
from faultscape.metrics.scores.submissions import offset_of_submitted
from faultscape.nouns import UNKNOWN
from faultscape.prediction import stamps
from faultscape.prediction.batches import Batch, Row
from faultscape.prediction.keep import doubt_folder, told
from faultscape.prediction.source import Opening, OpenModel, Origin, Part, Request, Source, Trial
from faultscape.prediction.sources import isolation, programs
from faultscape.process.made_aside import held_folder
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.store import is_address
from faultscape.study.tables.corpus import Image
from faultscape.ties import tie_order

PREFIX = "submission:"
OPTIONS = ("seed", "ood_data", "publication", "claims", "program", "offsets", "between", "hidden", "open")
DOUBT_OF_SUBMISSION = doubt_folder(SUBMITTED.name)
ANOMALY = "_anomaly.npy"
SEGMENTATION = "_segmentation.npy"
_BATCH = 16
_WHOLE = 1 << 16
_UNPLACED = "files of labels whose place is not recorded"


class OpenSubmission(OpenModel):
    """A program that is run once over all images of a shard."""

    def __init__(self, opening: Opening, settings: Settings) -> None:
        self._opening = opening
        self._settings = settings
        self._places = table(settings.class_list, opening.labels)
        count = len(settings.class_list)
        void = settings.class_list.void
        self._allowed = allowed(settings.class_list, opening.labels)
        if opening.labels == _by_place(settings) and count not in void:
            self._allowed += f", {count} (void)"
        self._tried = ""  # the image that it was tried on

    def batch_size(self, images: int) -> int:
        """Return how many answers are held in memory at once."""
        del images
        return _BATCH

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the program's answers for each batch, after one run over all; RefusedError if anything that
        it wrote cannot be used.
        """
        del part
        asked = [list(batch) for batch in batches]
        images = [image for batch in asked for image in batch]
        if not images:
            return
        with held_folder() as folder:
            start = time.perf_counter()
            shown, problems = self._show(images, Path(folder, "input"))
            ready = time.perf_counter()
            answers = self._run(folder, list(shown.values())) if shown else None
            seconds = (ready - start, time.perf_counter() - ready)
            for batch in asked:
                begun = time.perf_counter()
                rows = [
                    (
                        Row(image.id, None, problem=problems[image.id])
                        if answers is None or image.id in problems
                        else self._row(image, answers, shown[image.id])
                    )
                    for image in batch
                ]
                yield Batch(rows, (*seconds, 0.0, time.perf_counter() - begun))
                seconds = (0.0, 0.0)

    def try_on(self, trial: Trial) -> None:
        """Run the program on one image of the study, unless it was already tried, and report how large its
        scores get.
        """
        if not self._tried:
            self.first_scores(trial.image)
        width, height = self._settings.working_size or trial.size
        root = next((folder for folder in (trial.where, *trial.where.parents) if folder.exists()), Path())
        for line in told(
            {DOUBT_OF_SUBMISSION: (np.empty((height, width), np.float32),)},
            trial.images,
            shutil.disk_usage(root).free,
        ):
            print(line)

    def first_scores(self, image: Image) -> np.ndarray | None:
        """Return the program's scores for an image, or None if it cannot be read or is left out."""
        self._tried = image.id
        with held_folder() as folder:
            shown, _ = self._show([image], Path(folder, "input"))
            answers = self._run(folder, list(shown.values())) if shown else None
            one = shown.get(image.id)
            return (
                None
                if answers is None or one is None or one.number in answers.lacking
                else answers.read(one).anomaly
            )

    def _show(self, images: Sequence[Image], folder: Path) -> tuple[dict[str, Shown], dict[str, str]]:
        """Write images for the program and return {id: what is shown}, and why the others are not shown. Only
        pixels are written, because a file's name, format, date and comments reveal its origin.
        """
        folder.mkdir()
        shown: dict[str, Shown] = {}
        problems: dict[str, str] = {}
        for k in tie_order(
            [image.key for image in images], int(self._opening.options.get("seed", 0))
        ).tolist():
            image = images[k]
            try:
                pixels, _ = read_photo(image)
            except ImageError as error:
                problems[image.id] = str(error)
                continue
            number = f"{len(shown):04d}"
            file = folder / f"{number}.png"
            file.write_bytes(png.encode_pixels(pixels))
            os.utime(file, (0, 0))
            shown[image.id] = Shown(number, (pixels.shape[0], pixels.shape[1]), image.id)
        return shown, problems

    def _run(self, folder: str, shown: Sequence[Shown]) -> Answers:
        """Run the program on what it is shown; RefusedError if it exits with an error or wrote unusable
        files.
        """
        source = self._opening.source
        options = self._opening.options
        self._opening.refuse_changes(digest(source, {}))
        inward, outward, home = (Path(folder, name) for name in ("input", "output", "home"))
        outward.mkdir()
        home.mkdir()
        words = programs.words_of(source.removeprefix(PREFIX), inward, outward)
        line = isolation.line_of(words, options.get("hidden", []), self._opening.hidden)
        try:
            status, last = programs.run_words(
                source, line, folder, env=isolation.environment(os.environ, str(home)), where=home
            )
            self._opening.refuse_changes(digest(source, {}))
            if last.startswith(isolation.CANNOT):
                raise ModelError(
                    f"{source}: {last}, as it was where this line began; run it on a machine where it can be"
                    " isolated"
                )
            return self._answers(outward, shown, status, last)
        except RefusedError as error:
            raise RefusedError(f"{source} is refused: {error}") from None

    def _answers(self, folder: Path, shown: Sequence[Shown], status: int, last: str) -> Answers:
        if status:
            raise RefusedError(f"it exited with status {status}{f': {last}' if last else ''}")
        answers = Answers(folder, shown, self._places, self._allowed)
        if all(len(answers.lacking.get(one.number, ())) == 2 for one in shown):
            raise RefusedError(
                f"it wrote nothing of {counted(len(shown), 'image')}{f'; it said: {last}' if last else ''}"
            )
        return answers

    def _row(self, image: Image, answers: Answers, one: Shown) -> Row:
        if absent := answers.lacking.get(one.number):
            return Row(image.id, None, problem=f"the submission wrote no {' and no '.join(absent)} of it")
        answer = answers.read(one)
        size = self._settings.working_size or (image.width, image.height)
        said = Answer(nearest(answer.anomaly, size), nearest(answer.segmentation, size))
        return Row(
            image.id,
            runs.encode(said.segmentation),
            {DOUBT_OF_SUBMISSION: (array_codes.encode(said.anomaly),)},
        )


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a submission.

    >>> recognised("submission:segment -q", "segmentation")
    True
    """
    del task
    return source.startswith(PREFIX)


def check(name: str, source: str) -> None:
    """Raise ModelError if there is no command, or no such program."""
    words = _words(source)
    if not words:
        raise ModelError(
            f"{name}={source}: name the command, for example {PREFIX}./segment {{input}} {{output}}"
        )
    programs.check_program(f"{name}={source}", words[0])


def kept_as(source: str) -> str:
    """Return the command with absolute paths, because it does not run in the folder in which it was typed."""
    words = _words(source)
    whole = [
        os.path.abspath(word) if os.path.isfile(word) and (k or os.sep in word) else word
        for k, word in enumerate(words)
    ]
    return source if whole == words else PREFIX + shlex.join(whole)


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a command and the files that it names."""
    return programs.digest(kept_as(source), options)


def origin(source: Source, request: Request) -> Origin:
    """Return what the answers of a submission depend on; a new program is run on one image to see which
    scores it gives.
    """
    place = kept_as(request.source)
    settings = request.settings
    given = label_names.of_file(request.labels, settings.class_list, None) if request.labels else {}
    labels = given or (request.held if "labels" in request.options else _by_place(settings))
    found = digest(place, {})
    folders, spared = _hidden_folders(request, place)
    ways = [way for way in isolation.available() if way in request.options.get("hidden", [way])]
    reach = [way for way in (isolation.NETWORK, isolation.PROCESSES, isolation.FILES) if way not in ways]
    if isolation.FILES in ways and spared:
        reach.append("folders of images or labels in which the program lies itself")
    # what it could see when it answered stays true after the labels are imported again
    answered = request.options.get("program") == found[:16]
    if isolation.FILES in ways and (
        request.unplaced or (answered and _UNPLACED in request.options.get("open", []))
    ):
        reach.append(_UNPLACED)
    options = cast(
        "ModelOptions", {"seed": 0, **request.options, "hidden": ways, "open": [*reach, isolation.REST]}
    )
    opening = Opening(source.name, place, options, labels, request.device, found, folders)
    model = OpenSubmission(opening, settings)
    tried = None
    if options.get("program") != found[:16]:
        model = tried = OpenSubmission(opening, settings)
        options = cast(
            "ModelOptions",
            {**_without_scores(options), "program": found[:16], **_first_scores(model, request)},
        )
    made = stamps.of_images(found, settings, request.shards(), options, labels)
    notes = (f"{place.removeprefix(PREFIX)} {reach_text(options)}",)
    return Origin(
        options,
        labels,
        made.stamps,
        keys=made.keys,
        notes=notes,
        source=place,
        digest=found,
        opened=tried,
        hidden=folders,
    )


def reach_text(options: ModelOptions) -> str:
    """Return what a submission could not see, and what it could, as text.

    >>> reach_text({"hidden": ["the network"], "open": ["other files of this machine"]})
    'runs without reach of the network; within its reach: other files of this machine'
    """
    hidden = list(options.get("hidden", []))
    without = (
        f"without reach of {', '.join(hidden)}" if hidden else "with access to everything but the environment"
    )
    return f"runs {without}; within its reach: {', '.join(options.get('open', []))}"


def _words(source: str) -> list[str]:
    command = source.removeprefix(PREFIX)
    # reports an invalid command line
    return shlex.split(command) if command.strip() and programs.words_of(command, Path(), Path()) else []


def _by_place(settings: Settings) -> dict[str, str]:
    """Return the meaning of each value of a segmentation: the class at that place, and C void."""
    names = settings.class_list.names
    return {str(place): name for place, name in enumerate([*names, "void"])}


def _without_scores(options: ModelOptions) -> dict[str, Any]:
    return {key: value for key, value in options.items() if key not in ("offsets", "between")}


def _first_scores(model: OpenSubmission, request: Request) -> dict[str, Any]:
    """Return how the scores of a program are counted: an offset, or the bounds between which they lie, from
    the first image that it answers.
    """
    collected = (image for _, images in request.shards() for image in images if not image.parent)
    for image in sorted(collected, key=lambda image: image.key)[:3]:
        if (scores := model.first_scores(image)) is not None:
            offset = offset_of_submitted(scores)
            return {"between": [0.0, 1.0]} if offset is None else {"offsets": {SUBMITTED.name: offset}}
    raise RefusedError(f"{request.source} is refused: of the first images it answers none that can be read")


def _hidden_folders(request: Request, place: str) -> tuple[tuple[str, ...], bool]:
    """Return the places that a submission may not see (the study, its data sets, its images, and what labels
    were imported from), and whether some cannot be hidden because the program needs them; ModelError if that
    is the study.
    """
    needed = [os.path.realpath(path) for path in (tempfile.gettempdir(), *_files(place))]
    first, *others = [os.path.realpath(folder) for folder in request.hidden] or [""]
    if first and (inside := next((path for path in needed if _holds(first, path)), None)):
        raise ModelError(
            f"{request.name}={request.source}: {inside} lies in the study, which a submission may not see;"
            " put it elsewhere"
        )
    of_sets: dict[str, set[str]] = {}
    for _, images in request.shards():
        for image in images:
            if image.source and recipe_of(image.source) is None and not is_address(image.source):
                of_sets.setdefault(image.set, set()).add(os.path.dirname(image.source))
    wanted = [
        first,
        *others,
        *(os.path.commonpath(map(os.path.realpath, sorted(folders))) for folders in of_sets.values()),
    ]
    wanted = [folder for folder in dict.fromkeys(wanted) if folder and os.path.exists(folder)]
    possible = [folder for folder in wanted if not any(_holds(folder, path) for path in needed)]
    outer = [
        folder
        for folder in possible
        if not any(other != folder and _holds(other, folder) for other in possible)
    ]
    return tuple(outer), len(possible) < len(wanted)


def _files(place: str) -> Iterator[str]:
    """Yield the files that a command names, including its program."""
    for k, word in enumerate(_words(place)):
        if found := (shutil.which(word) if k == 0 else word if os.path.exists(word) else None):
            yield from (os.path.abspath(found), os.path.realpath(found))


def _holds(folder: str, path: str) -> bool:
    return os.path.commonpath([folder, path]) == folder


@dataclass(frozen=True)
class Shown:
    """An image shown to a submission: its number and its size (height, width); ``id`` is its id in
    the study.
    """

    number: str
    shape: tuple[int, int]
    id: str


@dataclass(frozen=True, eq=False)
class Answer:
    """A submission's answer for an image: anomaly (H, W) float32, and segmentation (H, W) of class places."""

    anomaly: np.ndarray
    segmentation: np.ndarray


class Answers:
    """The answers in a folder for the images shown; ``lacking`` {number: the files that were not written}.
    RefusedError if anything is wrong, with the number of faults and the first of them.

    ``places`` (65536,) says which values a segmentation may hold, ``allowed`` says it as text.
    """

    def __init__(self, folder: Path, shown: Sequence[Shown], places: np.ndarray, allowed: str) -> None:
        self._folder = folder
        self._places = places
        self._allowed = allowed
        found = _names(folder)
        names = {f"{one.number}{ending}": one for one in shown for ending in (ANOMALY, SEGMENTATION)}
        faults = [f"{name} is not a valid answer file name" for name in sorted(found - names.keys())]
        for name, one in names.items():
            if name in found and (why := self._fault(name, one)):
                faults.append(f"{name}, of {one.id}, {why}")
        if faults:
            raise RefusedError(
                f"{counted(len(faults), 'file')} of {len(found)} cannot be used; the first: {faults[0]}"
            )
        self.lacking: Mapping[str, list[str]] = {
            one.number: absent
            for one in shown
            if (
                absent := [
                    word
                    for word, ending in (("anomaly", ANOMALY), ("segmentation", SEGMENTATION))
                    if f"{one.number}{ending}" not in found
                ]
            )
        }

    def read(self, one: Shown) -> Answer:
        """Return the answer for an image with both files; RefusedError if it has changed since it was
        checked.
        """
        try:
            return Answer(self._anomaly(one), self._segmentation(one))
        except ModelError as error:
            raise RefusedError(f"a file of {one.id} changed after it was checked: it {error}") from None

    def _fault(self, name: str, one: Shown) -> str:
        """Return what is wrong with a file, or ''."""
        try:
            (self._anomaly if name.endswith(ANOMALY) else self._segmentation)(one)
        except ModelError as error:
            return str(error)
        return ""

    def _anomaly(self, one: Shown) -> np.ndarray:
        given = read_npy(self._folder / f"{one.number}{ANOMALY}", ModelError, shape=one.shape, kinds="f")
        if bad := given.size - int(np.isfinite(given).sum()):
            what = "NaN" if int(np.isnan(given).sum()) == bad else "NaN or infinite"
            raise ModelError(f"holds {bad} of {given.size} scores that are {what}")
        with np.errstate(over="ignore"):
            scores = given.astype(np.float32)
        if bad := scores.size - int(np.isfinite(scores).sum()):
            raise ModelError(f"holds {counted(bad, 'score')} beyond what float32 holds")
        return scores

    def _segmentation(self, one: Shown) -> np.ndarray:
        given = read_npy(
            self._folder / f"{one.number}{SEGMENTATION}", ModelError, shape=one.shape, kinds="iu"
        )
        low = int(given.min())
        high = int(given.max())
        if low < 0 or high >= _WHOLE:
            raise ModelError(f"holds the value {low if low < 0 else high}; allowed are {self._allowed}")
        labels = given.astype(np.uint8 if high < 256 else np.uint16)
        if (bad := self._places[labels] == UNKNOWN).any():
            raise ModelError(f"holds the value {int(labels[bad][0])}; allowed are {self._allowed}")
        return labels


def _names(folder: Path) -> set[str]:
    """Return the names in a folder that a program had; RefusedError if it is no longer a folder."""
    if os.path.islink(folder) or not folder.is_dir():
        raise RefusedError("it removed its output folder")
    return set(_each_name(folder))


def _each_name(folder: Path) -> Iterator[str]:
    with os.scandir(folder) as entries:
        yield from (entry.name for entry in entries)
