"""A model that is a program: it reads images from one folder and writes label maps to another, like a
submission to Fishyscapes.

Conventions: ``exec:COMMAND``; ``{input}`` and ``{output}`` in the command become the two folders; if it names
neither, they are appended as its last two arguments. The input holds the images of one shard, numbered
(``00000.png``). The program must write a map with the same number to the output (8/16-bit PNG or npy), and
may write ``NUMBER_confidence.npy`` (0..1) or ``.png`` (255 = 1). The command is run unchecked, once per
shard, without a shell: it is the user's own code. It ends with the process that runs it (child_process.py); a
folder of images whose holder was killed is removed when the next program runs.
"""

from __future__ import annotations

import hashlib
import os
import shlex
import shutil
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from PIL import Image as Picture

from faultscape.corpus.photos import read_bytes_of
from faultscape.corpus.sources import IMAGE_ENDINGS, MAP_ENDINGS
from faultscape.errors import FaultscapeError, ImageError, ModelError, RefusedError
from faultscape.formats.pictures import rgb_of
from faultscape.formats.scores import read_confidence
from faultscape.maps import array_codes, runs
from faultscape.prediction.batches import Batch, Row
from faultscape.prediction.source import Opening, OpenModel, Part, Trial
from faultscape.prediction.sources.folder import FolderModel
from faultscape.process import child_process
from faultscape.process.made_aside import held_folder, identity
from faultscape.study.settings import ModelOptions, Settings
from faultscape.study.tables.corpus import Image


class OpenProgram(OpenModel):
    """A command that is run once over all images of a shard."""

    def __init__(self, opening: Opening, settings: Settings) -> None:
        resize = bool(opening.options.get("resize_maps"))
        self._maps = FolderModel(
            settings.class_list, opening.labels, settings.working_size, resize_maps=resize
        )
        self._opening = opening

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield what the command wrote for each batch; ModelError if it cannot be run or writes nothing."""
        del part
        for batch in batches:
            self._opening.refuse_changes(digest(self._opening.source, {}))
            made = _run_over(self._maps, batch, self._opening.source.removeprefix("exec:"))
            self._opening.refuse_changes(
                digest(self._opening.source, {}),
                "; a file that the program writes itself must not be part of its command",
            )
            yield made

    def try_on(self, trial: Trial) -> None:
        """Run the command on one image of the study."""
        for _ in self.batches([[trial.image]], Part()):
            pass


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a command.

    >>> recognised("exec:segment -q", "segmentation")
    True
    """
    del task
    return source.startswith("exec:")


def check(name: str, source: str) -> None:
    """Raise ModelError if there is no command, or no such program."""
    if not source[5:].strip():
        raise ModelError(
            f"{name}={source}: name the command, for example exec:./segment {{input}} {{output}}"
        )
    check_program(f"{name}={source}", words_of(source[5:], Path(), Path())[0])


def check_program(given: str, program: str) -> None:
    """Raise ModelError unless the ``program`` that a ``given`` command begins with can be run."""
    if shutil.which(program) is not None:
        return
    if os.path.isfile(program):
        raise ModelError(
            f"{given}: {program} is not executable; allow it with `chmod +x {shlex.quote(program)}`, or name"
            " what runs it before it"
        )
    raise ModelError(
        f"{given}: program {program} not found; give its path, for example ./segment, or install it"
    )


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a command and the files that it names."""
    del options
    found = hashlib.sha256(source.encode())
    try:
        words = shlex.split(source.removeprefix("exec:"))
    except ValueError:  # reported when the program is to run
        words = []
    for word in words:
        if os.path.isfile(word):
            with open(word, "rb") as stream:
                found.update(hashlib.file_digest(stream, "sha256").digest())
    return found.hexdigest()


def _run_over(model: FolderModel, images: Sequence[Image], command: str) -> Batch:
    """Run the command on the images of a shard; ModelError if it cannot be run or writes nothing. An image
    that has changed since it was collected is a failure.
    """
    with held_folder() as folder:
        start = time.perf_counter()
        inward = Path(folder, "input")
        outward = Path(folder, "output")
        inward.mkdir()
        outward.mkdir()
        problems: dict[int, str] = {}
        photos: dict[int, str | None] = {}
        for k, image in enumerate(images):
            try:
                photos[k] = _copied(image, inward / f"{k:05d}")
            except ImageError as error:
                problems[k] = str(error)
        loaded = time.perf_counter()
        if len(problems) == len(images):
            return Batch(
                [Row(image.id, None, problem=problems[k]) for k, image in enumerate(images)],
                (loaded - start, 0.0, 0.0, 0.0),
            )
        try:
            status, last = run_words(f"exec:{command}", words_of(command, inward, outward), folder)
        except RefusedError as error:
            raise ModelError(f"exec:{command}: {error}") from None
        ran = time.perf_counter()
        found = {p.stem: str(p) for p in sorted(outward.rglob("*")) if p.suffix.lower() in MAP_ENDINGS}
        if not found:
            raise ModelError(
                f"exec:{command}: exited with status {status} and wrote no map{f': {last}' if last else ''}"
            )
        rows = [
            (
                Row(image.id, None, problem=problems[k])
                if k in problems
                else replace(_row(model, image, found, f"{k:05d}", status, last), photo=photos[k])
            )
            for k, image in enumerate(images)
        ]
        return Batch(rows, (loaded - start, ran - loaded, 0.0, time.perf_counter() - ran))


def _copied(image: Image, to: Path) -> str | None:
    """Write an image of the corpus for the program, keeping its file ending; return its SHA-256 if the corpus
    knows only its store's tag.

    It is a copy, because a link would let the program change the image.
    """
    data, sha = read_bytes_of(image)
    ending = Path(image.source).suffix.lower()
    if ending in IMAGE_ENDINGS:
        to.with_suffix(ending).write_bytes(data)
    else:  # a row of a Parquet file, or an address followed by options
        Picture.fromarray(rgb_of(data, image.source)).save(to.with_suffix(".png"))
    return sha if image.tagged else None


def words_of(command: str, inward: Path, outward: Path) -> list[str]:
    """Return the arguments of a command with its two folders.

    >>> words_of("segment -q", Path("/in"), Path("/out"))
    ['segment', '-q', '/in', '/out']
    >>> words_of("box -v {input}:/input -v {output}:/output", Path("/in"), Path("/out"))
    ['box', '-v', '/in:/input', '-v', '/out:/output']
    """
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise ModelError(
            f"exec:{command}: is not a command line: {error}; every quotation mark needs a second"
            " one, or a \\ before it"
        ) from None
    if not any("{input}" in word or "{output}" in word for word in words):
        words += ["{input}", "{output}"]
    return [word.replace("{input}", str(inward)).replace("{output}", str(outward)) for word in words]


def run_words(
    source: str,
    words: Sequence[str],
    folder: str,
    *,
    env: Mapping[str, str] | None = None,
    where: Path | None = None,
) -> tuple[int, str]:
    """Run the command of a source that works in ``folder``, and return its exit status and the last line that
    it printed; RefusedError if it moved the folder or put something else in its place.

    ``env`` is its whole environment, if that is not ours, and ``where`` its working directory.
    """
    made = identity(folder)
    try:
        with Path(folder, "said").open("w+b") as file:  # held open, because the program may replace it
            status = child_process.run(words, file, folder, env=env, where=where)
            file.seek(max(0, os.fstat(file.fileno()).st_size - 4000))
            lines = file.read(4000).decode("utf-8", "replace").split("\n")
    except OSError as error:
        raise ModelError(f"{source}: {words[0]} cannot be run: {error.strerror}") from None
    if identity(folder) != made:
        raise RefusedError("it moved, removed or replaced the folder in which it ran")
    return status, next((line.strip()[:300] for line in reversed(lines) if line.strip()), "")


def _row(model: FolderModel, image: Image, found: dict[str, str], number: str, status: int, last: str) -> Row:
    path = found.get(number)
    if path is None:
        return Row(
            image.id,
            None,
            problem=(
                f"the command wrote no map for it and exited with status"
                f" {status}{f': {last}' if last else ''}"
            ),
        )
    beside = found.get(f"{number}_confidence")
    try:
        code = model.read(path, image.width, image.height)
        if beside is None:
            return Row(image.id, code)
        return Row(
            image.id, code, {"confidence": (array_codes.encode(read_confidence(beside, runs.shape(code))),)}
        )
    except FaultscapeError as error:
        told = str(error).replace(path, f"the map of {image.id}")
        return Row(
            image.id,
            None,
            problem=told if beside is None else told.replace(beside, f"the confidence of {image.id}"),
        )
