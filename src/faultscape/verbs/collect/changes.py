"""What the files that a command names change in a study: they are looked at a few thousand at a time, in the
order of their ids, so that memory does not grow with their number.

Conventions: rows of new images wait in a file until the corpus is written (`new_corpus`), in the order of
their ids; those of images that the study has or had are held.
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import cast

import numpy as np

from faultscape.choices import Role
from faultscape.corpus.layouts.layout import Frame
from faultscape.corpus.sources import Found, absolute, named_as_models
from faultscape.errors import CorpusError, ImageError, counted
from faultscape.formats.packed.places import file_of
from faultscape.formats.pictures import Picture
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.study.store import is_address
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, table_of
from faultscape.study.tables.logs import Failure
from faultscape.verbs.collect import pictures
from faultscape.verbs.collect.new_corpus import RowsAside
from faultscape.verbs.options import CollectOptions

_AT_ONCE = 1 << 15  # files


@dataclass(frozen=True)
class Named:
    """What a command names: the files that were found, in the order of their ids, the ids from lists of ids,
    the arguments for both, and the prefix of the set's ids.
    """

    found: Iterable[Found]
    ids: frozenset[str]
    files: list[str]
    lists: list[str]
    prefix: str = ""
    frames: Mapping[str, Frame] = field(default_factory=dict)

    def __iter__(self) -> Iterator[Found]:
        """Yield files and ids together, in the order of their ids; an id alone has no path."""
        waiting = iter(sorted(self.ids))
        alone = next(waiting, None)
        for f in self.found:
            named = replace(f, id=f"{self.prefix}{f.id}") if self.prefix else f
            while alone is not None and alone < named.id:
                yield Found(alone, "")
                alone = next(waiting, None)
            if alone == named.id:
                alone = next(waiting, None)
            yield named
        while alone is not None:
            yield Found(alone, "")
            alone = next(waiting, None)


@dataclass
class Gathered:
    """How a command changes the corpus."""

    new: RowsAside  # images that the study never had
    changed: dict[str, Image] = field(default_factory=dict)  # those that it has or had, as they are now
    again: set[str] = field(default_factory=set)  # of these, those whose near-duplicates are searched again
    left: dict[str, Image] = field(default_factory=dict)  # those that leave it, as they were
    failures: list[Failure] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)  # all that it names, if it groups them


class Gathering:
    """Looks at the images that a command names, for a study that is locked for writing."""

    def __init__(
        self,
        study: Study,
        options: CollectOptions,
        set_name: str,
        named: Named,
        removed: Mapping[str, Image],
        notes: pictures.Notes,
        new: RowsAside,
    ) -> None:
        self._study = study
        self._options = options
        self._set = set_name
        self._named = named
        self._removed = removed
        self._notes = notes
        self._banned = pictures.Banned(options.not_in)
        self._together = pictures.Together()
        # what files are called that left the study, and those among the images that are looked at
        self._of_removed = {
            image.source: image.id for image in removed.values() if image.set == set_name and image.source
        }
        self._called_otherwise = 0
        self._first_called = ("", "")  # (file, the study's id for it)
        self._other_roles = 0
        self._altered = list[Image]()  # as they were collected
        self._refused: CorpusError | None = None  # of a file that may be dim
        self._seen = array("q")  # hashes of the ids of images that the study has
        self.gathered = Gathered(new)

    def gather(self, total: int) -> Gathered:
        """Look at all images, and report which changed, are gone, or are excluded."""
        files = iter(self._named)
        with progress("collect", total) as tick:
            while some := list(islice(files, _AT_ONCE)):
                for done in self._look_at(some):
                    tick(done)
        self._leave_out_dim()
        self._tell()
        return self.gathered

    def _look_at(self, some: list[Found]) -> Iterator[int]:
        """Look at some images; yields how many are done."""
        held, called = self._held(some)
        files = [f for f in some if f.path]
        self._seen.extend(map(hash, held))
        same = pictures.unchanged(
            held, [replace(f, id=called.get(f.id, f.id)) for f in files], self._options.storage.probe
        )
        for id_ in sorted(same):
            self._keep(held[id_])
        yield len(same)
        new = [self._alone(f.id) for f in some if not f.path and f.id not in held]
        rest = [f for f in files if called.get(f.id, f.id) not in same]
        for f, picture in pictures.probe(self._notes, rest, self._options.storage.probe):
            if isinstance(picture, ImageError):
                self._fail(f.path, str(picture).removeprefix(f"{f.path}: "))
            else:
                new.append(self._enter(replace(f, id=called.get(f.id, f.id)), picture, held))
            yield 1
        rows = sorted((row for row in new if row is not None), key=lambda row: row.id)
        self.gathered.new.add(table_of(rows, self._study.root))
        if self._options.grouping.asked:
            self.gathered.ids |= {called.get(f.id, f.id) for f in some}

    def _held(self, some: list[Found]) -> tuple[dict[str, Image], dict[str, str]]:
        """Return {id: its row} of images that the study has, and {id: the id that the study has for its
        file}.
        """
        corpus = self._study.corpus
        if not (corpus.names or self._of_removed):
            return {}, {}
        held = corpus.by_id([f.id for f in some])
        places = {f.id: absolute(f.path) for f in some if f.path}
        unlike = {id_: place for id_, place in places.items() if id_ not in held or held[id_].source != place}
        known = self._of_removed | corpus.ids_of_sources(set(unlike.values()), self._set)
        called = {id_: known[place] for id_, place in unlike.items() if known.get(place, id_) != id_}
        for f in some:
            if f.id in called:
                self._called_otherwise += 1
                self._first_called = self._first_called if self._first_called[0] else (f.path, called[f.id])
        return held | corpus.by_id([*called.values()]), called

    def _keep(self, image: Image) -> None:
        """Take an image that has not changed."""
        if (near := self._banned.near(image.dhash)) is not None:
            self._fail(image.source, f"near-duplicate of {near}, which --not-in excludes")
            self.gathered.left[image.id] = image
        elif self._options.role not in (None, image.role):
            self._other_roles += 1
            row = replace(image, role=cast("Role", self._options.role))
            self.gathered.changed[image.id] = self._of_frame(row, new=False)

    def _alone(self, id_: str) -> Image | None:
        """Return the row of an id without a file, if it is new."""
        if id_ in self._removed:
            self._change(self._removed[id_], None)
            return None
        role = self._options.role or "pool"
        return self._of_frame(Image(id_, "", self._set, role, "clean", "", 0, 0, "", None, "", -1), new=True)

    def _enter(self, f: Found, picture: Picture, held: Mapping[str, Image]) -> Image | None:
        """Take an image whose file is new or changed; returns its row if the study never had it."""
        if self._options.not_in and picture.dhash is None:
            raise CorpusError(
                f"{f.path}: --not-in must decode each image; add --probe to read all of them completely"
            )
        may_be_dim = self._together.count(f, picture)
        before = held.get(f.id)
        earlier = before or self._removed.get(f.id)
        try:
            _refuse_another_file(earlier, f, picture, self._options.images)
        except CorpusError as error:
            if not may_be_dim:
                raise
            self._refused = self._refused or error
            return None
        if earlier is not None and earlier.digest != picture.digest:
            self._altered.append(earlier)
        if (near := self._banned.near(picture.dhash)) is not None:
            self._fail(f.path, f"near-duplicate of {near}, which --not-in excludes")
            if before is not None:
                self.gathered.left[f.id] = before
            return None
        row = self._of_frame(_image(f, picture, self._set, self._options.role, earlier), new=earlier is None)
        if earlier is None:
            return row
        self._change(row, before)
        return None

    def _change(self, row: Image, before: Image | None) -> None:
        """Note the row of an image that the study has or had; its near-duplicates are searched again if it
        looks different now, or comes back.
        """
        self.gathered.changed[row.id] = row
        if before is None or before.dhash != row.dhash:
            self.gathered.again.add(row.id)

    def _of_frame(self, image: Image, *, new: bool) -> Image:
        """Return an image's row with its data set's role (if it is new), condition and group."""
        if (frame := self._named.frames.get(image.id)) is None:
            return image
        role = cast("Role", frame.role) if new and self._options.role is None else image.role
        group = image.group if self._options.grouping.group is not None else frame.group
        return replace(image, role=role, condition=frame.condition, group=group)

    def _fail(self, path: str, reason: str) -> None:
        self.gathered.failures.append(Failure("collect", self._set, path, reason))

    def _leave_out_dim(self) -> None:
        """Take back all that was done about the images of 16 bits if even the brightest is dim."""
        dim, why = self._together.dim()
        if not dim:
            if self._refused is not None:
                raise self._refused
            return
        found = self.gathered
        ids = {f.id for f in dim}
        paths = {f.path for f in dim}
        found.new.leave_out(ids)
        for id_ in ids:
            found.changed.pop(id_, None)
            found.left.pop(id_, None)
        found.again -= ids
        self._altered = [image for image in self._altered if image.id not in ids]
        # first, so that what is said of all of them is what a person reads
        found.failures = [
            *(Failure("collect", self._set, f.path, why) for f in dim),
            *(failure for failure in found.failures if failure.image not in paths),
        ]

    def _tell(self) -> None:
        """Report what was found out about all images."""
        if self._called_otherwise:
            words = (
                "file is in the study already and keeps its id",
                "files are in the study already and keep their ids",
            )
            file, id_ = self._first_called
            print(f"{counted(self._called_otherwise, *words)}: {file} is {id_}")
        self._together.tell_clipped()
        if left := self.gathered.left:
            print(
                f"{counted(len(left), 'image leaves', 'images leave')} the study: near-duplicates of images"
                " in --not-in (failures.csv)"
            )
        if self._other_roles:
            print(
                f"{counted(self._other_roles, 'existing image now has', 'existing images now have')} the role"
                f" {self._options.role}"
            )
        _tell_altered(self._study, self._altered)
        _tell_gone(
            *pictures.gone(self._study.corpus, self._set, np.unique(np.frombuffer(self._seen, np.int64)))
        )


def _image(found: Found, picture: Picture, set_name: str, role: str | None, earlier: Image | None) -> Image:
    """Return the row of an image, with values of the ``earlier`` image of this id, if any."""
    return Image(
        id=found.id,
        source=absolute(found.path),
        set=set_name,
        role=role or (earlier.role if earlier else "pool"),
        condition="clean",
        parent="",
        width=picture.width,
        height=picture.height,
        digest=picture.digest,
        dhash=picture.dhash,
        near_duplicate_of=earlier.near_duplicate_of if earlier else "",
        shard=earlier.shard if earlier else -1,
        group=earlier.group if earlier else "",
    )


def _tell_altered(study: Study, images: Sequence[Image]) -> None:
    """Report the images whose file is new or changed, and what was made from the earlier file."""
    if came := [image for image in images if not image.source]:
        print(
            f"{counted(len(came), 'id now has its image file', 'ids now have their image files')}, the first:"
            f" {came[0].id}"
        )
    if not (images := [image for image in images if image.source]):
        return
    labelled: set[str] = set()
    for folder in (label_maps.truth(study.root, name) for name in study.label_folders):
        parts = study.manifest(folder)
        for number in sorted({image.shard for image in images}):
            if part := parts.get(part_name(number)):
                labelled |= set(label_maps.read_ids(folder, number, part))
    old = sum(image.id in labelled for image in images)
    print(
        f"{counted(len(images), 'image')} changed since collection, the first: {images[0].source};"
        " maps that networks made from them are stale"
        + (f", and {old} of them have labels of the earlier file: check these again" if old else "")
    )


def _tell_gone(count: int, first: str) -> None:
    """Report how many images of the study have no file any more."""
    if count:
        print(
            f"{counted(count, 'image file of the study is', 'image files of the study are')} missing,"
            f" the first: {first}; existing maps and labels stay, but new networks cannot predict"
            " these images (failures.csv)"
        )


def _refuse_another_file(held: Image | None, found: Found, picture: Picture, given: Sequence[str]) -> None:
    """Raise CorpusError if a different file has the id of an image whose own file still exists."""
    if held is None or held.source == absolute(found.path) or held.digest == picture.digest:
        return
    if os.path.isfile(file_of(held.source)) or is_address(held.source):
        raise CorpusError(
            f"two files have the id {found.id!r}: {held.source}, which is in the study, and {found.path};"
            " rename one, or collect it into another --set"
            f"{named_as_models([place for place in given if _lies_in(found.path, place)])}"
        )


def _lies_in(path: str, place: str) -> bool:
    """Whether a file is in a folder, or below it.

    >>> _lies_in("maps/unet/a.png", "maps/unet/"), _lies_in("maps/unet2/a.png", "maps/unet")
    (True, False)
    """
    return path.startswith(os.path.join(place, ""))
