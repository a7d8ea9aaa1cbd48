"""stress: sets made of a study's own sets, to see what models do on them: corruptions, unknown objects, held-out classes, fog."""

from __future__ import annotations

from faultscape.arguments import Place, needed_text, place_text, several
from faultscape.choices import Role
from faultscape.stages.stress.options import CorruptOptions, HoldoutOptions
from faultscape.stages.stress.result import HeldOut, Stressed


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
    """Add a corrupted set for each corruption and severity: noise, blur, weather, digital (Hendrycks and Dietterich 2019). Images are made when a model reads them.

    A set is called after its condition (fog-3) and its images after their parents (fog-3/ID). The same seed gives the same bytes on any machine. Run the line again after images were added.

    Parameters
    ----------
    study
        The study folder.
    set_
        The set whose images are corrupted; default: the only one that was collected.
    preset
        hendrycks15 (the fifteen corruptions, severities 1 to 5; default), hendrycks19 (four more), s3-config (gaussian_noise), s3-data (gaussian_noise, brightness, contrast, fog) or kamann.
    corruption
        Instead of a preset: the name of a corruption, or file.py:NAME, one of your own; repeat it for more.
    severities
        Which of the five: 1-5 (default: those of the preset), 3, or 1,3,5.
    seed
        Of the noise.
    move_labels
        Move labels where a corruption moves pixels (elastic_transform, glass_blur, zoom_blur); by default they stay, as in the papers.
    truth
        With --move-labels: which truth; default: the only one, or labels.
    frost_textures
        A folder of textures for frost; default: textures drawn by code.
    role
        What the sets are for: test (default), validation, train, reference, or pool (images that are drawn from).
    write
        Also write the images: DIR/CORRUPTION/SEVERITY/ID.png.
    engine
        With --write: local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    """
    from faultscape.stages.stress.corrupt import corrupt_images

    return corrupt_images(
        CorruptOptions(
            needed_text(study, "study"), set_, preset, several(corruption), severities, seed, move_labels, truth,
            place_text(frost_textures, "frost_textures"), role, place_text(write, "write"), engine, workers,
        )
    )  # fmt: skip


def holdout(
    study: Place,
    *,
    classes: str | list[str] | None = None,
    preset: str | None = None,
    as_: str | None = None,
    truth: str | None = None,
    write: Place | None = None,
) -> HeldOut:
    """Hold classes out: their pixels are withheld from training truth (no loss, no out-of-distribution data), and are the anomaly of test truth (S3, ADE20k-Open).

    Nothing is stored anew: `measure --holdout NAME` reads truth without them, of clean and of corrupted sets. With --write DIR also training and test truth as PNG.

    Parameters
    ----------
    study
        The study folder.
    classes
        Names of classes, with commas between them.
    preset
        s3-paper (chair, sofa or couch) or s3-code (chair, armchair, swivel chair).
    as_
        Name of the holdout; default: that of the preset, or holdout.
    truth
        With --write: which truth; default: the only one, or labels.
    write
        A folder for truth of every labelled image: DIR/training/ID.png (0..K-1, 254 withheld, 255 void), DIR/open/ID.png (1 withheld, 0 kept, 255 void), DIR/classes.json.
    """
    from faultscape.stages.stress.holdout import hold_out_classes

    names = tuple(word.strip() for word in classes.split(",")) if isinstance(classes, str) else several(classes)
    return hold_out_classes(HoldoutOptions(needed_text(study, "study"), names, preset, as_, truth, place_text(write, "write")))
