"""A study in a temporary folder, on which the verbs answer one question.

Conventions: nothing is computed here but by the verbs, so that an answer equals, to the last digit, that of a
study of the same images and maps in files. Images keep their order: their ids are numbers, or those given.
Ties follow the digest of the image's file, as in any study: images in memory are written as PNG by
`formats.png.encode_pixels`. Without images there is no digest, and the id decides, as in a study that was
collected from a list of ids.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

from faultscape.corpus.shards import grouped, sharded
from faultscape.errors import FaultscapeError, LabellingError, ModelError, counted
from faultscape.formats import from_memory
from faultscape.questions.answers import Better
from faultscape.questions.given import Given, Key, Labels
from faultscape.reading.study import Study
from faultscape.study.settings import (
    CLASSIFICATION,
    Settings,
    class_settings,
    gloss_settings,
    synonym_settings,
    write_settings,
)
from faultscape.study.tables.corpus import Image, write_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.verbs import label
from faultscape.verbs.collect import collect
from faultscape.verbs.compare import compare
from faultscape.verbs.predict import predict
from faultscape.verbs.rank import rank

HERE = "local"  # the engine: small work is done before a process has started
_STUDY = "STUDY"  # stands for the folder in what people read

_OPTIONS = frozenset({"budget", "goal", "per-class", "seed", "top"})  # those that questions have too


@contextmanager
def own_notes() -> Iterator[None]:
    """Print the notes of a verb in the words of a question."""
    told = io.StringIO()
    with redirect_stdout(told):
        yield
    for line in told.getvalue().splitlines():
        print(own_words(line))


def own_words(line: str) -> str:
    """Return a message of a verb without what only a study has: commands, and options that questions lack.

    >>> own_words("1 image is few; `select --budget 12` draws more; another --seed, others")
    '1 image is few; another seed, others'
    """
    first, *others = line.split("; ")
    kept = [
        clause for clause in others if "`" not in clause and {*re.findall(r"--([a-z-]+)", clause)} <= _OPTIONS
    ]
    return re.sub(r"--([a-z-]+)", lambda word: word[1].replace("-", "_"), "; ".join([first, *kept]))


class ShortStudy:
    """A study of what was given, in a temporary folder that is gone when the question is answered."""

    def __init__(self, root: Path, given: Given) -> None:
        self.root = root
        self.given = given
        self.asked = list[Key]()  # of which images a label was asked, in this order
        self.labelled = list[Key]()

    @classmethod
    @contextmanager
    def of(cls, given: Given) -> Iterator[ShortStudy]:
        """Yield the study with its images and predictions, and the disagreement of its models."""
        with tempfile.TemporaryDirectory(prefix="faultscape-") as folder:
            study = cls(Path(folder, "study"), given)
            with redirect_stdout(io.StringIO()):  # notes on files that nobody has seen
                study._collect()
            predict(study.root, dict(study._models()), engine=HERE)
            study._tell_failures()
            if given.task != CLASSIFICATION:
                compare(study.root, engine=HERE)
            try:
                yield study
            except FaultscapeError as error:  # of a study that nobody has seen
                error.args = study._without_place(own_words(str(part)) for part in error.args)
                raise

    @property
    def study(self) -> Study:
        """The study as it is now."""
        return Study(self.root)

    @cached_property
    def ids(self) -> dict[Key, str]:
        """{key of an image: its id in the study}."""
        if self.given.images is None:
            return dict(zip(self.given.keys, self._names(), strict=True))
        by_place = {image.source: image.id for image in self.study.corpus.images()}
        return {key: by_place[file] for key, file in zip(self.given.keys, self._files, strict=True)}

    @cached_property
    def keys(self) -> dict[str, Key]:
        """{id of an image in the study: its key}."""
        return {id_: key for key, id_ in self.ids.items()}

    def label_chosen(self, selection: str, labels: Labels) -> None:
        """Import the labels of a selection's images, one image at a time; where there is none, discard the
        image, and label the spare that follows instead.
        """
        sizes = {image.id: (image.width, image.height) for image in self.study.corpus.images()}
        while todo := [
            self.keys[id_]
            for id_ in self.study.selection(selection).now.images
            if self.keys[id_] not in self.asked
        ]:
            found = {key: labels.of(key, sizes[self.ids[key]]) for key in todo}
            self.asked += todo
            self.labelled += [key for key, one in found.items() if one is not None]
            with redirect_stdout(io.StringIO()):
                self._import({self.ids[key]: one for key, one in found.items() if one is not None})
                self._discard([self.ids[key] for key, one in found.items() if one is None])

    def ranked(self, selection: str, seed: int) -> Better:
        """Return the standings of a selection, with the verdict on the study; LabellingError without any
        label.
        """
        if not self.labelled:
            raise LabellingError(
                f"label: gave None for {counted(len(self.asked), 'chosen image')}; give the mask or class id"
                " of one at least"
            )
        with redirect_stdout(io.StringIO()):
            found = rank(self.root, selection=selection, seed=seed, engine=HERE)
        verdict = replace(found.verdict, lines=self._without_place(found.verdict.lines), next="", hours=None)
        found = replace(found, verdict=verdict, notes=self._without_place(found.notes))
        return Better(**vars(found), labelled=tuple(self.labelled))

    def _without_place(self, lines: Iterable[str]) -> tuple[str, ...]:
        return tuple(line.replace(str(self.root), _STUDY) for line in lines)

    def _names(self) -> list[str]:
        return [f"{key:06}" if isinstance(key, int) else key for key in self.given.keys]

    @cached_property
    def _files(self) -> list[str]:
        """The files of the images, in the order given; those in memory are written."""
        images = list(self.given.images or ())
        if all(map(from_memory.is_place, images)):
            files = [os.path.abspath(os.fspath(image)) for image in images]
            if twice := next((file for file in files if files.count(file) > 1), ""):
                raise ModelError(f"images: {twice} is given twice; give each image once")
            if gone := next((file for file in files if not os.path.isfile(file)), ""):
                raise ModelError(f"images: there is no file {gone}")
            return files
        folder = self.root.parent / "images"
        folder.mkdir()
        return [str(file) for file in from_memory.write_images(images, folder)]

    def _collect(self) -> None:
        given = self.given
        if given.images is None:
            self._collect_ids()
            return
        listed = self.root.parent / "images.txt"
        listed.write_text(
            "".join(f"{file}\n" for file in self._files), encoding="utf-8", errors="surrogateescape"
        )
        collect(self.root, listed, task=given.task, classes=given.classes)
        if failed := read_failures(self.root):
            raise ModelError(f"images: {failed[0].image}: {failed[0].reason}")

    def _collect_ids(self) -> None:
        """Make the study of images that are not here: their ids, and the sizes of their maps."""
        given = self.given
        classes = class_settings(given.classes, given.task)
        settings = Settings(
            task=given.task,
            classes=classes,
            synonyms=synonym_settings(given.classes),
            glosses=gloss_settings(given.classes, given.task),
            size="own",
            shard=1024,
        )
        sizes = given.sizes() if given.task != CLASSIFICATION else [(0, 0)] * len(given.keys)
        images = [
            Image(id_, "", "main", "pool", "clean", "", width, height, "", None, "", -1)
            for id_, (width, height) in zip(self._names(), sizes, strict=True)
        ]
        self.root.mkdir()
        write_settings(self.root, settings)
        write_corpus(self.root, grouped(sharded(images, settings.shard)))

    def _models(self) -> Iterator[tuple[str, Any]]:
        for name, maps in self.given.maps.items():
            is_function = from_memory.is_function(maps)
            yield name, maps if is_function else dict(zip(self.ids.values(), maps, strict=True))

    def _tell_failures(self) -> None:
        """Print how many answers of a model cannot be used."""
        failed = [row for row in read_failures(self.root) if row.stage == "predict"]
        for name in dict.fromkeys(row.name for row in failed):
            mine = [row for row in failed if row.name == name]
            print(
                f"note: {name}: {counted(len(mine), 'image')} without a usable answer, left out; the first:"
                f" {self.keys[mine[0].image]}: {mine[0].reason}"
            )

    def _import(self, found: dict[str, Any]) -> None:
        if found:
            label.import_(self.root, found)

    def _discard(self, ids: Sequence[str]) -> None:
        if ids:
            table = self.root.parent / "discard.csv"
            table.write_text(
                "image,reason\n" + "".join(f'"{id_}",no label\n' for id_ in ids), encoding="utf-8"
            )
            label.import_(self.root, table)
