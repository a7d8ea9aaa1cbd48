"""Which file belongs to each image of a corpus, shard by shard, however many there are: what `matches.fit`
finds, without all names in memory.

Conventions: files and images are put aside by the last part of their names, which decides how they can match,
and matched a few at a time; then by shard. Images made from others match only by their full ids, so that they
never take their parents' files. What is held of each image is a twentieth of its names, on the disk.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import overload

from faultscape.corpus.matches import (
    KINDS,
    AmbiguousError,
    by_tail,
    kinds_text,
    none_fits,
    suffix_text,
    tail_text,
    whole,
)
from faultscape.corpus.records_aside import BytesAside, Scattered
from faultscape.corpus.sources import MAP_ENDINGS, Files, Found, files_of
from faultscape.corpus.walks import Say, SharedSuffix
from faultscape.study.tables.corpus import Image

# reads a corpus shard by shard, at every call
Shards = Callable[[], Iterable[tuple[int, Sequence[Image]]]]
_BUCKETS = 1 << 10  # by name: of a billion images, a million are matched at a time
_SHARDS_AT_ONCE = 64
_NAMED = 10_000  # files and images by which an error finds a pattern
_How = Callable[[Sequence[Found], set[str], set[str]], dict[str, str]]


class ShardFiles(Mapping[int, Mapping[str, str]]):
    """{shard: {image id: path}} of the images that have a file, read from the disk when it is asked for."""

    def __init__(self, folder: str | None = None) -> None:
        self._aside = BytesAside(folder)
        self._places = dict[int, tuple[int, int]]()
        self.count = 0  # of files

    @classmethod
    def of(cls, files: Mapping[str, str], shards: Shards) -> ShardFiles:
        """Return {image id: path} by shard."""
        made = cls()
        for shard, images in shards():
            made.add(shard, {image.id: files[image.id] for image in images if image.id in files})
        return made

    def add(self, shard: int, files: Mapping[str, str]) -> None:
        """Add the files of a shard, which has none yet."""
        if files:
            self._places[shard] = self._aside.add(json.dumps(files).encode())
            self.count += len(files)

    @property
    def paths(self) -> Sequence[str]:
        """All paths, in the order of shards and of images."""
        return _Paths(self)

    def __getitem__(self, shard: int) -> Mapping[str, str]:
        return json.loads(self._aside.read(*self._places[shard]))

    def __iter__(self) -> Iterator[int]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


class _Paths(Sequence[str]):
    """The paths of shards, read again whenever they are gone through."""

    def __init__(self, files: ShardFiles) -> None:
        self._files = files

    def __len__(self) -> int:
        return self._files.count

    def __iter__(self) -> Iterator[str]:
        for shard in self._files:
            yield from self._files[shard].values()

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return list(islice(self, *place.indices(len(self))))
        return next(islice(self, range(len(self))[place], None))


def match_shards(
    source: str,
    shards: Shards,
    *,
    pattern: str | None = None,
    say: Say = print,
    endings: Iterable[str] = MAP_ENDINGS,
    folder: str | None = None,
) -> ShardFiles:
    """Return the files that ``source`` names, by the images that they belong to; CorpusError if none belongs
    to any, or which is not certain. What does not fit into memory is put aside in ``folder``.
    """
    files = files_of([source], endings=endings, pattern=pattern, strip=False, say=say)
    matcher = _Matcher(source, files, shards, pattern, folder)
    try:
        return matcher.matched(say)
    finally:
        matcher.close()


class _Matcher:
    """Matches the files of one source with a corpus."""

    def __init__(
        self, source: str, files: Files, shards: Shards, pattern: str | None, folder: str | None
    ) -> None:
        self._source = source
        self._files = files
        self._shards = shards
        self._pattern = pattern
        self._folder = folder
        self._made = dict[str, int]()  # {id of an image made from others: its shard}
        self._first = ""  # id of an image that was collected
        self._tops = set[str]()  # first folders of ids
        self._ids = self._scattered()
        self._found = self._scattered()
        self._stripped = self._scattered()
        self._by_shard = self._scattered()

    def _scattered(self) -> Scattered:
        return Scattered(self._folder)

    def close(self) -> None:
        """Give the space back."""
        for held in (self._ids, self._found, self._stripped, self._by_shard):
            held.close()

    def matched(self, say: Say) -> ShardFiles:
        """Return the files by shard."""
        self._read_corpus()
        of_made, count, kinds, shared = self._read_files()
        for id_, path in of_made.items():
            self._put(self._made[id_], id_, path)
        if of_made and not count:
            return self._written()
        kind = next((kind for kind in KINDS if 0 < kinds[kind].count < count), "")
        if kind:
            say(kinds_text(kinds[kind].count, kind))
            self._found.close()
            self._found = self._scattered()
            self._read_again(self._found, kind)
        suffix = "" if self._pattern else (kinds[kind] if kind else shared).text
        if self._match(self._found, whole):
            return self._written()
        if suffix:
            self._read_again(self._stripped, kind, suffix)
            if self._match(self._stripped, whole):
                say(suffix_text(self._source, suffix))
                return self._written()
        for files, is_stripped in ((self._found, False), (self._stripped, True)):
            if example := self._match(files, by_tail):
                if is_stripped:
                    say(suffix_text(self._source, suffix))
                say(tail_text(self._source, *example))
                return self._written()
        some = list(islice((f for f in self._files if f.id not in self._made), _NAMED))
        first = next(f.id for f in some if f.id.endswith(kind)).removesuffix(kind).removesuffix(suffix)
        count = kinds[kind].count if kind else count
        raise none_fits(self._source, count, first, some, self._some_ids())

    def _read_corpus(self) -> None:
        """Put ids aside; those of images that were made are held."""
        for shard, images in self._shards():
            for image in images:
                if image.parent:
                    self._made[image.id] = shard
                    continue
                self._first = self._first or image.id
                if "/" in image.id:
                    self._tops.add(image.id.partition("/")[0])
                self._ids.add(_bucket(image.id), (image.id, shard))

    def _read_files(self) -> tuple[dict[str, str], int, dict[str, SharedSuffix], SharedSuffix]:
        """Put files aside; return {id: path} of those of made images, how many others there are, and what
        the names of each kind, and of all, share.
        """
        of_made = dict[str, str]()
        kinds = {kind: SharedSuffix() for kind in KINDS}
        shared = SharedSuffix()
        for number, f in enumerate(self._files):
            if f.id in self._made:
                of_made[f.id] = f.path
                continue
            shared.add(f.id)
            if f.id.endswith(KINDS):
                for kind in KINDS:
                    if f.id.endswith(kind):
                        kinds[kind].add(f.id.removesuffix(kind))
            self._found.add(_bucket(f.id), (number, f.id, f.path))
        return of_made, shared.count, kinds, shared

    def _read_again(self, into: Scattered, kind: str, suffix: str = "") -> None:
        """Put the files of a kind aside without that, and without a suffix."""
        for number, f in enumerate(self._files):
            if f.id not in self._made and f.id.endswith(kind):
                id_ = f.id.removesuffix(kind).removesuffix(suffix)
                into.add(_bucket(id_), (number, id_, f.path))

    def _match(self, files: Scattered, how: _How) -> tuple[str, str] | None:
        """Match files as ``how`` does; return (image id, path) of the first that fits, None if none does. The
        first mistake, in the order of files, is raised.
        """
        first: tuple[int, str, str] | None = None
        mistake: tuple[int, AmbiguousError] | None = None
        for bucket in files.keys() & self._ids.keys():
            numbers = dict[str, int]()
            found = list[Found]()
            for number, id_, path in files.of(bucket):
                numbers[path] = number
                found.append(Found(id_, path))
            shard_of = dict[str, int](self._ids.of(bucket))  # type: ignore[arg-type]
            try:
                matched = how(found, {*shard_of}, self._tops)
            except AmbiguousError as error:
                at = numbers[error.path]
                mistake = min(mistake or (at, error), (at, error), key=lambda pair: pair[0])
                continue
            for id_, path in matched.items():
                self._put(shard_of[id_], id_, path)
            for id_, path in islice(matched.items(), 1):
                example = (numbers[path], id_, path)
                first = min(first or example, example)
        if mistake:
            raise mistake[1]
        return first and first[1:]

    def _put(self, shard: int, id_: str, path: str) -> None:
        self._by_shard.add(shard // _SHARDS_AT_ONCE, (shard, id_, path))

    def _written(self) -> ShardFiles:
        """Return what was matched, in the order of shards and ids."""
        for held in (self._ids, self._found, self._stripped):
            held.close()
        written = ShardFiles(self._folder)
        for some in sorted(self._by_shard.keys()):  # type: ignore[type-var]
            of_shards = dict[int, dict[str, str]]()
            for shard, id_, path in sorted(self._by_shard.of(some)):
                of_shards.setdefault(shard, {})[id_] = path
            for shard, files in of_shards.items():
                written.add(shard, files)
        return written

    def _some_ids(self) -> list[str]:
        """Return ids of some images that were collected, the first before the others."""
        collected = (image.id for _, images in self._shards() for image in images if not image.parent)
        return list(islice(collected, _NAMED))


def _bucket(id_: str) -> int:
    """Return where ids are put aside that may match: those with one last part."""
    return zlib.crc32(id_[id_.rfind("/") + 1 :].encode("utf-8", "surrogateescape")) % _BUCKETS
