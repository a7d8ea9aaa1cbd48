"""Labels of many images in one file of a labelling tool: which belong to which image, and to whom.

Conventions: the label of an image is read when it is needed; a reader returns (H, W) ids of the study's class
list, at the image's size, counts the shapes without an area in the Counter it is given, and raises
LabelMapError or LabellingError. If a tool records who drew, each
person's labels become a truth of their own.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TypeVar

import numpy as np

from faultscape.classes.mapping import class_named
from faultscape.corpus.id_lists import without_ending
from faultscape.corpus.matches import fit_images, near_images, tell_twins
from faultscape.corpus.sources import Found, id_pattern
from faultscape.errors import CorpusError, LabellingError, LabelMapError, closest, counted, shortened
from faultscape.formats.label_tools.tool_labels import ToolLabel
from faultscape.formats.labelme import wrong_size
from faultscape.labelling.catalogue import Format
from faultscape.labelling.format_calls import plain_errors, recognises
from faultscape.nouns import Classes
from faultscape.reading.study import Study
from faultscape.study.tables.corpus import Corpus, Image
from faultscape.study.tables.logs import Failure, read_failures, replace_failures
from faultscape.verbs.label.mask_files import Reader, ReadInstances

Said = TypeVar("Said")

_PHOTOS = "images/"
_MOST_FILES = 1000  # most files of a folder to open


@dataclass
class ToolFiles:
    """The contents of tool files: {annotator, or '': {image id: reader of its label}}, {image id: reader of
    its instances} of tools that tell objects apart but not people, and how many images have no drawing yet.
    """

    readers: dict[str, dict[str, Reader]] = field(default_factory=dict)
    instances: dict[str, ReadInstances] = field(default_factory=dict)
    empty: int = 0
    formats: list[str] = field(default_factory=list)


def bundles(source: Path, formats: Sequence[Format]) -> list[tuple[Path, Format]]:
    """Return the tool files that a source is, or that are in its folder, each with its format."""
    there = [source] if source.is_file() else sorted(p for p in source.iterdir() if p.is_file())[:_MOST_FILES]
    found = []
    for path in there:
        for form in formats:
            if recognises(form, path):
                found.append((path, form))
                break
    return found


def read_bundles(
    found: Sequence[tuple[Path, Format]],
    images: Mapping[str, Image] | Corpus,
    classes: Classes,
    pattern: str | None = None,
) -> ToolFiles:
    """Return the labels in tool files for the study's images; images that match none are reported. A
    ``pattern`` says how the names of images in the tool become ids, as for names of files.

    LabellingError for a file that cannot be read, or that has no image of the study.
    """
    out = ToolFiles()
    read = list[tuple[Path, Format, list[ToolLabel]]]()
    for path, form in found:
        with plain_errors(form, path):
            read.append((path, form, list(form.read(path))))
    names = dict.fromkeys(label.image for *_, labels in read for label in labels)
    near = near_images(images, chain.from_iterable(_ways(name, pattern) for name in names))
    for path, form, labels in read:
        out.formats += [form.title] if form.title not in out.formats else []
        for annotator, mine in _by_annotator(labels).items():
            fitting = images_meant(path, [label.image for label in mine], near, pattern)
            readers = out.readers.setdefault(annotator, {})
            drawn = {id_ for id_, place in fitting.items() if mine[place].drawn}
            if again := len(drawn & readers.keys()):
                replaced = counted(again, "label of an earlier file is", "labels of earlier files are")
                print(f"{path}: {replaced} replaced by those of the same images in it")
            for id_, place in fitting.items():
                label = mine[place]
                if label.drawn:
                    readers[id_] = partial(_ids, form, label, near[id_], classes)
                    if label.instances is not None:
                        out.instances[id_] = partial(label.instances, classes)
                else:
                    out.empty += 1
    return out


def _ways(name: str, pattern: str | None) -> Iterator[str]:
    """Yield the ids that a name of a tool may mean, as far as their last parts tell."""
    yield from (name, without_ending(name))
    if pattern:
        found = map(id_pattern(pattern).fullmatch, (name, name.removeprefix(_PHOTOS)))
        yield from (match["id"] for match in found if match)


def truth_of(truth: str, annotator: str) -> str:
    """Return the name of the truth of one annotator's labels.

    >>> truth_of("labels", ""), truth_of("labels", "ann@example.org")
    ('labels', 'labels-ann-example.org')
    """
    return (
        f"{truth}-{re.sub(r'[^A-Za-z0-9_.-]+', '-', annotator).strip('-.') or 'somebody'}"
        if annotator
        else truth
    )


def _by_annotator(labels: Iterable[ToolLabel]) -> dict[str, list[ToolLabel]]:
    found: dict[str, list[ToolLabel]] = {}
    for label in labels:
        found.setdefault(label.annotator, []).append(label)
    return found


def images_meant(
    path: Path, names: Sequence[str], images: Mapping[str, Image], pattern: str | None = None
) -> dict[str, int]:
    """Return {image id: the place of the last name that means it} of the names that a file of a tool gives
    images; how many others mean one of these, and those that mean none, are reported. LabellingError if a
    name means two images.
    """
    named = images_named(path, names, images, pattern)
    meant = {id_: place for place, id_ in named.items()}
    if twice := len(named) - len(meant):
        print(f"{path}: {counted(twice, 'label is', 'labels are')} replaced by a later one of the same image")
    return meant


def images_named(
    path: Path, names: Sequence[str], images: Mapping[str, Image], pattern: str | None = None
) -> dict[int, str]:
    """Return {place: image id} of the names that a file of a tool gives images, in their order; names that
    mean none are reported. LabellingError if a name means two images.
    """
    try:
        return _fitting(path, names, images, pattern)
    except CorpusError as error:
        raise LabellingError(str(error)) from None


def joined_answers(parts: Iterable[tuple[str, Mapping[str, Said]]]) -> tuple[dict[str, Said], str]:
    """Return {class: what one person says about it in an image}, of all places (where, {class: what it says})
    of an import, and how two of them contradict each other, '' if none do.

    >>> joined_answers([("a.csv, line 2", {"car": "yes"}), ("a.csv, line 3", {"road": "no"})])
    ({'car': 'yes', 'road': 'no'}, '')
    >>> joined_answers([("a.csv, line 2", {"car": "yes"}), ("a.csv, line 3", {"car": "no"})])[1]
    'a.csv, line 3: contradicts a.csv, line 2 about car in this image'
    """
    first = dict[str, tuple[str, Said]]()
    for where, said in parts:
        for name, what in said.items():
            there, other = first.setdefault(name, (where, what))
            if other != what:
                return {}, f"{where}: contradicts {there} about {name} in this image"
    return {name: what for name, (_, what) in first.items()}, ""


def classes_meant(
    study: Study, source: str, used: Mapping[str, int], listed: Iterable[str], one: str, many: str
) -> dict[str, str]:
    """Return {name in files: class of the study}, of names ``used`` {name: how often} and of others that the
    files list; names of no class are reported, with how many of ``one`` thing or ``many`` have them.
    LabellingError if there are only such.
    """
    words = sorted({*used, *listed})
    found = {word: class_named(word, study.settings)[1] for word in words}
    known = study.classes.names
    other = [word for word in words if not found[word]]
    if words and len(other) == len(words):
        raise LabellingError(
            f"{source}: no name in it is a class of the study: {shortened(other)}; known are"
            f" {shortened(known)}.{closest(other[0], known)}"
        )
    if other:
        number = sum(used.get(word, 0) for word in other)
        print(
            f"{source}: {counted(number, one, many)} of {counted(len(other), 'name')} that the study lacks"
            f" say nothing about its classes: {shortened(other)}.{closest(other[0], known)}"
        )
    return {word: name for word, name in found.items() if name}


def keep_failures(
    study: Study, stage: str, truth: str, wrong: Iterable[tuple[str, str]], done: Iterable[str]
) -> list[Failure]:
    """Write (image, why) of what cannot be used to failures.csv, beside those of earlier imports of other
    images than these and those ``done``; return the new ones.
    """
    failures = [Failure(stage, truth, image, why) for image, why in wrong]
    again = {failure.image for failure in failures} | {*done}
    held = [one for one in read_failures(study.root) if (one.stage, one.name) == (stage, truth)]
    rest = [one for one in held if one.image not in again]
    replace_failures(study.root, stage, truth, rest + failures)
    return failures


def _named_by(path: Path, names: Sequence[str], pattern: str) -> dict[int, str]:
    """Return {place of a name that matches a pattern: the id that it makes of it}; the others are counted and
    reported. CorpusError if none matches.
    """
    matcher = id_pattern(pattern)
    named: dict[int, str] = {}
    rest = list[str]()
    for place, name in enumerate(names):
        ways = (name, name.removeprefix(_PHOTOS))
        found = next((m for way in ways if (m := matcher.fullmatch(way))), None)
        if found:
            named[place] = found["id"]
        else:
            rest.append(name)
    if not named:
        raise CorpusError(f"{path}: no image name matches the pattern {pattern!r}; the first is {rest[0]!r}")
    if rest:
        print(
            f"{path}: {counted(len(rest), 'image name does', 'image names do')} not match the pattern and"
            f" {'is' if len(rest) == 1 else 'are'} skipped; the first: {rest[0]}"
        )
    return named


def _fitting(
    path: Path, names: Sequence[str], images: Mapping[str, Image], pattern: str | None
) -> dict[int, str]:
    """Return {place: image id}, in the order of places. LabellingError if a name means two images."""
    ids = _named_by(path, names, pattern) if pattern else dict(enumerate(map(without_ending, names)))
    exact = dict[str, int]()
    shown = [ids[k] if pattern else names[k] for k in ids]
    for k, id_ in zip(ids, _whole_names(path, shown, images), strict=True):
        if id_:
            exact.setdefault(id_, k)
    if len(exact) == len(ids):
        tell_twins(str(path), exact, images)
        return {k: id_ for id_, k in exact.items()}
    last = {id_: k for k, id_ in ids.items()}
    place_of = {f"{path}: {ids[k] if pattern else names[k]}": k for k in last.values()}
    found = [Found(ids[k], name) for name, k in place_of.items()]
    matched = fit_images(str(path), found, images, pattern=pattern)
    meant = {ids[place_of[name]]: id_ for id_, name in matched.items()}
    if rest := sorted(name for name in last if name not in meant):
        print(
            f"{path}: {counted(len(rest), 'image is', 'images are')} not in the study and skipped; the"
            f" first: {rest[0]}"
        )
    return {k: meant[name] for k, name in ids.items() if name in meant}


def _whole_names(path: Path, names: Sequence[str], images: Mapping[str, Image]) -> list[str]:
    """Return the image that each name means as a whole, as it is or as `label export` writes it (in images/),
    '' for none. Where both mean images, all names of a file are read in the one way in which each of them
    means another image; LabellingError if there is no such way, or both are.
    """
    plain = [_held(name, images) for name in names]
    exported = [_held(name.removeprefix(_PHOTOS), images) for name in names]
    both = [k for k in range(len(names)) if plain[k] and exported[k] and plain[k] != exported[k]]
    if not both:
        return [one or other for one, other in zip(plain, exported, strict=True)]
    fits = [all(way) and len(set(way)) == len(way) for way in (plain, exported)]
    if fits[0] == fits[1]:
        k = both[0]
        raise LabellingError(
            f"{path}: {names[k][:200]!r} may be image {plain[k]!r} or, as `label export` names it,"
            f" {exported[k]!r}; rename one of the two images in the study"
        )
    return plain if fits[0] else exported


def _held(name: str, images: Mapping[str, Image]) -> str:
    return next((way for way in (name, without_ending(name)) if way in images), "")


def _ids(
    form: Format, label: ToolLabel, image: Image, classes: Classes, left_out: Counter[str]
) -> np.ndarray:
    """Return the ids of one label, at the image's size and of the class list; LabelMapError or LabellingError
    otherwise.
    """
    photo = (image.width, image.height)
    if label.size != photo:
        raise LabelMapError(f"{label.where}: {wrong_size(label.size, photo)}")
    with plain_errors(form, label.where):
        ids = label.read(classes)
    if ids.shape[::-1] != photo:
        raise LabelMapError(f"{label.where}: {wrong_size(ids.shape[::-1], photo)}")
    known = {*classes.ids, *classes.void}
    if odd := [int(v) for v in np.unique(ids) if int(v) not in known]:
        raise LabellingError(f"{label.where}: format {form.name}: {odd[0]} is not an id of the class list")
    left_out.update(label.without_area)
    return ids
