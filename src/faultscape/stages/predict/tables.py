"""The part of predict that takes tables of classifiers' answers into a study of classifiers.

Conventions: called by `predict` alone, which holds the study's lock. A table is read whole, and all shards are put; then the manifest names them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from faultscape.classes.names import shared
from faultscape.errors import ClassesError, ModelError, counted
from faultscape.prediction.sources import tables

_SHOWN = 60  # characters of a word that is no class, wherever it is named


def store(root: Path, settings: Any, name: str, source: str, labels: str | None, mine: Any) -> Any:
    """Store the answers of a table, a part a shard, and return the model as study.toml keeps it; ModelError where not one can be used."""
    from faultscape.classes.mapping import by_name, of_words
    from faultscape.prediction import catalogue
    from faultscape.study.parts import Part, key_of, read_manifest, write_manifest
    from faultscape.study.settings import ModelSettings
    from faultscape.study.tables import label_maps
    from faultscape.study.tables.corpus import each_shard, part_name

    classes, said = settings.class_list, tables.read(source)
    before, place = settings.models.get(name), catalogue.absolute("table", source)
    held = before.options.get("labels", {}) if before is not None and (before.kind, before.source) == ("table", place) else {}
    mapping = of_words(labels, settings) or held
    if lost := next((word for word, n in mapping.items() if n not in (*classes.names, "void")), None):
        raise ClassesError(
            f"{name}: {lost!r} was said to be {mapping[lost]!r}, which is no class of the study any more; give --labels FILE with today's classes"
        )
    if said.columns and not mapping and said.columns != len(classes):
        raise ModelError(
            f"{name}: {source} has probabilities of {said.columns} classes, the study {len(classes)}; give --labels FILE that says which class each column is, or void"
        )
    known = {str(id_): n for id_, n in zip(classes.ids, classes.names, strict=True)}
    known |= dict(zip(classes.wnids, classes.names, strict=False)) | {n: n for n in classes.names}
    known = {str(place): n for place, n in enumerate(classes.names)} if said.columns else known
    ids = dict(zip(classes.names, classes.ids, strict=True))
    everything = said.words.ravel().tolist()
    words = sorted(set(everything))
    place_of_word = np.array([*map(dict(zip(words, range(len(words)), strict=True)).__getitem__, everything)], np.intp)
    meaning = tables.meanings(words, lambda word: known.get(word) or by_name(word, settings), ids, mapping)
    if words and (meaning == tables.UNKNOWN).all():
        some = ", ".join(repr(word[:_SHOWN]) for word in words[:6])
        doubtful = next((f": {why}" for word in words if (why := shared(word, classes))), "")
        raise ModelError(
            f"{name}: not one label of {source} ({some}) is a class of the study{doubtful}; say what they mean with --labels FILE"
        )
    numbers = meaning[place_of_word].reshape(said.words.shape)
    codes = _codes(numbers, said.probabilities)
    shards = list(each_shard(root))
    everybody = [image for _, rows in shards for image in rows]
    rows_of, others = tables.rows_of(said, [image.id for image in everybody], source, unclear=_unclear(settings, everybody))
    if others:
        print(f"{name}: {counted(others, 'line')} of {source} left out, of no image of the study")
    path, _ = tables.split(source) or (source, ())
    digest = hashlib.sha256(Path(path).read_bytes()).hexdigest()
    key = f"{label_maps.classes_key(settings)}:{key_of(digest, source.removeprefix(path), mapping)}"
    where, parts, strange = label_maps.predictions(root, name), {}, Counter()
    for number, images in shards:
        if mine.has(number):
            maps, failures = _answers(said.words, codes, rows_of, images, strange)
            sha = label_maps.put_maps(where, number, maps)
            parts[part_name(number)] = Part(sha, len(maps), key, tuple(failures))
    for word, times in strange.most_common(5):
        why = f"; {doubtful}" if (doubtful := shared(word, classes)) else ""
        print(
            f"{name}: {counted(times, 'image says', 'images say')} {word!r}, which is no class of the study (failures.csv){why}; --labels FILE says what labels mean"
        )
    write_manifest(where, read_manifest(where) | parts)
    return ModelSettings(source=place, kind="table", options={"labels": mapping} if mapping else {})


def _unclear(settings: Any, images: Sequence[Any]) -> str:
    """Return why rows without names could be images in more than one order, or nothing where all orders at hand are one.

    People list images as their list does, as rows stand in Parquet, or sorted as a computer sorts names (image 10 before image 9); what is one folder's is together.
    """
    from faultscape.corpus.id_lists import counting
    from faultscape.corpus.parquet_rows import row_of

    if settings.own_order:
        return "a list gave the study's images in an order of its own"
    order = sorted(images, key=lambda image: counting(image.id))
    rows = [row_of(image.source) for image in order]
    if len({_folder(image, row) for image, row in zip(images, map(row_of, (i.source for i in images)), strict=True)}) > 1:
        return "the study's images come from several lists, folders or sets"
    if rows[0] is not None and rows != sorted(rows, key=lambda row: row or ("", 0)):
        return "the rows of its Parquet file stand in another order than their ids"
    plain = sorted(image.id for image in images)
    if rows[0] is None and order[0].source and plain != [image.id for image in order]:
        at = next(k for k, image in enumerate(order) if image.id != plain[k])
        return f"image {at + 1} is {order[at].id!r} as people count, and {plain[at]!r} as names are sorted"
    return ""


def _folder(image: Any, row: tuple[str, int] | None) -> tuple[str, str]:
    """Return the set of an image, and the folder or file that its id is relative to."""
    own = image.id if image.set == "main" else image.id.removeprefix(f"{image.set}/")
    return image.set, row[0] if row else image.source.rpartition(own)[0]


def _codes(numbers: np.ndarray, probabilities: np.ndarray | None) -> list[bytes]:
    """Return the code of each row's answer, nothing where its first label is no class; other labels that are none are left out."""
    from faultscape.maps import class_answers

    known = numbers != tables.UNKNOWN
    order = np.argsort(~known, axis=1, kind="stable")
    rows = np.flatnonzero(known[:, 0])
    sure = None if probabilities is None else np.take_along_axis(probabilities, order, 1)[rows]
    made = class_answers.encode_all(np.take_along_axis(numbers, order, 1)[rows], sure, known.sum(1)[rows])
    found = dict(zip(rows.tolist(), made, strict=True))
    return [found.get(row, b"") for row in range(len(numbers))]


def _answers(
    words: np.ndarray, codes: list[bytes], rows_of: dict[str, int], images: Sequence[Any], strange: Counter[str]
) -> tuple[list[Any], list[tuple[str, str]]]:
    """Return the answers of one shard's images, and (image, why) of those that have none; words that are no class are counted in ``strange``."""
    from faultscape.study.tables.label_maps import StoredMap

    maps, failures = [], []
    for image in images:
        row = rows_of.get(image.id)
        if row is None:
            failures.append((image.id, "the table has no line of this image"))
        elif codes[row]:
            maps.append(StoredMap(image.id, codes[row]))
        else:
            word = str(words[row, 0])[:_SHOWN]
            strange.update([word] if word else [])
            failures.append((image.id, f"{word!r} is no class of the study" if word else "the table has no label of this image"))
    return maps, failures
