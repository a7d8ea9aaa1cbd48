"""Labels with one file per image in a folder: which file belongs to which image, which files are still empty,
and how each is read.

Conventions: a reader returns (H, W) ids of the study's class list, at the image's size, counts the shapes
without an area, by their kind, in the Counter it is given, and raises LabelMapError or LabellingError.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import allowed, table
from faultscape.classes.mapping import LABEL_IDS
from faultscape.classes.mask_folders import (
    ask_about_void,
    named_reading,
    of_label_ids,
    own_beside,
    two_readings,
)
from faultscape.classes.palettes import coded_by_palette
from faultscape.classes.placed_maps import PlacedMaps
from faultscape.corpus.matches import fit_images, near_images, one_kind
from faultscape.corpus.packed_sources import is_packed
from faultscape.corpus.photos import read_photo
from faultscape.corpus.sources import Found, find
from faultscape.errors import CorpusError, ImageError, LabellingError, LabelMapError, counted
from faultscape.formats.pictures import read_rgb
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.labelling.format_calls import read_label, state_of
from faultscape.maps.instances import Instances
from faultscape.nouns import UNKNOWN, Classes
from faultscape.prediction.sources.folder import check_values
from faultscape.study.tables.corpus import Corpus, Image

Reader = Callable[[Counter[str]], np.ndarray]
ReadInstances = Callable[[], Instances]
_OURS = ("labels", "images")


def inner_folder(source: Path) -> Path:
    """Return the folder that holds the files of a source: a folder that contains nothing else than one folder
    stands for that one, as when a folder was packed. Those that `label export` makes stay as they are.
    """
    path = source
    if is_packed(str(source)):
        return path
    while len(inside := list(path.iterdir())) == 1 and inside[0].is_dir() and inside[0].name not in _OURS:
        if inside[0].is_symlink():  # it may lead back to where it is
            break
        path = inside[0]
    return path


@dataclass(frozen=True)
class MaskRules:
    """What the values of masks mean: as a person says now (``given``, {value: class or void}), or as masks
    of the same truth were read ``before`` (None: there are none); ``again`` says what to do about masks that
    were read otherwise. ``shows_void`` returns whether earlier masks hold several classes and void, so that
    no question about void is open. ``sent`` are masks of a person who cannot give options: void is that of
    the class list, and a refusal names the line ``by_organiser``, with which the organiser imports them.
    ``shared`` are pairs of --labels that were given for folders of several people.
    """

    given: Mapping[str, str] = field(default_factory=dict)
    before: Mapping[str, str] | None = None
    again: str = ""
    shows_void: Callable[[], bool] = lambda: False
    sent: bool = False
    by_organiser: str = ""
    shared: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MaskFolder:
    """The labels of a folder: {image id: reader}, how many files are still empty, and what values mean (None
    if none is a mask).
    """

    readers: dict[str, Reader]
    empty: int
    labels: dict[str, str] | None


def readers(
    source: Path,
    images: Mapping[str, Image] | Corpus,
    pattern: str | None,
    formats: Sequence[Format],
    classes: Classes,
    rules: MaskRules = MaskRules(),
) -> MaskFolder:
    """Return the labels in a folder; files that match no image are reported. LabellingError or LabelMapError
    if the values of masks may mean two things.
    """
    files, empty, meant = _label_files(source, images, pattern, formats)
    listed = [file for file, form in files.values() if form.listed]
    mapping, said = _meaning(source, listed, classes, rules)
    places = table(classes, mapping)
    words = allowed(classes, mapping)
    maps = PlacedMaps(classes, mapping, given=said)
    read = {
        id_: partial(
            _read_label, file, _with_palettes(form, maps), classes, meant[id_], places, words, mapping
        )
        for id_, (file, form) in files.items()
    }
    return MaskFolder(read, empty, mapping if listed else None)


def _meaning(
    path: Path, files: Sequence[str], classes: Classes, rules: MaskRules
) -> tuple[dict[str, str], bool]:
    """Return what the values of masks mean, {} for ids of the class list, and whether a person said so."""
    if not files:
        return {}, False
    before = rules.before
    given = dict(rules.given)
    gone = {value: name for value, name in (before or {}).items() if name not in (*classes.names, "void")}
    if unsaid := [value for value in gone if value not in given]:
        raise LabellingError(
            f"{path}: earlier masks of the truth were read with {unsaid[0]} as {gone[unsaid[0]]!r}, which"
            f" is no longer a class; {rules.again}"
        )
    if before is not None and gone:
        before = {value: name for value, name in before.items() if value not in gone} or None
    if given and before is not None and _contradicts(table(classes, given), table(classes, before)):
        raise LabellingError(
            f"{path}: --labels differs from how earlier masks of the same truth were read (truths in"
            f" study.toml); {rules.again}"
        )
    for value, name in own_beside(files, classes, given, rules.shared).items():
        raise LabellingError(
            f"{path}: holds {name!r} under its own value beside {value}, so --labels {value}={name} may be"
            " meant for other folders only; import this folder by itself, or give --labels FILE with a class"
            " for each value"
        )
    coding = "" if before is None else named_reading(before)
    said = {**(before or {}), **given} if given else {} if before is None or coding else dict(before)
    if "void" in said.values() and not classes.void:
        raise LabellingError(
            f"{path}: --labels maps to void, but the study's classes have no void id; add one to study.toml,"
            f" for example void = [{next(value for value, name in said.items() if name == 'void')}]"
        )
    mapping = said
    if not said:
        how = f"--labels {LABEL_IDS} reads label ids"
        otherwise = f"if they are label ids, ask the organiser: {rules.by_organiser}" if rules.sent else how
        mapping, note = of_label_ids(
            str(path), classes, files, every=True, before=coding, again=rules.again, otherwise=otherwise
        )
        print(f"note: {path}: {note}\n" if note else "", end="")
        coded_by_palette(files, classes, mapping)
    if rules.sent:
        _tell_void(str(path), files, classes, mapping, map(int, said), rules)
        return mapping, bool(said)
    void = "--labels {}=void" if classes.void else "--labels {0}=void, with void = [{0}] in study.toml"
    try:
        ask_about_void(str(path), files, classes, mapping, known=map(int, said), if_void=void)
    except LabelMapError:
        if not rules.shows_void():
            raise
        if len(files) > 2:  # of one or two masks it is to be expected
            print(
                f"note: {path}: each mask holds one class and void alone, as earlier masks of this truth say"
            )
    return mapping, bool(said)


def _contradicts(one: np.ndarray, other: np.ndarray) -> bool:
    """Whether two tables of places give a value different meanings; what only one of them knows is new."""
    return bool(((one != other) & (one != UNKNOWN) & (other != UNKNOWN)).any())


def _tell_void(
    path: str,
    files: Sequence[str],
    classes: Classes,
    mapping: Mapping[str, str],
    known: Iterable[int],
    rules: MaskRules,
) -> None:
    """Print that a value of masks that a person sent is void, if it may also be a class; LabelMapError if it
    is none of the class list's void values either.
    """
    asked = two_readings(files, classes, mapping, known=known)
    if asked is None:
        return
    if asked.value in classes.void:
        print(f"note: {asked.value} is read as void, as in the class list")
        return
    own = ", ".join(f"{id_} {name}" for id_, name in zip(classes.ids[:8], classes.names, strict=False))
    more = ", ..." if len(classes) > 8 else ""
    raise LabelMapError(
        f"{path}: {asked.found}: draw each class with its own value ({own}{more}), or ask"
        f" the organiser, who can import it with: {rules.by_organiser} --labels {asked.pair}"
    )


def _with_palettes(form: Format, maps: PlacedMaps) -> Format:
    """Return a format of ours whose masks may be coded by the colours of their palettes; others unchanged."""
    return replace(form, read=lambda path, *_: maps.values(path)) if form.listed and form in FORMATS else form


def _label_files(
    source: Path, images: Mapping[str, Image] | Corpus, pattern: str | None, formats: Sequence[Format]
) -> tuple[dict[str, tuple[str, Format]], int, dict[str, Image]]:
    """Return {image id: file and its format}, how many files are still empty, and {id: image}; files that
    match no image are reported. Their names are whole paths below ``source``, without a folder ``labels``
    directly in it.

    Formats recognised by content are tried before masks, because a mask can be any image: the image of a
    LabelMe file lies next to it.
    """
    labels = (source if pattern else inner_folder(source)) / "labels"
    masks = labels if labels.is_dir() else source
    files: dict[str, tuple[str, Format]] = {}
    meant = dict[str, Image]()
    problems = list[tuple[Format, CorpusError]]()
    states = {}
    beside = set()
    for form in sorted(formats, key=lambda form: form.listed):
        say = print if form.listed else lambda _: None
        where = masks if form.listed else source
        there = find([where], endings=form.endings, pattern=pattern, strip=False, some_or_none=True, say=say)
        states |= {f.path: state_of(form, Path(f.path)) for f in there}
        there = _named_below(there, where, source)
        kind = [f for f in there if states[f.path] != "other" and os.path.splitext(f.path)[0] not in beside]
        kind = one_kind(kind, print) if form.listed else kind
        beside |= set() if form.listed else {os.path.splitext(f.path)[0] for f in kind}
        try:
            near = near_images(images, [f.id for f in kind]) if kind else {}
            fitting = fit_images(str(source), kind, near, pattern=pattern) if kind else {}
        except CorpusError as error:
            problems.append((form, error))
            continue
        if rest := sorted({f.path for f in kind} - set(fitting.values())):
            print(
                f"{counted(len(rest), 'file matches', 'files match')} no image of the study and"
                f" {'is' if len(rest) == 1 else 'are'} skipped; the first: {rest[0]}"
            )
        files = {id_: (file, form) for id_, file in fitting.items()} | files
        meant |= {id_: near[id_] for id_ in fitting}
    if problems and not files:
        raise problems[0][1]
    empty = {id_ for id_, (file, _) in files.items() if states[file] == "empty"}
    if beside and masks is source:  # images are next to files of shapes
        empty |= {id_ for id_, (file, form) in files.items() if form.listed and _is_photo(file, meant[id_])}
    drawn = {id_: found for id_, found in files.items() if id_ not in empty}
    _tell_kinds([form for _, form in drawn.values()], problems)
    return drawn, len(empty), meant


def _named_below(found: Sequence[Found], folder: Path, source: Path) -> list[Found]:
    """Return files found in a folder under their names below ``source``."""
    if folder in (source, source / "labels"):
        return list(found)
    return [Found(f"{folder.relative_to(source).as_posix()}/{f.id}", f.path) for f in found]


def _tell_kinds(read: Sequence[Format], problems: Sequence[tuple[Format, CorpusError]]) -> None:
    """Print which kinds of file count as labels where a folder holds several."""
    kinds = Counter(form.title for form in read)
    if len(kinds) > 1 or problems:
        what = " and ".join(counted(number, f"{title} file") for title, number in kinds.items()) or "no files"
        print(f"labels come from {what}")
    for form, problem in problems:
        print(f"{form.title} files are ignored: {problem}")


def _is_photo(file: str, image: Image) -> bool:
    """Return whether a file shows the same pixels as the image itself."""
    try:
        return bool((read_rgb(file) == read_photo(image)[0]).all())
    except (ImageError, ValueError):
        return False


def _read_label(
    path: str,
    form: Format,
    classes: Classes,
    image: Image,
    places: np.ndarray,
    words: str,
    mapping: dict[str, str],
    left_out: Counter[str],
) -> np.ndarray:
    """Return one label at the image's size in the study's ids; LabelMapError or LabellingError otherwise."""
    photo = (image.width, image.height)
    label_map = read_label(form, path, classes, photo, left_out)
    if not form.listed:  # already in the study's own ids
        mapping = {}
        places = table(classes)
    check_values(path, np.unique(label_map), places, words)
    if mapping:
        ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
        label_map = ids[places[label_map]]
    return label_map
