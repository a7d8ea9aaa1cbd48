"""collect --layout and --mixture: data sets in their published layouts, with truth, classes, instances and
groups.

Conventions: the truth of a data set is stored under `labels` (semantic), `anomaly` (0, 1, 255) and
`instances` (one number per instance), if the data set has them. Labels map to the study's classes by name, or
by the layout's own mapping to Cityscapes; labels of classes that the study does not have become void, and
`collect` reports it. Truth is read once: what someone replaced since stays, unless the data set's files
changed.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from faultscape.classes.class_lists import resolve, table
from faultscape.corpus.layouts.catalogue import entry
from faultscape.corpus.layouts.layout import Frame, Layout, check, find_frames
from faultscape.corpus.mixtures import Part as MixturePart
from faultscape.corpus.mixtures import draw, label_mapping, mixture
from faultscape.corpus.stress.recipes import OverlayStep, Recipe
from faultscape.errors import FaultscapeError, LabelMapError, OptionError, counted
from faultscape.formats.guard import read_bytes
from faultscape.maps import runs
from faultscape.nouns import Classes
from faultscape.reading.evidence import unusual
from faultscape.reading.fill import CHANGES_NOTHING, Engine, Work, fill, task
from faultscape.reading.study import Study
from faultscape.study.parts import Part, key_of, read_manifest, write_manifest
from faultscape.study.settings import Settings, read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import part_name, read_corpus
from faultscape.study.tables.label_maps import StoredMap
from faultscape.study.tables.logs import Failure, Timing, read_failures, replace_failures
from faultscape.study.tables.stress_sets import DataSource, add_source, read_stress
from faultscape.verbs.collect.options import KnownData
from faultscape.verbs.options import CollectOptions

_ID, _FILE = 8, 16  # characters of the digests of an id and of a file
# kinds of truth, and the names under which they are stored
KINDS = {"semantic": "labels", "anomaly": "anomaly", "instance": "instances"}


@dataclass(frozen=True)
class Found:
    """The frames of a split, their layout, and its label mapping to the study's classes (empty: by name)."""

    layout: Layout
    path: str
    split: str
    frames: tuple[Frame, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    def source_of(self, frame: Frame) -> str:
        """Return the source of a frame's image: a file, or the recipe of an overlay on one."""
        if not frame.overlay:
            return os.path.abspath(frame.image)
        digest = [
            hashlib.sha256(read_bytes(place, OptionError)).hexdigest()
            for place in (frame.image, frame.overlay)
        ]
        return Recipe(
            os.path.abspath(frame.image), digest[0], OverlayStep(os.path.abspath(frame.overlay), digest[1])
        ).source


def find_known(options: CollectOptions, part: MixturePart | None = None) -> Found | None:
    """Return the frames that --layout selects, None without --layout; OptionError if the options do not fit,
    CorpusError for a folder of a different data set.
    """
    known = options.known
    if known.layout is None:
        if known.split is not None:
            raise OptionError("--split needs --layout, which names the data set")
        return None
    if len(options.images) != 1 or options.pattern or options.web.accept is not None:
        raise OptionError(
            f"--layout {known.layout} expects one folder, the root of the data set; got"
            f" {counted(len(options.images), 'place')}"
        )
    place = next(iter(options.images))
    layout = entry(known.layout)
    if known.split is None and len(layout.splits) > 1:
        raise OptionError(
            f"{layout.title} has several splits; choose one with --split: {', '.join(layout.splits)}"
        )
    split = known.split or next(iter(layout.splits))
    frames = find_frames(layout, place, split)
    if not layout.truth_kinds and any(frame.truth for frame in frames):
        raise OptionError(
            f"layout {layout.title} names files of labels, but nothing reads them: give it read_semantic or"
            " read_anomaly, or leave truth= out of its frames"
        )
    if remark := check(layout, frames):
        print(remark)
    if part is not None:
        frames = draw(replace(mixture(str(known.mixture)), parts=(part,)), {part.name: frames})[part.name]
    return Found(
        layout,
        os.path.abspath(place),
        split,
        frames,
        label_mapping(part, mixture(str(known.mixture)).classes) if part else {},
    )


def parts_of_mixture(options: CollectOptions) -> list[tuple[CollectOptions, MixturePart]]:
    """Expand --mixture into options for each of its data sets, each with its part. OptionError for an unknown
    mixture.
    """
    known = options.known
    if known.layout or known.split or options.set_:
        raise OptionError("--mixture cannot be combined with --layout, --split or --set; its file names them")
    of = mixture(str(known.mixture))
    if len(options.images) > 1:
        raise OptionError(
            "--mixture expects one folder that contains its data sets, or none to use the folder of the"
            " mixture's file"
        )
    root = Path(next(iter(options.images))) if options.images else Path(str(known.mixture)).parent
    lines = []
    for part in of.parts:
        place = str(root / (part.path or part.name))
        mine = KnownData(part.layout, part.split or None, known.mixture)
        lines.append(
            (
                replace(
                    options,
                    images=(place,),
                    set_=part.name,
                    known=mine,
                    classes=options.classes or of.classes,
                    role=options.role or "test",
                ),
                part,
            )
        )
    return lines


def enter_truths(
    study: Study, settings: Settings, found: Found, ids: Mapping[str, Frame], set_name: str
) -> dict[str, int]:
    """Store the truth of frames, {image id: frame}, and return {name: images with that truth}. Files that
    cannot be read are listed in failures.csv.
    """
    root = study.root
    counts: dict[str, int] = {}
    failures: list[Failure] = []
    mapping = _mapping(found, settings) if found.layout.read_semantic else {}
    shard_of = study.corpus.shards_of(ids)
    before = read_stress(root).data.get(set_name)
    prints = dict(before.fingerprints) if before is not None and before.path == found.path else {}
    kinds: list[str] = [*found.layout.truth_kinds, *(["instance"] if found.layout.read_instances else [])]
    for kind in kinds:
        name = KINDS[kind]
        where = label_maps.truth(root, name)
        jobs = []
        parts = read_manifest(where)
        labels = mapping if kind == "semantic" else {}
        of_shard: dict[int, list[tuple[str, Frame]]] = {}
        for id_, frame in ids.items():
            if id_ in shard_of and (frame.instances if kind == "instance" else frame.truth):
                of_shard.setdefault(shard_of[id_], []).append((id_, frame))
        for number, rows in sorted(of_shard.items()):
            now = {
                id_: _fingerprint(id_, frame.instances if kind == "instance" else frame.truth, labels)
                for id_, frame in rows
            }
            before = _fingerprints(prints.get(f"{name}/{number}", ""))
            if changed := tuple((id_, frame) for id_, frame in sorted(rows) if now[id_] not in before):
                held = parts[part_name(number)].sha256 if part_name(number) in parts else ""
                made_from = (held, *(now[id_] for id_, _ in changed))
                jobs.append(TruthJob(str(root), found.layout.name, kind, number, changed, labels, made_from))
            mine = {one[:_ID] for one in now.values()}
            prints[f"{name}/{number}"] = "".join(
                sorted({*now.values(), *(one for one in before if one[:_ID] not in mine)})
            )
        wrong, replaced = _fill(root, name, kind, jobs)
        failures += wrong
        if replaced:
            print(
                f"{counted(replaced, 'changed label is', 'changed labels are')} kept in truth/{name}/removed"
            )
        read = {id_ for job in jobs for id_, _ in job.images}
        still = [
            f for f in read_failures(root) if (f.stage, f.name) == ("label", name) and f.image not in read
        ]
        replace_failures(root, "label", name, still + wrong)
        counts[name] = sum(len(rows) for rows in of_shard.values())
        if not counts[name] or not read_manifest(where):
            del counts[name]
    add_source(
        root,
        set_name,
        DataSource(layout=found.layout.name, path=found.path, split=found.split, fingerprints=prints),
    )
    if failures:
        print(
            f"{counted(len(failures), 'truth file')} could not be read (failures.csv); the first:"
            f" {failures[0].image}: {failures[0].reason}"
        )
    if KINDS["semantic"] in counts:
        for line in unusual(study.reread(), KINDS["semantic"]):
            print(line)
    return counts


@dataclass(frozen=True)
class TruthJob:
    """The truth of one kind for some images of a shard; ``labels`` is {label id: class of the study, or
    void}, ``made_from`` holds the checksum of the existing part and digests of the files.
    """

    study: str = field(metadata=CHANGES_NOTHING)
    layout: str
    kind: str
    number: int
    images: tuple[tuple[str, Frame], ...]
    labels: dict[str, str]
    made_from: tuple[str, ...]


@dataclass(frozen=True)
class TruthPart:
    """The written part of one shard, (id, why) for unreadable files, and the ids whose labels changed."""

    sha256: str
    rows: int
    failures: tuple[tuple[str, str], ...]
    replaced: tuple[str, ...]


def _fill(root: Path, name: str, kind: str, jobs: Sequence[TruthJob]) -> tuple[list[Failure], int]:
    """Make the parts of truth; return the failures, and the number of images whose replaced labels are kept
    because a person may have made them.
    """
    where = label_maps.truth(root, name)
    failures = list[Failure]()
    kept = set[str]()

    def enter(made: list[tuple[TruthJob, TruthPart]]) -> list[Timing]:
        new = {part_name(job.number): Part(one.sha256, one.rows, kind) for job, one in made}
        parts = read_manifest(where)
        others = {
            job.number: [
                held for held in label_maps.read_stored(where, job.number, parts) if held.id in one.replaced
            ]
            for job, one in made
            if one.replaced
        }
        label_maps.keep_taken_back(where, others, kind)
        write_manifest(where, parts | new)
        kept.update(id_ for _, one in made for id_ in one.replaced)
        failures.extend(Failure("label", name, id_, why) for _, one in made for id_, why in one.failures)
        return []

    work = Work(
        f"truth {name}",
        "faultscape.verbs.collect.known_data:truth_shard",
        TruthPart,
        enter,
        lambda job, made: [(where, part_name(job.number), made.sha256)],
    )
    fill(root, work, jobs, Engine(begin_here=True), items=sum(len(job.images) for job in jobs))
    return failures, len(kept)


@task(TruthJob)
def truth_shard(job: TruthJob, tick: Callable[[int], None]) -> TruthPart:
    """Read the truth of some images of a shard, and write it with the shard's existing labels."""
    root = Path(job.study)
    layout = entry(job.layout)
    where = label_maps.truth(root, KINDS[job.kind])
    before = {one.id: one for one in label_maps.read_stored(where, job.number)}
    held = dict(before)
    sizes = {image.id: (image.height, image.width) for image in read_corpus(root, job.number)}
    read = _reader(layout, job, read_settings(root).class_list)
    failures = []
    for id_, frame in job.images:
        try:
            labels = read(frame)
            if labels.shape != sizes[id_]:
                file, (high, wide) = frame.instances if job.kind == "instance" else frame.truth, sizes[id_]
                raise LabelMapError(
                    f"{file}: is {labels.shape[1]} x {labels.shape[0]} pixels, but its image is {wide} x"
                    f" {high}; truth must have the size of its image"
                )
            held[id_] = StoredMap(id_, runs.encode(labels))
        except FaultscapeError as error:
            failures.append((id_, str(error)))
        tick(1)
    maps = [held[id_] for id_ in sorted(held)]
    replaced = tuple(sorted(id_ for id_, one in before.items() if one.runs != held[id_].runs))
    return TruthPart(label_maps.put_maps(where, job.number, maps), len(maps), tuple(failures), replaced)


def _reader(layout: Layout, job: TruthJob, classes: Classes) -> Callable[[Frame], np.ndarray]:
    """Return a function that reads the truth of a frame as ids of the study."""
    if job.kind == "instance":
        assert layout.read_instances is not None
        read_instances = layout.read_instances
        return lambda frame: _numbered(read_instances(frame))
    if job.kind == "anomaly":
        return lambda frame: layout.read_truth(frame, "anomaly")
    places = table(classes, job.labels)
    ids = np.array([*classes.ids, classes.void[0] if classes.void else 0], np.uint16)
    narrow = ids.astype(np.uint8) if ids.max() < 256 else ids
    return lambda frame: narrow[np.minimum(places[layout.read_truth(frame, "semantic")], len(classes))]


def _numbered(instances: np.ndarray) -> np.ndarray:
    """Return instances renumbered from 1 in order, 0 for none, so that they fit into label maps."""
    values, numbers = np.unique(instances, return_inverse=True)
    numbers = numbers.reshape(instances.shape) + (values[0] != 0)
    return numbers.astype(np.uint8 if numbers.max() < 256 else np.uint16)


def _mapping(found: Found, settings: Settings) -> dict[str, str]:
    """Return {label id of the layout: class of the study, or void}, and print which classes the study does
    not have. OptionError if the study has no void id for them.
    """
    classes = settings.class_list
    own = resolve(found.layout.classes) if found.layout.classes else classes
    city = resolve("cityscapes").names
    if found.labels:
        mapping = dict(found.labels)
    elif found.layout.to_cityscapes is not None and set(classes.names) <= set(city):
        mapping = found.layout.to_cityscapes()
    else:
        mapping = {str(id_): name for id_, name in zip(own.ids, own.names, strict=True)} | {
            str(id_): "void" for id_ in own.void
        }
    strange = sorted({name for name in mapping.values() if name != "void" and name not in classes.names})
    mapping = {label: "void" if name in strange else name for label, name in mapping.items()}
    if strange:
        print(
            f"{found.layout.title}: {counted(len(strange), 'class becomes', 'classes become')} void because"
            f" the study does not have {', '.join(strange[:6])}{' ...' if len(strange) > 6 else ''}"
        )
    if not classes.void and "void" in mapping.values():
        raise OptionError(
            f"{found.layout.title} has void labels, but the study's classes have no void id; add one to"
            " study.toml, for example void = [255]"
        )
    return mapping


def _fingerprint(id_: str, file: str, mapping: Mapping[str, str]) -> str:
    """Return a digest of an id, followed by one of its file (name, size, time) and label mapping."""
    about = os.stat(file)
    return (
        key_of(id_)[:_ID]
        + key_of(os.path.basename(file), about.st_size, about.st_mtime_ns, sorted(mapping.items()))[:_FILE]
    )


def _fingerprints(text: str) -> set[str]:
    """Split the concatenated digests of a shard's images."""
    return {text[first : first + _ID + _FILE] for first in range(0, len(text), _ID + _FILE)}
