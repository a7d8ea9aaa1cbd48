"""stress: make corrupted, foggy and blended sets of a study's images."""

from __future__ import annotations

from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.choices import Role
from faultscape.errors import OptionError, closest
from faultscape.terminal_lines import number_word
from faultscape.verbs.stress.options import (
    FS_STATIC,
    PRESETS,
    VERSIONS,
    Blending,
    blending_version,
    refuse_place,
)
from faultscape.verbs.stress.result import Blends, HeldOut, Reviewed, Sheet, Stressed
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import (
        StressBlendOptions,
        StressCorruptOptions,
        StressFogOptions,
        StressHoldoutOptions,
        StressSheetOptions,
    )


def _check_corrupt(options: StressCorruptOptions) -> None:
    refuse_place(options.study, options.write)
    if options.seed < 0:
        raise OptionError(f"--seed must be a whole number, 0 or more; got {options.seed}")
    if options.truth is not None and not options.move_labels:
        raise OptionError("--truth names the labels that --move-labels moves; give both, or leave it out")


@verb(
    "faultscape.verbs.stress.corruption_set:corrupt_images",
    changes_nothing=("write", "engine", "workers"),
    check=_check_corrupt,
)
def corrupt(
    study: Place,
    *,
    set_: str | None = None,
    preset: str | None = None,
    corruption: list[str] | None = None,
    severities: str | None = None,
    seed: int = 0,
    move_labels: bool = False,
    truth: str | None = None,
    frost_textures: Place | None = None,
    role: Role = "test",
    write: Place | None = None,
    engine: str = "processes",
    workers: int | None = None,
) -> Stressed:
    """Add a corrupted set for each corruption and severity: noise, blur, weather, digital (Hendrycks and
    Dietterich 2019). Images are made when a model reads them.

    A set is named after its condition (fog-3), and its images after their originals (fog-3/ID). The same seed
    gives the same bytes on any machine. Run the command again after you add images.

    Parameters
    ----------
    study
        The study folder.
    set_
        The set to corrupt; default: the only set that was collected.
    preset
        hendrycks15 (the fifteen corruptions, severities 1 to 5; default), hendrycks19 (four more), s3-config
        (gaussian_noise), s3-data (gaussian_noise, brightness, contrast, fog) or kamann.
    corruption
        Instead of a preset: the name of a corruption, or file.py:NAME for your own. Repeatable.
    severities
        Which of the five severities: 1-5, 3, or 1,3,5; default: those of the preset.
    seed
        Seed of everything random.
    move_labels
        Move labels where a corruption moves pixels (elastic_transform, glass_blur, zoom_blur); by default
        they stay, as in the papers.
    truth
        With --move-labels: the truth to use; default: the only one, or labels.
    frost_textures
        A folder of textures for frost; default: textures drawn by code.
    role
        What the sets are for: test (default), validation, train, reference, or pool (images to select from).
    write
        Also write the images: DIR/CORRUPTION/SEVERITY/ID.png.
    engine
        With --write or --move-labels: local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.

    >>> fs.stress.corrupt("study", corruption=["fog"], severities="3").images
    12
    """
    ...


def _check_blend(options: StressBlendOptions) -> None:
    refuse_place(options.study, options.write)
    how = options.blending
    if options.preset not in PRESETS:
        raise OptionError(
            f"--preset {options.preset!r} is not known; use"
            f" {', '.join(PRESETS)}.{closest(options.preset, PRESETS)}"
        )
    if how.version is not None and (options.preset != FS_STATIC or how.version not in VERSIONS):
        raise OptionError(
            f"--version must be one of {', '.join(VERSIONS)}, with --preset {FS_STATIC}; got "
            f"{how.version!r} with {options.preset}"
        )
    if how.fog is not None and not 0 <= how.fog <= 1:
        raise OptionError(f"--fog must be a probability, 0 to 1; got {how.fog}")
    for name, value, least in (
        ("seed", options.seed, 0),
        ("objects-per-frame", how.objects_per_frame, 1),
        ("smallest", how.smallest, 1),
        ("frames", options.frames, 1),
    ):
        if value is not None and value < least:
            raise OptionError(f"--{name} must be a whole number, {least} or more; got {value}")
    if how.known is not None and blending_version(options) != "v3":
        raise OptionError(
            f"--known has no effect: {options.preset} blends no known objects; use fishyscapes-v3, or "
            "fs-static with --version v3"
        )
    if how.depth is not None and not (how.fog if how.fog is not None else options.preset == FS_STATIC):
        raise OptionError("--depth is used for fog, and no image is foggy; add --fog 0.2, or leave it out")
    if how.textures and options.preset == FS_STATIC:
        raise OptionError(
            f"--textures has no effect: {FS_STATIC} blends objects of its twelve classes; use fishyscapes-v2"
        )
    if options.review and options.write:
        raise OptionError(
            "--review only writes the contact sheet; leave out --write until the objects are chosen"
        )
    if options.overlay_only and not options.write:
        raise OptionError("--overlay-only needs --write DIR")


@verb(
    "faultscape.verbs.stress.blends.blend_set:blend_images",
    changes_nothing=("review", "write", "overlay_only", "engine", "workers"),
    check=_check_blend,
)
def blend(
    study: Place,
    *,
    preset: str,
    set_: str | None = None,
    objects: Place | None = None,
    edition: str | None = None,
    seed: int = 0,
    frames: int | None = None,
    truth: str | None = None,
    review: bool = False,
    write: Place | None = None,
    overlay_only: bool = False,
    engine: str = "processes",
    workers: int | None = None,
    blending: Blending = Blending(),
) -> Blends | Reviewed:
    """Add a set with unknown objects blended into labelled images, as in Fishyscapes (Blum et al. 2021), for
    anomaly detection.

    Labels are 0 known, 1 anomalous, 255 void. The same seed, images and objects give the same bytes on any
    machine; images are made when a model reads them. Run the command again after you add images.

    Parameters
    ----------
    study
        The study folder.
    preset
        fishyscapes-v1 (alpha, brightness, noise), fishyscapes-v2 (also colours, motion blur, depth blur,
        glow), fishyscapes-v3 (also known objects), or fs-static (disjoint sets for validation and test, of
        the twelve VOC classes).
    set_
        The set of labelled images to blend into; default: the only set that was collected.
    objects
        A folder of cut-outs: RGBA images, images and masks, a PASCAL VOC tree, or COCO instances, with or
        without objects.csv; default: objects drawn by code.
    edition
        Name of the edition, for example 2026-11: a new set of the objects that the folder contains now.
        Earlier editions keep theirs.
    seed
        Seed of objects, places and all parameters.
    frames
        How many images to make; if the set has fewer, its images are used again with other draws. Default:
        each once; fs-static: 1,000 (and 30 for validation).
    truth
        The labels that say what is void and known; default: the only one, or labels.
    review
        Only write a contact sheet of the objects, on which you switch off those that are occluded or cut off;
        it saves switched-off.csv for --without.
    write
        Also write the sets: DIR/SET/images, labels (0, 1, 255) and manifest.csv.
    overlay_only
        With --write: write overlays (signed differences to the base) instead of images, so that you can share
        a benchmark on licensed images.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    blending
        Which objects, where, and in what weather: `Blending(ego=...)`.

    >>> fs.stress.blend("study", preset="fishyscapes-v2").images
    12
    """
    ...


def _check_fog(options: StressFogOptions) -> None:
    refuse_place(options.study, options.write)
    if any(not 0 < beta <= 1 for beta in options.beta):
        raise OptionError(
            "--beta must be above 0 and at most 1 per metre (0.005: 600 m of visibility); got "
            f"{', '.join(map(number_word, options.beta))}"
        )
    if not 0 <= options.light <= 255:
        raise OptionError(f"--light must be a gray level from 0 to 255; got {options.light}")


@verb(
    "faultscape.verbs.stress.fog_set:fog_images",
    changes_nothing=("write", "engine", "workers"),
    check=_check_fog,
)
def fog(
    study: Place,
    *,
    set_: str | None = None,
    depth: Place | None = None,
    beta: list[float] | None = None,
    light: int = 210,
    role: Role = "test",
    write: Place | None = None,
    engine: str = "processes",
    workers: int | None = None,
) -> Stressed:
    """Add foggy sets, one per density, by Koschmieder's law (Sakaridis et al. 2018). Labels stay; images are
    made when a model reads them.

    Parameters
    ----------
    study
        The study folder.
    set_
        The set to add fog to; default: the only set that was collected.
    depth
        A folder of depth maps by image id, of the images' size: .npy in metres, or 16-bit PNG in metres
        times 256 (0: unknown); default: the depth of a flat road.
    beta
        Attenuation per metre. Repeatable. Default: 0.005, 0.01 and 0.02, a visibility of 600, 300 and 150 m.
    light
        Grey level of the fog.
    role
        What the sets are for: test (default), validation, train, reference, or pool (images to select from).
    write
        Also write the images: DIR/fog/BETA/ID.png.
    engine
        With --write: local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.

    >>> fs.stress.fog("study", depth="depth/")  # doctest: +SKIP
    """
    ...


def _check_holdout(options: StressHoldoutOptions) -> None:
    refuse_place(options.study, options.write)
    others = (options.classes, options.preset, options.as_, options.truth, options.write)
    if options.remove is not None and any(others):
        raise OptionError("--remove only removes a holdout; give it alone")
    if options.truth is not None and not options.write:
        raise OptionError("--truth names the labels that --write writes; give both, or leave it out")


@verb("faultscape.verbs.stress.class_holdout:hold_out_classes", check=_check_holdout)
def holdout(
    study: Place,
    *,
    classes: str | list[str] | None = None,
    preset: str | None = None,
    as_: str | None = None,
    truth: str | None = None,
    write: Place | None = None,
    remove: str | None = None,
) -> HeldOut:
    """Hold out classes: their pixels are withheld from training truth (no loss, no out-of-distribution data)
    and are the anomaly in test truth (Buchanan et al. 2022).

    Nothing new is stored: `measure --holdout NAME` reads truth without these classes, for clean and corrupted
    sets. With --write DIR, training and test truth are also written as PNG.

    Parameters
    ----------
    study
        The study folder.
    classes
        Names of classes, separated by commas; a name may itself contain commas.
    preset
        s3-paper (chair, sofa or couch) or s3-code (chair, armchair, swivel chair).
    as_
        Name of the holdout; default: the preset's name, or holdout.
    truth
        With --write: the truth to use; default: the only one, or labels.
    write
        A folder for the truth of every labelled image: DIR/training/ID.png (0..K-1, 254 withheld, 255 void),
        DIR/open/ID.png (1 withheld, 0 kept, 255 void), DIR/classes.json.
    remove
        Remove the holdout of this name and do nothing else.

    >>> fs.stress.holdout("study", classes="car").kept
    3
    """
    ...


def _check_sheet(options: StressSheetOptions) -> None:
    if options.images < 1:
        raise OptionError(f"--images must be a whole number, 1 or more; got {options.images}")


@verb("faultscape.verbs.stress.contact_sheet:write_sheet", check=_check_sheet)
def sheet(study: Place, *, set_: list[str] | None = None, images: int = 8) -> Sheet:
    """Write STUDY/stress/sheet.html, a contact sheet of made sets: one image under each corruption and
    severity, and blended images with their labels.

    Parameters
    ----------
    study
        The study folder.
    set_
        A made set. Repeatable. Default: all.
    images
        How many images of a blended set to show.

    >>> made = fs.stress.corrupt("study", corruption=["fog"], severities="3")
    >>> fs.stress.sheet("study").sets
    1
    """
    ...
