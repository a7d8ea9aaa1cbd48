"""Blended sets: unknown objects blended into labelled images by one plan per image; images are made when they
are read.

Conventions: void of the base stays void, but an object over it counts; objects are never put on the ego
vehicle. A plan depends on the seed, the key of the base and the objects, not on names or order. The objects
of a set are stored in STUDY/objects, so that an edition does not change when the folder of cut-outs grows. A
set has its own labels: semantic (an anomaly is void, a known object has its class) in stress/SET, and 0 / 1 /
255 in stress/SET/anomaly.
Source: Blum et al. 2021, 3.1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from faultscape import engine as engines
from faultscape.arguments import place_text
from faultscape.corpus.stress.files import void_digest, write_void
from faultscape.corpus.stress.recipes import PlanStep
from faultscape.errors import OptionError, counted
from faultscape.progress import progress
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.stressors.blend_plans import plan_blend
from faultscape.stressors.blend_steps.catalogue import BlendPreset
from faultscape.stressors.fs_static import TEST_FRAMES, VALIDATION_FRAMES, known_of_splits, static_frames
from faultscape.stressors.objects.cutout import Cutout
from faultscape.study.folder import existing, put
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables.corpus import Image, read_corpus
from faultscape.study.tables.logs import log
from faultscape.study.tables.stress_sets import Held, StressSet, read_stress
from faultscape.ties import tie_order
from faultscape.verbs.options import StressBlendOptions
from faultscape.verbs.stress.blends.base_labels import BaseLabels
from faultscape.verbs.stress.blends.blended_labels import fill_blended, notes_of
from faultscape.verbs.stress.blends.objects import FOLDER, Objects, find_objects, keep_objects
from faultscape.verbs.stress.blends.review import write_review
from faultscape.verbs.stress.blends.share import write_shared
from faultscape.verbs.stress.depth import depth_files
from faultscape.verbs.stress.entry import enter_sets, finish_sets
from faultscape.verbs.stress.options import FS_STATIC, blending_version
from faultscape.verbs.stress.parents import Base, find_base, line_of, made_image, refuse_others, set_inputs
from faultscape.verbs.stress.result import Blends, Reviewed

_FOG = 0.2  # probability of fog in a frame of fs-static; the authors' value is unknown


@dataclass(frozen=True)
class Frame:
    """One image to make: its base, its set, its draw number, and its objects."""

    base: Image
    set: str
    draw: int
    cutouts: tuple[Cutout, ...]


def blend_images(options: StressBlendOptions) -> Blends | Reviewed:
    """Add blended sets, and write them to a folder on request. Errors: OptionError, CorpusError and
    StudyError if that is impossible.
    """
    root = existing(options.study)
    engines.check(options.engine, options.workers)
    with writing(root):
        settings, images, known = read_settings(root), read_corpus(root), read_stress(root)
        if settings.classifies:
            raise OptionError("blending is for segmentation studies; this is a study of classifiers")
        if not settings.classes.void:
            raise OptionError(
                "blending needs a void id for pixels of unknown objects, and the study's classes have "
                "none; add one to study.toml, for example void = [255]"
            )
        base = find_base(options.study, images, known, options.set_)
        if base.name in known.sets:
            raise OptionError(
                f"--set {base.name}: was itself made by `faultscape stress`; blend into its base set, "
                f"{known.sets[base.name].of}"
            )
        truth = evidence.choose_truth(root, options.truth)
        labels = BaseLabels(root, settings, base, truth, options.blending.ego)
        names = _set_names(options, base)
        objects = find_objects(
            root,
            settings,
            images,
            options,
            truth,
            {name: known.sets[name] for name in names.values() if name in known.sets},
        )
        if options.review:
            return Reviewed(options.study, *write_review(root, objects))
        about = {name: _about(root, options, base, objects, truth) for name in names.values()}
        refuse_others(options.study, known.sets, about)
        keep_objects(root, objects)
        rows = _planned(root, options, base, labels, _frames(options, labels, objects, names))
        about = {name: one for name, one in about.items() if name in rows}
        entered = enter_sets(root, rows, about)
        totals = fill_blended(root, settings, [*rows], truth, engine=options.engine, workers=options.workers)
        finish_sets(root, about)
        log(root, "stress blend", **line_of(options, base))
    if options.blending.ego is not None and not labels.ego_seen:
        print(f"note: --ego {options.blending.ego} has no effect: no image of {base.name} shows it")
    for note in (note for name in rows for note in notes_of(root, name)):
        print(note)
    if left := labels.without:
        print(
            f"{counted(len(left), 'image')} of {base.name} {'has' if len(left) == 1 else 'have'} no label in"
            f" truth {truth}; nothing is blended into them (first: {left[0]})"
        )
    written = (
        write_shared(
            root,
            Path(options.write),
            [*rows],
            overlay_only=options.overlay_only,
            engine=options.engine,
            workers=options.workers,
        )
        if options.write
        else 0
    )
    return Blends(
        options.study,
        "blend",
        base.name,
        tuple(rows),
        sum(map(len, rows.values())),
        entered.new,
        entered.changed,
        entered.left,
        options.write or "",
        written,
        totals,
    )


def _set_names(options: StressBlendOptions, base: Base) -> dict[str, str]:
    """Return {split: name of its set}; a preset without splits has one, ''."""
    name = options.preset if options.preset != FS_STATIC else f"{FS_STATIC}-{blending_version(options)}"
    edition = f"-{options.edition}" if options.edition else ""
    if options.preset == FS_STATIC:
        return {split: base.set_name(f"{name}{edition}-{split}") for split in ("validation", "test")}
    return {"": base.set_name(f"{name}{edition}")}


def _frames(
    options: StressBlendOptions, labels: BaseLabels, objects: Objects, names: Mapping[str, str]
) -> list[Frame]:
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
            Frame(
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
        Frame(images[k % len(images)], names[""], k // len(images), objects.cutouts) for k in range(count)
    ]


def _planned(
    root: Path, options: StressBlendOptions, base: Base, labels: BaseLabels, frames: Sequence[Frame]
) -> dict[str, list[Image]]:
    """Return the rows of all frames, each with its plan, by set."""
    rows: dict[str, list[Image]] = {}
    fog = (
        options.blending.fog
        if options.blending.fog is not None
        else _FOG
        if options.preset == FS_STATIC
        else 0.0
    )
    depth = depth_files(root, place_text(options.blending.depth, "depth"), base) if fog else {}
    preset, folder = cast("BlendPreset", f"fishyscapes-{blending_version(options)}"), root / FOLDER
    order = {image.id: place for place, image in enumerate(labels.images)}
    with progress("plan", len(frames)) as tick:
        for frame in sorted(frames, key=lambda frame: (order[frame.base.id], frame.draw)):
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
            )
            void, step_depth = "", ("", "")
            if plan.fog is not None:
                mask = labels.void(image)
                void, step_depth = void_digest(mask), depth.get(image.id, ("", ""))
                if not (path := folder / f"void-{void}.png").is_file():
                    put(path, write_void(mask))
            step = PlanStep(plan.text(), str(folder.absolute()), void, *step_depth)
            role = "validation" if frame.set.endswith("-validation") else "test"
            condition = frame.set.removeprefix(f"{base.name}-")
            rows.setdefault(frame.set, []).append(
                made_image(
                    base, image, frame.set, condition, role, step, f"-draw{frame.draw}" if frame.draw else ""
                )
            )
            tick(1)
    return rows


def _about(root: Path, options: StressBlendOptions, base: Base, objects: Objects, truth: str) -> StressSet:
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
    }
    line = line_of(options, base)
    of_depth: Held = {"depth": line["depth"]} if options.blending.depth else {}
    return StressSet(
        kind="blend",
        of=base.name,
        labels="own",
        truth=truth,
        line=line,
        parameters={**parameters, **of_depth},
        inputs=set_inputs(base, Study(root).truth_key(truth), {**parameters, **of_depth}),
    )
