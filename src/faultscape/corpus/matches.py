"""Match files of label maps to the images of a corpus by their ids.

Conventions: a map belongs to the image with the same id. If no map has the full id of an image, a suffix
shared by all maps is dropped; if still none matches, leading folders are dropped on either side as long as
that is unambiguous (list file ``camvid/test.txt`` gives ``test/x``, a folder of maps ``x``). No folder of the
corpus is dropped: if it has images in ``b/``, the map ``b/x`` is not one of image ``x``. What is dropped is
reported.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from faultscape.corpus.sources import MAP_ENDINGS, Found, find, id_pattern
from faultscape.corpus.walks import Say, common_suffix
from faultscape.errors import CorpusError, counted
from faultscape.study.tables.corpus import Corpus, Image

KINDS = (
    "_gtFine_labelTrainIds",
    "_gtFine_labelIds",
    "_gtCoarse_labelTrainIds",
    "_gtCoarse_labelIds",
    "_labelIds",
    "_train_id",
)


def match(
    source: str | os.PathLike[str],
    ids: Sequence[str],
    *,
    pattern: str | None = None,
    say: Say = print,
    endings: frozenset[str] = MAP_ENDINGS,
) -> dict[str, str]:
    """Return {image id: path of its map} for every image of ``ids`` that has one; CorpusError if none has."""
    return fit(
        os.fspath(source),
        find([source], endings=endings, pattern=pattern, strip=False, say=say),
        ids,
        pattern=pattern,
        say=say,
    )


def fit(
    source: str,
    found: list[Found],
    ids: Sequence[str],
    *,
    pattern: str | None = None,
    others: Sequence[str] = (),
    tops: set[str] | None = None,
    say: Say = print,
    kind: str = "map",
) -> dict[str, str]:
    """Return {image id: path} for files found below ``source``, as `match` does; ``others`` are the images'
    own files, if a pattern names these too. ``tops`` are the first folders of all ids if ``ids`` are of some;
    errors call a file a ``kind``.
    """
    of_all_kinds = found
    found = one_kind(found, say)
    suffix = "" if pattern else common_suffix([f.id for f in found])
    stripped = [Found(f.id.removesuffix(suffix), f.path) for f in found] if suffix else []
    wanted = set(ids)
    tops = {id_.partition("/")[0] for id_ in wanted if "/" in id_} if tops is None else tops
    for files, how in ((found, whole), (stripped, whole), (found, by_tail), (stripped, by_tail)):
        if matched := how(files, wanted, tops):
            if files is stripped:
                say(suffix_text(source, suffix))
            if how is by_tail:
                say(tail_text(source, *next(iter(matched.items()))))
            return matched
    first = (stripped or found)[0].id
    named = [os.path.basename(path) for path in others]
    raise none_fits(source, len(found), first, of_all_kinds, ids, named, kind)


class NearImages(dict[str, Image]):
    """Those images of a study that some names may mean, by their ids, and the first folders of all ids."""

    def __init__(self, corpus: Corpus, names: Iterable[str]) -> None:
        self._corpus = corpus
        self.tops = set[str]()
        lasts = {last for name in names for last in _possible_lasts(name)}
        near = list[str]()
        for table in corpus.each_table("id", "parent"):
            for id_, parent in zip(*(table[name].to_pylist() for name in ("id", "parent")), strict=True):
                if "/" in id_ and not parent:
                    self.tops.add(id_.partition("/")[0])
                if id_.rsplit("/", 1)[-1] in lasts:
                    near.append(id_)
        super().__init__(corpus.by_id(near))

    def every_id(self) -> list[str]:
        """Return the ids of all images that were collected."""
        return [id_ for id_, parent in self._corpus.each_row("id", "parent") if not parent]


def near_images(images: Mapping[str, Image] | Corpus, names: Iterable[str]) -> Mapping[str, Image]:
    """Return the images that some names of files may mean, and perhaps others."""
    return NearImages(images, names) if isinstance(images, Corpus) else images


def _possible_lasts(name: str) -> Iterator[str]:
    """Yield what the last part of an id may be if ``name`` means its image: without an ending from ``_`` or
    ``-`` on.

    >>> list(_possible_lasts("a/x-1_pred"))
    ['x-1_pred', 'x', 'x-1']
    """
    last = name.rsplit("/", 1)[-1]
    yield last
    yield from (last[: found.start()] for found in re.finditer("[_-]", last))


def fit_images(
    source: str, found: list[Found], images: Mapping[str, Image], *, pattern: str | None = None
) -> dict[str, str]:
    """Return {image id: path} for files found below ``source``, as `match` does for the images that were
    collected of those given, or of all where they are `NearImages`. Images that are called as these in
    another folder are reported.
    """
    ids = [image.id for image in images.values() if not image.parent]
    tops = images.tops if isinstance(images, NearImages) else None
    try:
        matched = fit(source, found, ids, pattern=pattern, tops=tops, kind="label")
    except AmbiguousError:
        raise
    except CorpusError:
        if not isinstance(images, NearImages):
            raise
        # which names the first of all images
        return fit(source, found, images.every_id(), pattern=pattern, say=lambda _: None, kind="label")
    tell_twins(source, matched, images)
    return matched


def tell_twins(source: str, matched: Collection[str], images: Mapping[str, Image]) -> None:
    """Report images that files may have meant too: those called as one of ``matched`` in another folder."""
    folders = {id_: id_.partition("/") for id_ in images.keys() - matched if not images[id_].parent}
    twins = sorted(id_ for id_, (_, _, rest) in folders.items() if rest in matched)
    if twins:
        folder, _, rest = folders[twins[0]]
        print(
            f"{source}: counts for {counted(len(twins), 'image')} such as {rest}, not for {twins[0]} of the"
            f" same name; what is meant for that belongs in a folder {folder}/"
        )


def suffix_text(source: str, suffix: str) -> str:
    """Return what is said where the names of maps are longer than those of images."""
    return f"{source}: every name ends in {suffix!r}, which is left out of the ids"


def tail_text(source: str, image: str, path: str) -> str:
    """Return what is said where folders are dropped, with an ``image`` and the ``path`` of its map."""
    return f"{source}: maps are matched by the end of the path ({os.path.basename(path)} belongs to {image})"


def kinds_text(count: int, kind: str) -> str:
    """Return what is said where one of several kinds of maps is used."""
    return f"found several kinds of maps; using the {count} files *{kind}"


def none_fits(
    source: str,
    count: int,
    first: str,
    some: Sequence[Found],
    ids: Sequence[str],
    others: Sequence[str] = (),
    kind: str = "map",
) -> CorpusError:
    """Return the error for ``count`` maps, the first called ``first``, of which none is named as one of
    ``ids``; a pattern that fits is looked for among ``some`` of all files, and names of the images'
    ``others``.
    """
    if not ids:
        return CorpusError(f"{source}: the study has no images yet; collect some before adding {kind}s")
    fitting = _fitting_pattern([f.id + os.path.splitext(f.path)[1] for f in some], ids, others)
    return CorpusError(
        f"{source}: none of its {count} {kind}s is named as an image; the first {kind} is {first!r}, the"
        f" first image {ids[0]!r}; name each {kind} as its image's path without"
        f" extension{f', or give --pattern {shlex.quote(fitting)}' if fitting else ''}"
    )


def _fitting_pattern(names: Sequence[str], ids: Sequence[str], others: Sequence[str]) -> str:
    """Return the pattern that most ``names`` of files and ids of images have in common, or names of the
    images' ``others``, which it gives new ids; '' if none fits.

    >>> _fitting_pattern(["pred_a1.png", "pred_a2.png"], ["a1", "a2"], [])
    'pred_{id}.png'
    >>> _fitting_pattern(["a_pred_0.9.png", "b_pred_0.7.png"], ["a_true"], ["a_true.png"])
    '{id}_*.png'
    """
    wanted = [(name, id_) for name in names[:50] for id_ in ids if id_ in name]
    name, inside = max(wanted, key=lambda pair: len(pair[1]), default=(names[0], ""))
    before, after = name.split(inside, 1) if inside else ("", "")
    ending = os.path.splitext(name)[1]
    patterns = [f"{before}{{id}}{after}", f"{before}{{id}}{after[:1]}*{ending}"] if inside else []
    patterns += [f"{{id}}{mark}*{ending}" for mark in "_-."]

    def in_common(pattern: str) -> int:
        mine, theirs = (
            [m["id"] for name in of if (m := id_pattern(pattern).fullmatch(name))] for of in (names, others)
        )
        return len({*mine} & {*(theirs or ids)}) if len({*mine}) == len(mine) else 0

    best = max(patterns, key=in_common)
    return best if in_common(best) else ""


class AmbiguousError(CorpusError):
    """A map that may belong to several images, or several maps to one; ``path`` is that of the map."""

    def __init__(self, path: str, text: str) -> None:
        super().__init__(text)
        self.path = path


def whole(found: Sequence[Found], ids: set[str], _tops: set[str]) -> dict[str, str]:
    """Return {image id: path} of the files with the ids of images."""
    return {f.id: f.path for f in found if f.id in ids}


def by_tail(found: Sequence[Found], ids: set[str], tops: set[str]) -> dict[str, str]:
    """Return {image id: path} when leading folders are dropped, in the order of files; ``tops`` are the first
    folders of all ids. AmbiguousError for the first file that fits several images, or an image that has one.

    Files and images match only if the last parts of their ids are the same.
    """
    by_last: dict[str, list[str]] = {}
    for id_ in sorted(ids):
        by_last.setdefault(id_.rsplit("/", 1)[-1], []).append(id_)
    matched: dict[str, str] = {}
    for f in found:
        candidates = [id_ for id_ in by_last.get(f.id.rsplit("/", 1)[-1], ()) if _tail(id_, f.id, tops)]
        if len(candidates) > 1:
            raise AmbiguousError(
                f.path,
                f"{f.path}: matches several images ({candidates[0]}, {candidates[1]}); give maps the same"
                " folders as the images",
            )
        if candidates and candidates[0] in matched:
            own = candidates[0].count("/") if f.id.endswith(candidates[0]) else 0  # folders of the image
            raise AmbiguousError(
                f.path,
                f"{matched[candidates[0]]} and {f.path} both match image {candidates[0]!r}; give"
                f" maps the same folders as the images, or one folder alone: {Path(f.path).parents[own]}",
            )
        if candidates:
            matched[candidates[0]] = f.path
    return matched


def _tail(image: str, map_: str, folders: set[str]) -> bool:
    """Return whether the one is the end of the other, unless the map names one of the corpus's ``folders``
    in which the image is not.
    """
    if image.endswith(f"/{map_}"):
        return "/" not in map_ or map_.partition("/")[0] not in folders
    return map_.endswith(f"/{image}") and folders.isdisjoint(map_[: -len(image) - 1].split("/"))


def one_kind(found: list[Found], say: Say) -> list[Found]:
    """Return only the label maps from a data set's mixed files (label ids, instance ids, colours)."""
    for kind in KINDS:
        chosen = [f for f in found if f.id.endswith(kind)]
        if chosen and len(chosen) < len(found):
            say(kinds_text(len(chosen), kind))
            return [Found(f.id.removesuffix(kind), f.path) for f in chosen]
    return found
