"""A table of a classifier's answers as a model of a study: which row is whose, and what its words mean among
the study's classes.

Conventions: a table is read whole. Words become ids of the classes that the study has now, and the key of a
part begins with these; answers keep the order of the table, the likeliest first. Rows are found once, for all
images of the study: a worker is told the row of each image of its shard.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from faultscape.classes.mapping import by_name, never_named, of_words
from faultscape.classes.names import shared
from faultscape.corpus.id_lists import counting
from faultscape.corpus.parquet_rows import row_of
from faultscape.errors import ClassesError, ModelError, counted
from faultscape.maps import class_answers
from faultscape.prediction.batches import NO_LABEL, NO_ROW, Batch, Row
from faultscape.prediction.source import Opening, OpenModel, Origin, Part, Request, Source
from faultscape.prediction.sources import tables
from faultscape.study.parts import key_of
from faultscape.study.settings import CLASSIFICATION, ModelOptions, Settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image

_SHOWN = 60  # characters of a word that is not a class, wherever it is named
_NAMED = 5  # words that are not classes, the most frequent


class AnswerTable(OpenModel):
    """A table whose words are looked up among the study's classes; ``codes`` are its rows' answers, nothing
    where the first label is not a class.
    """

    def __init__(self, opening: Opening, settings: Settings, name: str = "") -> None:
        opening.refuse_changes(digest(opening.source, {}))
        self.said = tables.read(opening.source)
        self._codes = _codes(
            _numbers(self.said, opening, settings, name or opening.source), self.said.probabilities
        )

    def batches(self, batches: Iterable[Sequence[Image]], part: Part) -> Iterator[Batch]:
        """Yield the answers in the rows that ``part.files`` names."""
        for batch in batches:
            start = time.perf_counter()
            rows = [self._row(image, part.files.get(image.id)) for image in batch]
            yield Batch(rows, (time.perf_counter() - start, 0.0, 0.0, 0.0))

    def strange_words(self, rows: Iterable[int]) -> Counter[str]:
        """Return the words of these rows that are not classes, and how many rows say each."""
        words = (self._word(row) for row in rows if not self._codes[row])
        return Counter(word for word in words if word)

    def _row(self, image: Image, row: str | None) -> Row:
        if row is None:
            return Row(image.id, None, problem="" if image.parent else NO_ROW)
        if code := self._codes[int(row)]:
            return Row(image.id, code)
        word = self._word(int(row))
        return Row(image.id, None, problem=f"{word!r} is not a class of the study" if word else NO_LABEL)

    def _word(self, row: int) -> str:
        return str(self.said.words[row, 0])[:_SHOWN]


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a table of a classifier's answers.

    >>> recognised("preds.csv:resnet50", "classification"), recognised("files.csv", "segmentation")
    (True, False)
    """
    return task == CLASSIFICATION and tables.split(source) is not None


def check(name: str, source: str) -> None:
    """ModelError where there is no such file."""
    if not there(source):
        raise ModelError(f"{name}={source}: there is no such file")


def there(source: str) -> bool:
    """Whether the file of a table is there."""
    return Path(_parted(source)[0]).is_file()


def kept_as(source: str) -> str:
    """Return a table with its path made absolute, and the column as it is."""
    path, picked = _parted(source)
    return ":".join([os.path.abspath(path), *picked])


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a table's file."""
    del options
    path = _parted(source)[0]
    return hashlib.sha256(Path(path).read_bytes()).hexdigest() if Path(path).is_file() else ""


def origin(source: Source, request: Request) -> Origin:
    """Return what the answers of a table follow from, and the rows of the study's images; ModelError where
    not one answer can be used.
    """
    name = request.name
    place = request.source
    settings = request.settings
    held = request.options.get("labels", {})
    mapping = of_words(request.labels, settings) or (held if isinstance(held, dict) else {})
    _refuse_lost_classes(name, mapping, settings)
    options: ModelOptions = {"labels": mapping} if mapping else {}
    sha = source.digest(place, {})
    opened = AnswerTable(Opening(source.name, place, options, digest=sha), settings, name)
    shards = list(request.shards())
    notes = list(opened.said.notes)
    images = [image for _, rows in shards for image in rows]
    collected = [image for image in images if not image.parent]  # rows without names are of these
    named = collected if opened.said.images is None else images
    rows_of, others = tables.rows_of(
        opened.said, [image.id for image in named], place, unclear=_unclear(settings, named), say=notes.append
    )
    if others:
        notes.append(f"{name}: {counted(others, 'line')} of {place} left out: not an image of the study")
    for word, times in opened.strange_words(
        rows_of[image.id] for image in images if image.id in rows_of
    ).most_common(_NAMED):
        why = f"; {doubtful}" if (doubtful := shared(word, settings.class_list)) else ""
        notes.append(
            f"{name}: {counted(times, 'image says', 'images say')} {word!r}, which is not a class of the"
            f" study (failures.csv){why}; --labels FILE says what labels mean"
        )
    if opened.said.columns and mapping and (never := never_named(mapping, settings.class_list)):
        notes.append(
            f"note: {name}: never names {len(never)} of {len(settings.class_list)} classes, of which it has"
            f" no column: {', '.join(never[:6])}{' ...' * (len(never) > 6)}"
        )
    files = {
        shard: {image.id: str(rows_of[image.id]) for image in rows if image.id in rows_of}
        for shard, rows in shards
    }
    first = settings.classes.first_name_of  # a class that is called something else now means what it meant
    meant = {word: first.get(class_, class_) for word, class_ in mapping.items()}
    key = f"{label_maps.classes_key(settings)}:{key_of(sha, place.removeprefix(_parted(place)[0]), meant)}"
    synonyms = {first.get(class_, class_): words for class_, words in settings.synonyms.items()}
    words = (synonyms, settings.classes.wnids)  # by which a word may mean another class than before
    stamps = {
        shard: f"{key_of(key, words, [image.id for image in rows], files[shard])}:" for shard, rows in shards
    }
    keys = dict.fromkeys(files, key)
    return Origin(options, {}, stamps, files, keys, tuple(notes), digest=sha, opened=opened)


def _parted(source: str) -> tuple[str, tuple[str, ...]]:
    return tables.split(source) or (source, ())


def _refuse_lost_classes(name: str, mapping: dict[str, str], settings: Settings) -> None:
    """ClassesError for a mapping that names a class that is no longer in the study."""
    if lost := next(
        (word for word, n in mapping.items() if n not in (*settings.classes.names, "void")), None
    ):
        raise ClassesError(
            f"{name}: {lost!r} was said to be {mapping[lost]!r}, which is no longer a class of the study;"
            " give --labels FILE with the current classes"
        )


def _numbers(said: tables.Said, opening: Opening, settings: Settings, name: str) -> np.ndarray:
    """Return (I, K) the class id of each of a table's words, -1 for void and tables.UNKNOWN for what is not a
    class; ModelError where none is one.
    """
    classes = settings.class_list
    held = opening.options.get("labels", {})
    source = opening.source
    mapping = held if isinstance(held, dict) else {}
    if said.columns and not mapping and said.columns != len(classes):
        raise ModelError(
            f"{name}: {source} has probabilities for {said.columns} classes, but the study has"
            f" {len(classes)}; give a --labels FILE that maps each column to a class or void"
        )
    known = {str(id_): n for id_, n in zip(classes.ids, classes.names, strict=True)}
    known |= dict(zip(classes.wnids, classes.names, strict=False)) | {n: n for n in classes.names}
    known = {str(place): n for place, n in enumerate(classes.names)} if said.columns else known
    ids = dict(zip(classes.names, classes.ids, strict=True))
    everything = said.words.ravel().tolist()
    words = sorted(set(everything))
    place_of_word = np.array(
        [*map(dict(zip(words, range(len(words)), strict=True)).__getitem__, everything)], np.intp
    )
    meaning = tables.meanings(words, lambda word: known.get(word) or by_name(word, settings), ids, mapping)
    if words and (meaning == tables.UNKNOWN).all():
        some = ", ".join(repr(word[:_SHOWN]) for word in words[:6])
        doubtful = next((f": {why}" for word in words if (why := shared(word, classes))), "")
        raise ModelError(
            f"{name}: not one label of {source} ({some}) is a class of the study{doubtful}; map them with"
            " --labels FILE"
        )
    return meaning[place_of_word].reshape(said.words.shape)


def _unclear(settings: Settings, images: Sequence[Image]) -> str:
    """Return why rows without names could be images in more than one order, or nothing where all available
    orders are the same.

    People list images as their list does, as rows stand in Parquet, or sorted as a computer sorts names
    (image 10 before image 9); what is one folder's is together.
    """
    if settings.own_order:
        return "the study's images were collected from a list in its own order"
    order = sorted(images, key=lambda image: counting(image.id))
    rows = [row_of(image.source) for image in order]
    if (
        len(
            {
                _folder(image, row)
                for image, row in zip(images, map(row_of, (i.source for i in images)), strict=True)
            }
        )
        > 1
    ):
        return "the study's images come from several lists, folders or sets"
    if rows[0] is not None and rows != sorted(rows, key=lambda row: row or ("", 0)):
        return "the rows of its Parquet file are in a different order than their ids"
    plain = sorted(image.id for image in images)
    if rows[0] is None and order[0].source and plain != [image.id for image in order]:
        at = next(k for k, image in enumerate(order) if image.id != plain[k])
        return f"image {at + 1} is {order[at].id!r} as people count, and {plain[at]!r} as names are sorted"
    return ""


def _folder(image: Image, row: tuple[str, int] | None) -> tuple[str, str]:
    """Return the set of an image, and the folder or file that its id is relative to."""
    own = image.id if image.set == "main" else image.id.removeprefix(f"{image.set}/")
    return image.set, row[0] if row else image.source.rpartition(own)[0]


def _codes(numbers: np.ndarray, probabilities: np.ndarray | None) -> list[bytes]:
    """Return the code of each row's answer, nothing where its first label is not a class; other labels that
    are none are left out.
    """
    known = numbers != tables.UNKNOWN
    order = np.argsort(~known, axis=1, kind="stable")
    rows = np.flatnonzero(known[:, 0])
    sure = None if probabilities is None else np.take_along_axis(probabilities, order, 1)[rows]
    made = class_answers.encode_all(np.take_along_axis(numbers, order, 1)[rows], sure, known.sum(1)[rows])
    found = dict(zip(rows.tolist(), made, strict=True))
    return [found.get(row, b"") for row in range(len(numbers))]
