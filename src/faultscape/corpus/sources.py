r"""The files that an argument names, and the id of each.

Conventions: an id is the path without extension, relative to the folder given (for a glob: its fixed part;
for a list file: its folder), with ``/`` between folders. Bytes of a file name that are not UTF-8 are written
as ``\xNN``. A suffix that all files of a folder share (``_leftImg8bit``) is not part of the id, which is
reported.

``arguments`` are folders, globs, list files or files. ``endings`` are those of the files that count. ``say``
receives what was left out.
"""

from __future__ import annotations

import glob
import heapq
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from faultscape.corpus import packed_sources, parquet_rows, store_pictures
from faultscape.corpus.walks import LeftOut, Say, SharedSuffix, common_suffix, readable, walk
from faultscape.errors import CorpusError, OptionError, closest_place, counted
from faultscape.study import store

IMAGE_ENDINGS = frozenset(
    [".jpg", ".jpeg", ".jpe", ".png", ".bmp", ".tif", ".tiff", ".webp", ".ppm", ".pgm", ".gif", ".jp2"]
)
MAP_ENDINGS = frozenset([".png", ".npy", ".bmp", ".tif", ".tiff", ".pgm", ".gif"])
_JPEG = frozenset([".jpg", ".jpeg", ".jpe"])
# of a column of images
HEADS = (
    "image",
    "id",
    "filename",
    "file_name",
    "file",
    "path",
    "filepath",
    "file_path",
    "image_id",
    "image_name",
    "image_path",
    "img",
    "name",
)
RECIPE = "stress:"  # prefix of the source of an image made from others (corpus.stress.recipes)
LISTS = frozenset((".txt", ".csv", ".lst"))


@dataclass(frozen=True, slots=True)
class Found:
    """One file and the id it has."""

    id: str
    path: str


class Files:
    """The files that some arguments name, in order of ids. Folders are walked again whenever the files are
    gone through, so that millions of names need no memory; CorpusError, then, for two files with one id.
    """

    def __init__(self, streams: Sequence[Callable[[], Iterable[Found]]], advice: str) -> None:
        self._streams = streams
        self._advice = advice

    def __iter__(self) -> Iterator[Found]:
        found = (stream() for stream in self._streams)
        ordered = heapq.merge(*found, key=_order) if len(self._streams) > 1 else chain.from_iterable(found)
        before = None
        for f in ordered:
            if before is not None and f.id == before.id:
                if absolute(f.path) == absolute(before.path):
                    continue
                raise CorpusError(
                    f"two files have the id {f.id!r}: {before.path} and {f.path}; rename one{self._advice}"
                )
            yield f
            before = f


def find(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    endings: Iterable[str] = IMAGE_ENDINGS,
    pattern: str | None = None,
    strip: bool = True,
    some_or_none: bool = False,
    stores: bool = False,
    say: Say = print,
) -> list[Found]:
    """Return the files that folders, globs, list files or single files name, sorted by id; a ``pattern`` such
    as ``{id}_photo.png`` defines the id.

    Without ``strip``, a common suffix stays in the ids; with ``some_or_none``, finding nothing is not an
    error; with ``stores``, arguments may also be addresses of stores and Parquet files. Errors: CorpusError
    if an argument names nothing, or two files have the same id.
    """
    return list(
        files_of(
            arguments,
            endings=endings,
            pattern=pattern,
            strip=strip,
            some_or_none=some_or_none,
            stores=stores,
            say=say,
        )
    )


def files_of(
    arguments: Sequence[str | os.PathLike[str]],
    *,
    endings: Iterable[str] = IMAGE_ENDINGS,
    pattern: str | None = None,
    strip: bool = True,
    some_or_none: bool = False,
    stores: bool = False,
    say: Say = print,
) -> Files:
    """Return what `find` finds, to be gone through once or more."""
    wanted = frozenset(endings)
    streams = list[Callable[[], Iterable[Found]]]()
    for argument in [os.fspath(word) for word in arguments]:
        if not stores and store.is_address(argument):
            raise CorpusError(
                f"{argument}: only images for `collect` can be in a store; copy these to a folder"
                " on this machine"
            )
        if (inside := _inside(argument, wanted, pattern, say, stores=stores)) is not None:
            streams.append(partial(iter, inside))
        elif not pattern and os.path.isdir(argument):
            if tree := _tree(argument, wanted, say, strip=strip, some_or_none=some_or_none):
                streams.append(tree)
        else:
            listed = _listed_files(
                argument, wanted, pattern, say, strip=strip, stores=stores, some_or_none=some_or_none
            )
            streams.append(partial(iter, sorted(set(listed), key=_order)))
    advice = f", or collect them as two sets{named_as_models(arguments[1:])}" if stores else ""
    return Files(streams, advice)


def _order(found: Found) -> tuple[str, str]:
    return found.id, found.path


def _inside(
    argument: str, endings: frozenset[str], pattern: str | None, say: Say, *, stores: bool
) -> list[Found] | None:
    """Return the images within a file that holds many, in order; None if the argument is no such file."""
    if stores and parquet_rows.is_parquet(argument):
        if pattern:
            say(f"{argument}: --pattern does not apply to Parquet files, whose columns hold the ids")
        found = [Found(id_, source) for id_, source in parquet_rows.find_rows(argument, say)]
    elif packed_sources.is_packed(argument) or (not stores and parquet_rows.is_parquet(argument)):
        if pattern:
            say(f"{argument}: --pattern does not apply to it, because it names its images itself")
        pairs = packed_sources.find_packed(argument, endings, say)
        found = [Found(readable(id_), source) for id_, source in pairs]
    else:
        return None
    return sorted(set(found), key=_order)


def _tree(
    folder: str, endings: frozenset[str], say: Say, *, strip: bool, some_or_none: bool
) -> Callable[[], Iterator[Found]] | None:
    """Return what yields the files below a folder, which is walked once to see what their names share; None
    if there are none, which may be an error.
    """
    left_out = LeftOut()
    shared = SharedSuffix(id_ for id_, _ in walk(folder, endings, left_out=left_out))
    _say_left_out(folder, left_out, endings, say)
    if not shared.count:
        if some_or_none:
            return None
        raise _nothing_in(folder, endings)
    if suffix := shared.text if strip else "":
        _say_suffix(folder, suffix, say)
    return lambda: (Found(id_, path) for id_, path in walk(folder, endings, suffix))


def _nothing_in(argument: str, endings: frozenset[str]) -> CorpusError:
    what = "images" if ".jpg" in endings else "label maps"
    jpegs = jpegs_instead(argument, what) if ".jpg" not in endings else ""
    return CorpusError(
        f"{argument}: {jpegs or f'no {what} found; expected files ending in {_listed(endings)}'}"
        f"{packed_sources.instead_of(argument, wants_maps='.jpg' not in endings)}"
    )


def _say_suffix(argument: str, suffix: str, say: Say) -> None:
    say(f"{argument}: every name ends in {suffix!r}, which is left out of the ids")


def _listed_files(
    argument: str,
    endings: frozenset[str],
    pattern: str | None,
    say: Say,
    *,
    strip: bool,
    stores: bool,
    some_or_none: bool,
) -> list[Found]:
    """Return the files of a store, a list, a glob, or a folder whose ids a pattern defines, or one file."""
    folder, files = _files(argument, endings, say)
    if not files and not some_or_none:
        raise _nothing_in(argument, endings)
    relative = [_relative(path, folder) for path in files]
    if not stores and (remote := next(filter(store.is_address, files), None)):
        raise CorpusError(f"{argument}: {remote}: only images for `collect` can be in a store")
    if far := [k for k, path in enumerate(files) if store.is_address(path) and not store.is_address(folder)]:
        # of a list file
        for k, name in zip(far, store_pictures.relative([files[k] for k in far]), strict=True):
            relative[k] = name
    if any(name.startswith("../") for name in relative):  # an id never leads out of a folder
        near = [path for path in files if not store.is_address(path)]
        folder = os.path.commonpath([os.path.dirname(os.path.abspath(path)) for path in near])
        relative = [
            name if store.is_address(path) else _relative(path, folder)
            for name, path in zip(relative, files, strict=True)
        ]
        say(f"{argument}: lists files from other folders; ids are relative to {folder}")
    if pattern:
        matcher = id_pattern(pattern)
        matches = [(matcher.fullmatch(name), path) for name, path in zip(relative, files, strict=True)]
        found = [Found(readable(match["id"]), path) for match, path in matches if match]
        if not found and not some_or_none:
            raise CorpusError(
                f"{argument}: no file matches the pattern {pattern!r}; the first file is {relative[0]!r}"
            )
        return found
    stems = [os.path.splitext(name)[0] for name in relative]
    if suffix := common_suffix(stems) if strip else "":
        _say_suffix(argument, suffix, say)
    return [Found(readable(stem.removesuffix(suffix)), path) for stem, path in zip(stems, files, strict=True)]


def holds_images(folder: str | os.PathLike[str]) -> bool:
    """Whether a folder, or a folder in it, contains an image."""
    return os.path.isdir(folder) and any(True for _ in walk(os.fspath(folder), IMAGE_ENDINGS))


def _listed(endings: Iterable[str]) -> str:
    return " ".join(sorted(endings))


def jpegs_instead(place: str | os.PathLike[str], wanted: str) -> str:
    """Return what is wrong with a folder that has JPEG files where label maps or masks are ``wanted``; '' if
    it has none.
    """
    count = sum(1 for _ in walk(os.fspath(place), _JPEG)) if os.path.isdir(place) else 0
    held = f"contains {counted(count, 'JPEG file')} and no {wanted}"
    return f"{held}; JPEG changes class ids, so save {wanted} as PNG" if count else ""


def named_as_models(arguments: Sequence[str | os.PathLike[str]]) -> str:
    """Return the advice to give folders as models, in case that is what they are; '' without a folder.

    >>> named_as_models(["."])
    ''
    """
    folders = [os.path.normpath(os.fspath(word)) for word in arguments if os.path.isdir(word)]
    words = [f"{os.path.basename(folder)}={folder}" for folder in folders if os.path.basename(folder) != "."]
    return f"; if these are label maps, name the models: {' '.join(words)}" if words else ""


def absolute(path: str) -> str:
    """Return an absolute path; addresses of stores and recipes stay unchanged."""
    return path if store.is_address(path) or path.startswith(RECIPE) else os.path.abspath(path)


def _files(argument: str, endings: frozenset[str], say: Say) -> tuple[str, list[str]]:
    """Return the folder that ids are relative to, and the files; report files of a folder that are
    left out.
    """
    path = Path(argument)
    if store.is_address(argument):
        folder, files, hidden = store_pictures.find_objects(argument, endings)
        _say_hidden(argument, hidden, say)
        return folder, files
    if path.is_dir():
        left_out = LeftOut()
        files = [file for _, file in walk(argument, endings, left_out=left_out)]
        _say_left_out(argument, left_out, endings, say)
        return argument, files
    if path.is_file():
        if path.suffix.lower() in LISTS:
            return str(path.parent), in_list(path)
        return str(path.parent), [argument]
    if glob.has_magic(argument):
        fixed = re.split(r"[*?\[]", argument)[0]
        hits = [p for p in glob.glob(argument, recursive=True) if Path(p).suffix.lower() in endings]
        return os.path.dirname(fixed) or ".", [p for p in hits if os.path.isfile(p)]
    raise CorpusError(
        f"{argument}: no such folder or file; give a folder, a glob in quotes, or a list file ending in .txt"
        f"{closest_place(argument)}"
    )


def _say_left_out(folder: str, left_out: LeftOut, endings: frozenset[str], say: Say) -> None:
    _say_hidden(folder, left_out.hidden_files(endings), say)
    if nameless := sorted(left_out.nameless):
        say(
            f"{folder}: {counted(len(nameless), 'file has', 'files have')} no name before the ending and"
            f" {'is' if len(nameless) == 1 else 'are'} left out; rename them; the first: {nameless[0]}"
        )


def _say_hidden(argument: str, hidden: Sequence[str], say: Say) -> None:
    if hidden:
        say(
            f"{argument}: {counted(len(hidden), 'image lies', 'images lie')} in folders whose names begin"
            f" with a dot, left out; name such a folder itself to take them; the first: {hidden[0]}"
        )


def in_list(path: Path) -> list[str]:
    """Return the first column of each line; if the whole line is a file, spaces in its name are kept."""
    files = []
    try:
        lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines()
    except OSError as error:
        raise CorpusError(f"{path}: {error.strerror}") from None
    if any("\0" in line for line in lines):
        raise CorpusError(f"{path}: is not text; expected a list of files, one per line")
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        candidates = (line.strip(), re.split(r"[\s,;]", line.strip())[0])
        if (
            not files
            and path.suffix == ".csv"
            and candidates[1].lower() in HEADS
            and not (path.parent / candidates[1]).is_file()
        ):
            continue  # the names of columns
        if store.is_address(line.strip()):
            files.append(
                str(store.parse(line.strip() if path.suffix == ".txt" else candidates[1], CorpusError))
            )
            continue
        if re.match(r"https?://", line.strip()):
            raise CorpusError(
                f"{path}, line {number}: is on the web; `faultscape collect STUDY --urls FILE` downloads"
                " such images politely"
            )
        hit = next((path.parent / c for c in candidates if (path.parent / c).is_file()), None)
        if hit is None:
            raise CorpusError(
                f"{path}, line {number}: {candidates[1]!r} is not a file relative to {path.parent}"
            )
        files.append(str(hit))
    return files


def _relative(path: str, folder: str) -> str:
    if store.is_address(path):
        return (
            store.parse(path)
            .path.removeprefix(store.parse(folder).path if store.is_address(folder) else "")
            .lstrip("/")
        )
    return path_below(path, folder).replace(os.sep, "/")


def path_below(path: str, folder: str) -> str:
    """Return os.path.relpath(path, folder); for a file below the folder that is what is left of its path,
    found ten times as fast.

    >>> path_below("maps/a/b.png", "maps"), path_below("maps/../b.png", "maps").replace(os.sep, "/")
    ('a/b.png', '../b.png')
    """
    rest = path.removeprefix(os.path.join(folder, ""))
    is_plain = len(rest) < len(path) and not rest.startswith((os.sep, ".")) and f"{os.sep}." not in rest
    return rest if is_plain and os.sep * 2 not in rest else os.path.relpath(path, folder)


def id_pattern(pattern: str) -> re.Pattern[str]:
    """Return the expression that a whole name matches, with its ``id``, for a pattern such as
    ``{id}_mask.png``, in which ``*`` is any text; OptionError unless {id} occurs once.

    >>> id_pattern("{id}_png.rf.*.jpg").fullmatch("a/b_png.rf.0a1b.jpg")["id"]
    'a/b'
    """
    if pattern.count("{id}") != 1:
        raise OptionError(f"pattern {pattern!r} must hold {{id}} once, for example {{id}}_leftImg8bit.png")
    before, after = (re.escape(side).replace(r"\*", ".*") for side in pattern.split("{id}"))
    return re.compile(f"{before}(?P<id>.+?){after}")
