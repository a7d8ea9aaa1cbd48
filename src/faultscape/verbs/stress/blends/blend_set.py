"""Blended sets: unknown objects blended into labelled images by one plan per image; images are made when they
are read.

Conventions: void of the base stays void, but an object over it counts; objects are never put on the ego
vehicle, which a mask file gives (above 0 on it, any size), a class of the study, or a label id of the
original truth; by default the layout of the data set does (Cityscapes' label ids). A plan depends on the
seed, the key of the base and the objects, not on names or order. Objects that can hardly be seen or fell into
pieces are redrawn (`redrawn`), except in sets that were made before this rule. The objects of a set are
stored in STUDY/objects, so that an edition does not change when the folder of cut-outs grows. A set has its
own labels: semantic (an anomaly is void, a known object has its class) in stress/SET, and 0 / 1 / 255 in
stress/SET/anomaly.
Source: Blum et al. 2021, 3.1.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import cast

import numpy as np

from faultscape.arguments import place_text
from faultscape.classes.class_lists import table
from faultscape.corpus.layouts.layout import Frame, Layout
from faultscape.corpus.stress.files import void_digest, write_void
from faultscape.corpus.stress.recipes import PlanStep
from faultscape.errors import ImageError, OptionError, StudyError, closest, counted
from faultscape.formats.label_maps import read_map
from faultscape.maps import runs
from faultscape.maps.resize import nearest
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.reporting.contact_sheets import objects_page
from faultscape.stressors.blend_plans import plan_blend
from faultscape.stressors.blend_steps.catalogue import BlendPreset
from faultscape.stressors.fs_static import TEST_FRAMES, VALIDATION_FRAMES, known_of_splits, static_frames
from faultscape.stressors.objects.cutout import Cutout
from faultscape.study.folder import put
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import Image, part_name
from faultscape.study.tables.stress_sets import Held, StressSet
from faultscape.ties import tie_order
from faultscape.verbs.options import StressBlendOptions
from faultscape.verbs.stress.blends.blended_labels import fill_blended, notes_of
from faultscape.verbs.stress.blends.objects import FOLDER, Objects, Use, find_objects, keep_objects
from faultscape.verbs.stress.blends.redrawn import redraw, redrawn_of
from faultscape.verbs.stress.blends.share import write_shared
from faultscape.verbs.stress.fog_set import depth_files
from faultscape.verbs.stress.make_sets import Ground, Rows, SetRecipe, ground_of, make_sets
from faultscape.verbs.stress.object_families import family_of_line
from faultscape.verbs.stress.options import FS_STATIC, blending_version
from faultscape.verbs.stress.parents import Base, frames_of_set, line_of, made_image, set_inputs
from faultscape.verbs.stress.result import Blends, Reviewed

KEEP_FLAGGED = "keep_flagged"  # parameter of a set, absent in those that were made before there was a choice
_FOG = 0.2  # probability of fog in a frame of fs-static; the authors' value is unknown


@dataclass(frozen=True)
class BlendedFrame:
    """One image to make: its base, its set, its draw number, and its objects."""

    base: Image
    set: str
    draw: int
    cutouts: tuple[Cutout, ...]

    @property
    def suffix(self) -> str:
        """What distinguishes the images of one base."""
        return f"-draw{self.draw}" if self.draw else ""


def blend_images(options: StressBlendOptions) -> Blends | Reviewed:
    """Add blended sets, and write them to a folder on request. Errors: OptionError, CorpusError and
    StudyError if that is impossible.
    """
    if options.review:
        with ground_of(options) as ground:
            objects = _find(options, ground)[1]
            return Reviewed(options.study, *_write_review(ground.study, objects))
    totals = dict[str, tuple[int, int, int]]()
    redrawn = dict[str, int]()
    made = make_sets(options, "blend", lambda ground: _recipe(options, ground, totals, redrawn))
    return Blends(**vars(made), pixels=totals, redrawn=redrawn)


def _write_review(study: Study, objects: Objects) -> tuple[str, int]:
    """Write STUDY/objects/review.html, on which a person switches off objects that code cannot judge
    (occluded, torn, or none at all), and return its path and how many objects are on it.
    """
    page = study.root / FOLDER / "review.html"
    text = objects_page(study.root.resolve().name, objects.cutouts)
    put(page, text.encode("utf-8", "xmlcharrefreplace"))
    return str(page), len(objects.cutouts)


def _find(options: StressBlendOptions, ground: Ground) -> tuple[BaseLabels, Objects]:
    """Return the labels of the base, and the objects to blend into it."""
    study = ground.study
    if study.classifies:
        raise OptionError("blending is for segmentation studies; this is a study of classifiers")
    if not study.classes.void:
        raise OptionError(
            "blending needs a void id for pixels of unknown objects, and the study's classes have "
            "none; add one to study.toml, for example void = [255]"
        )
    ground.refuse_made("blend into")
    truth = study.truth(options.truth)
    labels = BaseLabels(study, ground.base, truth, options.blending.ego)
    known = study.stress.sets
    held = {name: known[name] for name in _set_names(options, ground.base).values() if name in known}
    roles = {image.role for image in ground.base.images}
    use: Use = "train" if roles == {"train"} else "test"
    if roles == {"validation"} and options.preset != FS_STATIC:  # which has a test split too
        use = "validation"
    return labels, find_objects(study, options, truth, held, use)


def _recipe(
    options: StressBlendOptions,
    ground: Ground,
    totals: dict[str, tuple[int, int, int]],
    redrawn: dict[str, int],
) -> SetRecipe:
    """Return the recipe of blended sets, which puts the pixels of each into ``totals``, and how many of its
    objects were redrawn into ``redrawn``.
    """
    study = ground.study
    base = ground.base
    labels, objects = _find(options, ground)
    names = _set_names(options, base)

    def images() -> Rows:
        keep_objects(study.root, objects)
        frames = _frames(options, labels, objects, names)
        return _planned(study, options, base, labels, frames, about)

    def label(rows: Rows) -> None:
        how = {"engine": options.engine, "workers": options.workers}
        totals.update(fill_blended(study, [*rows], labels.truth, **how))
        for name, mine in rows.items():
            redrawn[name] = sum(bool(times) for image in mine for times in redrawn_of(image))
        if options.blending.ego is not None and not labels.ego_seen:
            print(f"note: --ego {options.blending.ego} has no effect: no image of {base.name} shows it")
        for note in (note for name in rows for note in notes_of(study, name)):
            print(note)
        if left := labels.without:
            have = "has" if len(left) == 1 else "have"
            print(
                f"{counted(len(left), 'image')} of {base.name} {have} no label in truth {labels.truth};"
                f" nothing is blended into them (first: {left[0]})"
            )

    def write(rows: Rows) -> int:
        folder = Path(str(options.write))
        return write_shared(
            study,
            folder,
            [*rows],
            overlay_only=options.overlay_only,
            engine=options.engine,
            workers=options.workers,
        )

    keeps = _keeps_flagged(study, options, names.values())
    about = {name: _about(study, options, base, objects, labels.truth, keeps) for name in names.values()}
    return SetRecipe(about, images, write, label)


def _set_names(options: StressBlendOptions, base: Base) -> dict[str, str]:
    """Return {split: name of its set}; a preset without splits has one, ''."""
    name = options.preset if options.preset != FS_STATIC else f"{FS_STATIC}-{blending_version(options)}"
    edition = f"-{options.edition}" if options.edition else ""
    if options.preset == FS_STATIC:
        return {split: base.set_name(f"{name}{edition}-{split}") for split in ("validation", "test")}
    return {"": base.set_name(f"{name}{edition}")}


def _frames(
    options: StressBlendOptions, labels: BaseLabels, objects: Objects, names: Mapping[str, str]
) -> list[BlendedFrame]:
    """Return the frames to make: each labelled base once, or the requested number, with bases reused for new
    draws.
    """
    by_key = {image.key: image for image in labels.images}
    if options.preset == FS_STATIC:
        held = {cutout.digest: cutout for cutout in objects.cutouts}
        known = (
            known_of_splits(objects.cutouts, seed=options.seed) if blending_version(options) == "v3" else {}
        )
        test = TEST_FRAMES if options.frames is None else options.frames
        frames = static_frames(
            [*by_key],
            objects.cutouts,
            seed=options.seed,
            validation=VALIDATION_FRAMES if options.frames is None else max(1, options.frames // 10),
            test=test,
            objects_per_frame=options.blending.objects_per_frame,
        )
        return [
            BlendedFrame(
                by_key[one.base],
                names[one.split],
                one.draw,
                (*(held[digest] for digest in one.objects), *known.get(one.split, ())),
            )
            for one in frames
        ]
    images = [
        labels.images[k]
        for k in tie_order(
            [image.key for image in labels.images], options.seed, [image.id for image in labels.images]
        ).tolist()
    ]
    count = options.frames or len(images)
    return [
        BlendedFrame(images[k % len(images)], names[""], k // len(images), objects.cutouts)
        for k in range(count)
    ]


def _planned(
    study: Study,
    options: StressBlendOptions,
    base: Base,
    labels: BaseLabels,
    frames: Sequence[BlendedFrame],
    about: Mapping[str, StressSet],
) -> dict[str, list[Image]]:
    """Return the rows of all frames, each with its plan, by set; flagged objects are redrawn if the sets
    say so.
    """
    fog = (
        options.blending.fog
        if options.blending.fog is not None
        else _FOG
        if options.preset == FS_STATIC
        else 0.0
    )
    depth = depth_files(study, place_text(options.blending.depth, "depth"), base) if fog else {}
    preset = cast("BlendPreset", f"fishyscapes-{blending_version(options)}")
    folder = study.root / FOLDER
    order = {image.id: place for place, image in enumerate(labels.images)}
    ordered = sorted(frames, key=lambda frame: (order[frame.base.id], frame.draw))

    def planned(number: int, redrawn: tuple[int, ...] = ()) -> Image:
        frame = ordered[number]
        image = frame.base
        plan = plan_blend(
            (image.height, image.width),
            frame.cutouts,
            preset,
            seed=options.seed,
            key=image.key,
            draw=frame.draw,
            objects_per_frame=options.blending.objects_per_frame,
            forbidden=labels.forbidden(image),
            fog_chance=fog,
            redrawn=redrawn,
        )
        void = ""
        step_depth = ("", "")
        if plan.fog is not None:
            mask = labels.void(image)
            void = void_digest(mask)
            step_depth = depth.get(image.id, ("", ""))
            if not (path := folder / f"void-{void}.png").is_file():
                put(path, write_void(mask))
        step = PlanStep(plan.text(), str(folder.absolute()), void, *step_depth)
        role = "validation" if frame.set.endswith("-validation") else "test"
        condition = frame.set.removeprefix(f"{base.name}-")
        return made_image(base, image, frame.set, condition, role, step, frame.suffix)

    images = list[Image]()
    todo = list[int]()
    with progress("plan", len(ordered)) as tick:
        for number, frame in enumerate(ordered):
            redraws = about[frame.set].parameters.get(KEEP_FLAGGED) is False
            held = _settled(study, frame.set, about[frame.set]) if redraws else {}
            before = held.get(base.id_of(frame.set, frame.base) + frame.suffix)
            image = planned(number) if before is None else planned(number, redrawn_of(before))
            if before is not None and before.digest != image.digest:
                before = None
                image = planned(number)
            images.append(image)
            if redraws and before is None:
                todo.append(number)
            tick(1)
    redraw(images, todo, planned, engine=options.engine, workers=options.workers)
    rows: dict[str, list[Image]] = {}
    for frame, image in zip(ordered, images, strict=True):
        rows.setdefault(frame.set, []).append(image)
    return rows


def _settled(study: Study, name: str, about: StressSet) -> dict[str, Image]:
    """Return {id: image} of a finished set whose flagged objects were redrawn under the same labels by the
    same computation, so that its plans need no second look.
    """
    held = study.stress.sets.get(name)

    def looked_at(inputs: Mapping[str, str]) -> dict[str, str]:
        return {key: value for key, value in inputs.items() if key != "images"}

    if held is None or not held.inputs or looked_at(held.inputs) != looked_at(about.inputs):
        return {}
    return study.image_rows


def _keeps_flagged(study: Study, options: StressBlendOptions, names: Iterable[str]) -> bool | None:
    """Return whether flagged objects stay; None for sets that were made before there was a choice: these stay
    as they are.
    """
    held = [study.stress.sets[name] for name in names if name in study.stress.sets]
    old = any(one.kind == "blend" and KEEP_FLAGGED not in one.parameters for one in held)
    return None if old else options.blending.keep_flagged


def _about(
    study: Study, options: StressBlendOptions, base: Base, objects: Objects, truth: str, keeps: bool | None
) -> StressSet:
    parameters: Held = {
        "preset": options.preset,
        "blending": blending_version(options),
        "seed": options.seed,
        "objects_per_frame": options.blending.objects_per_frame,
        "objects": [*objects.digests],
        **({"edition": options.edition} if options.edition else {}),
        **({"frames": options.frames} if options.frames else {}),
        **({"ego": options.blending.ego} if options.blending.ego else {}),
        **({"fog": options.blending.fog} if options.blending.fog is not None else {}),
        **({KEEP_FLAGGED: keeps} if keeps is not None else {}),
    }
    line = line_of(options, base)
    of_objects = {cutout.family for cutout in objects.cutouts if cutout.use == "anomaly"}
    of_depth: Held = {"depth": line["depth"]} if options.blending.depth else {}
    return StressSet(
        kind="blend",
        of=base.name,
        labels="own",
        truth=truth,
        line=line,
        parameters={**parameters, **of_depth},
        inputs=set_inputs(base, study.truth_key(truth), {**parameters, **of_depth}),
        families=tuple(sorted({one or family_of_line(line) for one in of_objects})),
    )


class BaseLabels:
    """Reads the labels of a base under a truth: where an image is void, and where no object may go, as masks
    (H, W) of its size; StudyError if no image has one.
    """

    def __init__(self, study: Study, base: Base, truth: str, ego: str | None) -> None:
        self._study = study
        self._folder = label_maps.truth(study.root, truth)
        self._places = table(study.classes)
        self.truth = truth
        self._void = len(study.classes)
        self._ego = ego
        self._base = base
        self.ego_seen = False  # whether any requested image shows it
        self._names = study.classes.names
        parts = study.manifest(self._folder)
        held = {
            number: set(label_maps.read_ids(self._folder, number, parts[part_name(number)]))
            for number in {i.shard for i in base.images}
            if part_name(number) in parts
        }
        self.images = tuple(image for image in base.images if image.id in held.get(image.shard, ()))
        self.without = tuple(image.id for image in base.images if image.id not in held.get(image.shard, ()))
        if not self.images:
            raise StudyError(
                f"--set {base.name}: no image of it has a label of truth {truth!r}; blending needs "
                "labels: import them with `faultscape label import`, or collect the set with --layout"
            )
        self._shard = lru_cache(maxsize=2)(
            lambda number: label_maps.read_maps(self._folder, number, parts[part_name(number)])
        )
        if ego is not None and not Path(ego).is_file() and ego not in self._names and not ego.isdecimal():
            raise OptionError(
                f"--ego {ego!r}: is not a mask file, a class of the study or a label "
                f"number.{closest(ego, list(self._names))}"
            )

    def own(self, image: Image) -> np.ndarray:
        """Return the label map (h, w) of an image in its original ids, at the image's size."""
        return nearest(runs.decode(self._shard(image.shard)[image.id]), (image.width, image.height))

    def places(self, image: Image) -> np.ndarray:
        """Return the label map (H, W) as places of the study's classes."""
        return self._places[self.own(image)]

    def void(self, image: Image) -> np.ndarray:
        """Return (H, W), where an image has no class."""
        return self.places(image) == self._void

    def forbidden(self, image: Image) -> np.ndarray | None:
        """Return (H, W), where no object may go; None without restrictions."""
        if self._ego is None:
            return self._of_layout(image)
        if Path(self._ego).is_file():
            mask = nearest(self._mask, (image.width, image.height)) > 0
        elif self._ego in self._names:
            mask = self.places(image) == self._names.index(self._ego)
        else:
            mask = self.own(image) == int(self._ego)
        self.ego_seen |= bool(mask.any())
        return mask

    def _of_layout(self, image: Image) -> np.ndarray | None:
        """Return where the ego vehicle is, by the data set's own labels."""
        layout, frames = self._frames
        if (
            layout is None
            or layout.read_ego is None
            or (frame := frames.get(image.id)) is None
            or not frame.truth
        ):
            return None
        return nearest(layout.read_ego(frame).astype(np.uint8), (image.width, image.height)) > 0

    @cached_property
    def _frames(self) -> tuple[Layout | None, dict[str, Frame]]:
        return frames_of_set(self._study, self._base)

    @cached_property
    def _mask(self) -> np.ndarray:
        try:
            return read_map(str(self._ego))
        except ImageError as error:
            raise OptionError(f"--ego {error}") from None
