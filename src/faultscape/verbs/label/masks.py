"""Import labels for label maps: masks, files of labelling tools, and discards.

Conventions: masks and images are in folders; a label has the size of its image.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from faultscape.classes.mapping import of_file, pairs_of
from faultscape.corpus.packed_sources import is_packed
from faultscape.corpus.sources import jpegs_instead
from faultscape.errors import LabellingError, LabelMapError, OptionError, counted
from faultscape.labelling import discards
from faultscape.labelling.catalogue import FORMATS, Format
from faultscape.maps import instances, runs
from faultscape.progress import progress
from faultscape.reading import fill
from faultscape.reading.evidence import tell_discards, unusual
from faultscape.reading.study import Study
from faultscape.study.folder import refuse_twin
from faultscape.study.parts import Part, read_manifest, write_manifest
from faultscape.study.settings import keep_reading
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name, shards
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.logs import Failure, log_import, read_failures, replace_failures
from faultscape.verbs.in_memory.labels import CALLED, was_in_memory
from faultscape.verbs.label.mask_files import MaskRules, Reader, ReadInstances, inner_folder, readers
from faultscape.verbs.label.model_copies import Copies
from faultscape.verbs.label.result import Imported
from faultscape.verbs.label.tool_files import bundles, read_bundles, truth_of

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelImportOptions


class NothingThereError(LabellingError):
    """A folder contains no label: no one has started."""


@dataclass(frozen=True)
class OnePerson:
    """The person from whom everything is, even if the tool names others.

    What the person sent is ``called`` this in failures.csv and log.jsonl, instead of the path of the file
    that is kept only for reading.
    """

    called: str = ""


def import_(
    study: Study,
    options: LabelImportOptions,
    form: Format | None,
    person: OnePerson | None = None,
) -> Imported:
    """Import labels of one format, or of every built-in format, from a folder or a tool's file, and the
    folder's discard.csv. If a tool records who drew, each person's labels become a truth of their own, unless
    everything is from one ``person``.
    """
    source = options.source
    truth = options.truth
    sent = person.called if person else ""
    called = CALLED if was_in_memory(source) else sent

    def named(text: str) -> str:
        return text.replace(source, called) if called else text

    path = inner_folder(Path(source)) if Path(source).is_dir() and not options.pattern else Path(source)
    formats = [form] if form else FORMATS
    root = study.root
    with study.writing():
        classes = study.classes
        if truth in study.models:
            raise OptionError(f"{truth!r} is the name of a model; choose another name with --truth NAME")
        meaning: dict[str, str] | None = None  # of masks
        objects: dict[str, ReadInstances] = {}
        table = path / "discard.csv"
        listed = _discards(table, study) if table.is_file() else []
        thrown = without_taken_back(study, listed, named(str(table)))
        is_within = is_packed(source)  # masks in a tar or a column of a table
        bundled = [entry for entry in formats if entry.kind == "bundle" and not is_within]
        found = bundles(path, bundled) if bundled else []
        if found and options.labels is not None:
            print("note: --labels has no effect on files of labelling tools, which name their classes")
        if found:
            tool = read_bundles(found, study.corpus, classes, options.pattern)
            objects = tool.instances
            by_person = (
                {"": {k: v for mine in tool.readers.values() for k, v in mine.items()}}
                if person
                else tool.readers
            )
            labels = {who: mine for who, mine in by_person.items() if mine}
            empty = tool.empty
            titles = " and ".join(tool.formats)
        elif path.is_dir() or is_within:
            masks = [entry for entry in formats if entry.kind == "masks" and (form or not entry.same_as)]
            masks = [entry for entry in masks if entry.listed or not is_within]
            there = readers(
                Path(source), study.corpus, options.pattern, masks, classes, _rules(study, options, person)
            )
            mine = there.readers
            empty = there.empty
            meaning = there.labels
            labels = {"": mine} if mine else {}
            titles = form.title if form else ""
        else:
            known = ", ".join(entry.name for entry in FORMATS if entry.kind == "bundle")
            results = "; results of COCO, a list, are a model's: `faultscape predict STUDY NAME=FILE`"
            if path.name == "samples.json":
                results = "; of a FiftyOne data set give the folder of one of its fields, fields/NAME"
            raise LabellingError(
                f"{source}: is neither a file of a known labelling tool ({known}) nor a folder of"
                f" masks{results if path.suffix == '.json' else ''}"
            )
        if empty:
            kinds = (
                f"{titles} files in which no area is drawn"
                if titles
                else "LabelMe files in which no area is drawn, or the images themselves"
            )
            what = (
                counted(empty, "image is", "images are") if found else counted(empty, "file is", "files are")
            )
            print(f"{what} not labelled yet: {'no area is drawn on them' if found else kinds}")
        if not labels and not listed and not empty:
            raise NothingThereError(named(_why_nothing(path, form, options.pattern)))
        say_both({id_ for mine in labels.values() for id_ in mine} & dict(thrown).keys())
        names = {who: truth_of(truth, who) for who in labels} or {"": truth}
        if len(set(names.values())) < len(names):
            raise LabellingError(
                f"{source}: two annotators would share the truth"
                f" {next(n for n in names.values() if list(names.values()).count(n) > 1)!r}; rename one of"
                " them in the tool"
            )
        for name in names.values():
            refuse_twin(name, study.truths, "truth")
            if name in study.models:
                raise OptionError(f"{name!r} is the name of a model; choose another name with --truth NAME")
        images = study.corpus.images({id_ for mine in labels.values() for id_ in mine})
        copies = {name: Copies(study, len(labels.get(who, {}))) for who, name in names.items()}
        kept = {
            name: keep_labels(study, name, labels.get(who, {}), images, named, copies[name].look, objects)
            for who, name in names.items()
        }
        if meaning is not None and kept[truth].read:
            keep_reading(root, study.settings, truth, meaning)
        discarded = study.answers.discard(thrown, named(source)) if thrown else 0
        for who, name in names.items():
            earlier = [
                f
                for f in read_failures(root)
                if (f.stage, f.name) == ("label", name) and f.image not in labels.get(who, {})
            ]
            replace_failures(root, "label", name, earlier + kept[name].failures)
        log_import(root, named(source), truth=truth)
    failures = [failure for one in kept.values() for failure in one.failures]
    new, replaced, unchanged = (
        sum(getattr(one, of) for one in kept.values()) for of in ("new", "replaced", "unchanged")
    )
    if failures and not new and not replaced and not unchanged and not discarded:
        raise LabellingError(f"no label could be used; the first: {failures[0].reason}")
    if line := _left_out(kept.values()):
        print(line)
    tell_discards(study, {image for image, _ in thrown})
    for name, one in kept.items():
        if one.replaced:
            print(
                f"{counted(one.replaced, 'image')} already had another label in truth {name!r}; it is"
                f" replaced, and kept in truth/{name}/removed"
            )
    several = tuple((name, one.read) for name, one in kept.items()) if len(kept) > 1 else ()
    first = failures[0].reason if failures else ""
    same = tuple(
        f"{f'truth {name}: ' if several else ''}{said}"
        for name, one in copies.items()
        if (said := one.said())
    )
    return Imported(
        truth if several else next(iter(kept)),
        new,
        replaced,
        discarded,
        len(failures),
        several,
        first,
        same,
        unchanged,
        tuple(
            line
            for name, one in kept.items()
            # it decodes every map, and says what models predict, which people who draw do not learn
            if (one.new or one.replaced) and not sent
            for line in unusual(study, name)
        ),
    )


def import_discards(study: Study, options: LabelImportOptions) -> Imported:
    """Import a table of discards alone; what was taken back is discarded again."""
    with study.writing():
        thrown = _discards(Path(options.source), study)
        number = study.answers.discard(thrown, options.source)
        log_import(study.root, options.source)
    tell_discards(study, {image for image, _ in thrown})
    return Imported("", 0, 0, number, 0)


def _discards(table: Path, study: Study) -> list[tuple[str, str]]:
    """Return (image, reason) of a table; LabellingError for an image that the study does not have."""
    thrown = discards.read(table)
    held = study.corpus.held(id_ for id_, _ in thrown)
    if unknown := [id_ for id_, _ in thrown if id_ not in held]:
        raise LabellingError(
            f"{table}: {unknown[0]!r} is not an image of the study; ids are paths without extension"
        )
    return thrown


def without_taken_back(study: Study, listed: Sequence[tuple[str, str]], table: str) -> list[tuple[str, str]]:
    """Return the discards of a folder's table without those that were taken back since they were imported,
    and say so: anyone who imports a folder again wants its labels, not to undo what was decided since.
    """
    gone = study.answers.taken_back_discards() if listed else set[tuple[str, str]]()
    if stay := [image for image, why in listed if (image, why) in gone]:
        line = shlex.join(["faultscape", "label", "import", str(study.root), table])
        print(
            f"{counted(len(stay), 'discard was', 'discards were')} taken back and"
            f" {'stays' if len(stay) == 1 else 'stay'} so, the first: {stay[0]}; to discard again: `{line}`"
        )
    return [row for row in listed if row not in gone]


def _rules(study: Study, options: LabelImportOptions, person: OnePerson | None) -> MaskRules:
    """Return what the values of masks mean: as the options say, and as earlier masks of the truth were read;
    those that were all taken back do not count.
    """
    before = study.settings.truths.get(options.truth) if options.truth in study.truths else None
    line = ["faultscape", "label", "remove", str(study.root), "--all", "--truth", options.truth]
    shows_void = partial(_shows_void, study, options.truth) if before is not None else lambda: False
    if person and person.called:
        by_organiser = "faultscape label import STUDY FILE --truth"
        return MaskRules(
            of_file(options.labels, study.classes, None),
            None if before is None else before.labels,
            "send masks with the same values, or ask the organiser, who can import them under another name"
            f" with: {by_organiser} NAME",
            shows_void,
            sent=True,
            by_organiser=f"{by_organiser} {shlex.quote(options.truth)}",
        )
    return MaskRules(
        of_file(options.labels, study.classes, None),
        None if before is None else before.labels,
        f"import them under another name (--truth NAME), or take back the earlier ones with"
        f" `{shlex.join(line)}` and import all in one folder",
        shows_void,
        shared=pairs_of(options.labels or "") if person else {},
    )


def _shows_void(study: Study, truth: str) -> bool:
    """Whether the labels of a truth hold several classes and void."""
    folder = label_maps.truth(study.root, truth)
    classes = study.classes
    held = set[int]()
    for name, part in study.manifest(folder).items():
        for code in label_maps.read_maps(folder, int(name), part).values():
            held.update(runs.labels(code).tolist())
    return len(held & {*classes.ids}) > 1 and bool(held & {*classes.void})


class Kept:
    """How many labels of one truth are new, replaced by different ones, and the same as before, and what
    could not be used; how many shapes of each kind were left out because they have no area, and on how many
    images.
    """

    def __init__(self) -> None:
        self.new = self.replaced = self.unchanged = 0
        self.left_out = Counter[str]()
        self.left_out_on = 0
        self.failures: list[Failure] = []

    @property
    def read(self) -> int:
        """How many labels could be read."""
        return self.new + self.replaced + self.unchanged


def _why_nothing(path: Path, form: Format | None, pattern: str | None) -> str:
    """Return why a folder contains no label: masks saved as JPEG, none drawn yet, names that do not match the
    pattern, or other files.
    """
    masks = path / "labels" if (path / "labels").is_dir() else path
    if why := jpegs_instead(masks, "masks"):
        return f"{masks}: {why}"
    images = path / "images"
    if masks is not path and images.is_dir() and not any(masks.iterdir()):
        return f"{masks}: is empty; {_elsewhere(path, masks, images)}"
    if pattern:
        return f"{path}: no file of a label matches the pattern {pattern!r}"
    kinds = "neither masks, nor LabelMe files, nor" if form is None else f"neither {form.title} files nor"
    return f"{path}: contains {kinds} a discard.csv for images of this study"


def _elsewhere(path: Path, masks: Path, images: Path) -> str:
    """Return where the masks of an exported folder seem to be, or that none is drawn yet."""
    beside = [file for file in path.iterdir() if file.is_file() and file.suffix.lower() in (".png", ".npy")]
    if beside:
        return f"{counted(len(beside), 'file lies', 'files lie')} in {path}: move the masks to {masks}"
    if over := [file for file in images.rglob("*.png") if not _is_colour(file)]:
        those = counted(len(over), "file has no colour pixels", "files have no colour pixels")
        return (
            f"{those} in {images}: if masks were saved over the images, move them to {masks}; `label export`"
            " then writes the images again"
        )
    return f"first draw a mask for each image in {images}, with the image's name"


def _is_colour(file: Path) -> bool:
    """Whether a PNG is of the kind that `label export` writes: the byte of its colour type is 2, RGB."""
    with file.open("rb") as stream:
        return stream.read(26)[25:] == b"\x02"


def keep_labels(
    study: Study,
    truth: str,
    read: Mapping[str, Reader],
    images: list[Image],
    named: Callable[[str], str] = str,
    look: Callable[[Image, np.ndarray], None] | None = None,
    objects: Mapping[str, ReadInstances] = {},
) -> Kept:
    """Store the labels of one truth, image by image, and call ``look`` on each if it is given. Files that
    cannot be read are left out and counted, under the names they are ``named``. ``objects`` read the
    instances of images, which are stored beside their labels.
    """
    where = label_maps.truth(study.root, truth)
    out = Kept()
    stored = study.manifest(where)

    def enter(made: list[tuple[int, Part, list[StoredMap]]]) -> None:
        label_maps.keep_taken_back(where, {number: other for number, _, other in made}, "semantic")
        write_manifest(where, read_manifest(where) | {part_name(number): part for number, part, _ in made})

    with fill.Entry(enter) as entry, progress("import", len(read)) as tick:
        for number, rows in shards(images).items():
            mine = [image for image in rows if image.id in read]
            if not mine:
                continue
            held = {m.id: m for m in label_maps.read_stored(where, number, stored)}
            other = list[StoredMap]()
            fresh = 0
            more = False
            for image in mine:
                left_out = Counter[str]()
                try:
                    label_map = read[image.id](left_out)
                    code = instances.encode(objects[image.id]()) if image.id in objects else None
                except (LabelMapError, LabellingError) as error:
                    out.failures.append(Failure("label", truth, image.id, named(str(error))))
                    tick(1)
                    continue
                if look is not None:
                    look(image, label_map)
                tick(1)
                out.left_out += left_out
                out.left_out_on += bool(left_out)
                now = StoredMap(image.id, runs.encode(label_map), instances=code)
                before = held.get(image.id)
                if before is not None:
                    same = before.runs == now.runs or np.array_equal(runs.decode(before.runs), label_map)
                    same &= code is None or before.instances in (None, code)
                    out.unchanged += same
                    if same and code in (None, before.instances):  # in other bytes too: 8 bits wide and 16
                        continue
                    more |= same  # the objects of labels that were there
                    other += [] if same else [before]
                fresh += before is None
                held[image.id] = now
            out.new, out.replaced = out.new + fresh, out.replaced + len(other)
            if fresh or other or more:
                maps = [held[id_] for id_ in sorted(held)]
                entry.add(
                    (number, Part(label_maps.put_maps(where, number, maps), len(maps), "semantic"), other)
                )
                entry.if_due()
    return out


def _left_out(kept: Collection[Kept]) -> str:
    """Return how many shapes were left out of the labels of an import, '' if none was."""
    kinds = sum((one.left_out for one in kept), Counter[str]())
    if not kinds:
        return ""
    shapes = counted(kinds.total(), "shape")
    on = counted(sum(one.left_out_on for one in kept), "image")
    each = ", ".join(f"{number} {kind}" for kind, number in kinds.most_common())
    return f"{shapes} without an area on {on} {'is' if kinds.total() == 1 else 'are'} left out: {each}"


def say_both(images: Collection[str]) -> None:
    """Report which images one import both labels and discards, and what counts."""
    if images:
        print(
            f"{counted(len(images), 'image has', 'images have')} both a label and a discard: the discard"
            f" counts, so no selection uses the image, and the label is kept; the first: {min(images)}"
        )
