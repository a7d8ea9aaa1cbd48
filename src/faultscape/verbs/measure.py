"""measure: what kind of error each model makes, exactly, against a truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from faultscape.errors import OptionError, counted

WORST = 3  # pictures of the worst images for each kind of error
if TYPE_CHECKING:
    Named = Any
else:
    Named = list[str] | None  # what the command line reads: NAME=FOLDER, repeated; in Python also a dict


@dataclass(frozen=True, eq=False)
class Measured:
    """What `measure` found: the folder it wrote to, and the document of measure.json."""

    path: str
    document: dict[str, Any] = field(repr=False)

    @property
    def models(self) -> dict[str, Any]:
        """{NAME: {METRIC: {value, low, high, ...}}} of the one data set; of several, those of the first."""
        sets = self.document.get("datasets")
        return (next(iter(sets.values())) if sets else self.document)["models"]

    def __repr__(self) -> str:
        from faultscape.reporting.measure.words import told

        return told(self.path, self.document)


@dataclass(frozen=True, eq=False)
class MeasuredShare(Measured):
    """What one job of an array did; its document holds no metrics but ``shard``, ``jobs`` (done now) and ``failures`` (maps without statistics so far)."""

    def __repr__(self) -> str:
        shard, jobs, failures = (self.document[key] for key in ("shard", "jobs", "failures"))
        wrong = f"; {counted(failures, 'map')} could not be measured so far" if failures else ""
        return f"{self.path}: share {shard}, {counted(jobs, 'job')} done{wrong}; when all shares are done, run the line without --shard"


def measure(
    source: str | None = None,
    *models: Any,
    classes: Any = None,
    truth: str | None = None,
    anomaly: Named = None,
    confidence: Named = None,
    doubt: Named = None,
    probabilities: Named = None,
    datasets: str | None = None,
    images: str | None = None,
    output: str | None = None,
    metric: list[str] | None = None,
    preset: str | None = None,
    regions: str | None = None,
    divisor: int | None = None,
    connectivity: int | None = None,
    void: str | None = None,
    absent: str | None = None,
    scale: str | None = None,
    match: str | None = None,
    per: str | None = None,
    over: str | None = None,
    pooling: str | None = None,
    fpr_rule: str | None = None,
    curve: str | None = None,
    track: str | None = None,
    tolerance: float | None = None,
    band: float | None = None,
    bins: int | None = None,
    window: int | None = None,
    certain: float | None = None,
    accurate: float | None = None,
    ignore: list[int] | None = None,
    background: int | None = None,
    score_scale: float | None = None,
    pattern: str | None = None,
    group: Any = None,
    block: int | None = None,
    resize_maps: bool = False,
    boundaries: bool = True,
    skip: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    worst: int = WORST,
    engine: str = "processes",
    workers: int | None = None,
    shard: str | None = None,
) -> Measured:
    """Measure models against a truth: pixels, regions torn apart or run together, confidence, anomaly scores, calibration; with intervals and a report.

    SOURCE is a folder of true maps and the models are NAME=FOLDER of predicted ones; or a folder of masks (0, 1, 255) with --anomaly NAME=FOLDER of scores; or
    a study. OUT gets measure.json, per_image.parquet and report.html. What was measured before is not measured again.

    Parameters
    ----------
    source
        A folder of true label maps, a folder of anomaly masks, or a study.
    models
        NAME=MAPS, folders of label maps. In Python also a dict.
    classes
        A class file (JSON or TOML), a built-in name, or a number. In Python also a Classes. Not needed with regions that have no class.
    truth
        Of a study: which truth; default: the only one, or labels.
    anomaly
        NAME=SCORES, folders of one score a pixel, large = anomalous: .npy, .npz, float TIFF, 16-bit PNG. Repeat it for more. In Python a dict.
    confidence
        NAME=FOLDER of the winning class's probability, .npy or 8-bit pictures (value / 255). Repeat it for more.
    doubt
        NAME=FOLDER of one number a pixel, large = doubtful. Repeat it for more.
    probabilities
        NAME=FOLDER of .npy or .npz, C x H x W in the order of the class list. Repeat it for more.
    datasets
        A TOML file with a table for each data set: truth (or masks, or study), classes, models, confidence, doubt, probabilities, anomaly, images.
    images
        The photos, for the report's pictures.
    output
        The folder to write to; default: measured, or STUDY/measures.
    metric
        A metric of your own, file.py:NAME, made with `fs.metrics.metric_of_maps`; of label maps by class. Repeat it for more.
    preset
        Definitions that reproduce others: fishyscapes, smiyc, smiyc-obstacle, anomaly-seg, pytorch-ood, keras200, torchmetrics, figure3, rom-rum, s0-printed.
    regions
        connected (made from classes; default) or given (the maps hold region ids).
    divisor
        With given regions and classes: class = id // divisor; without it the id is the class.
    connectivity
        8 (default) or 4.
    void
        cut (default: pixels void in the truth go before regions are made) or bridge (after).
    absent
        nan (default) or zero: ROM, RUM, ROR, RUR and AP of a class without regions on one side.
    scale
        tanh (default), sigmoid or none, in ROM and RUM.
    match
        iou (default) or dice: the overlap at which AP counts a region as found.
    per
        truth (default) or prediction: over which regions PE-OS and PE-US are means.
    over
        union (default), truth or all: which classes pixel means are over.
    pooling
        pooled (default) or per_image: how pixels and scores of several images are brought together.
    fpr_rule
        first (default: the first threshold with recall of .95) or closest (the lowest of all thresholds closest to it).
    curve
        step (default) or trapezoid: the area under precision and recall.
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component metrics; default none.
    tolerance
        Of the boundary F-score: pixels from 1 on, below 1 a share of the diagonal (default 0.0075).
    band
        Width of boundary IoU's band, likewise (default 0.02).
    bins
        Bins of ECE and the reliability diagram (default 15).
    window
        Side of PAvPU's windows, in pixels (default 2).
    certain
        PAvPU: a window is certain up to this mean doubt (default 0.5).
    accurate
        PAvPU: a window is accurate above this share of right pixels (default 0.5).
    ignore
        Values that are void besides those of the class list. Repeat it for more.
    background
        The id of the class that forms no regions, where the class list does not say it.
    score_scale
        What whole numbers in score pictures are divided by; default 255 or 65535.
    pattern
        Which files are truth and what their ids are, for example {id}_gtFine_labelIds.png.
    group
        Which images belong together (drive, sequence, city, patient), so that intervals draw whole groups: a pattern of ids with {group}, such as "{group}_*", or a CSV file with columns id and group. A study has its own, from collect.
    block
        Cut groups, or all images where there are none, into runs of so many consecutive images, where groups are too few.
    resize_maps
        Bring maps of another size to their truth's, by nearest neighbour.
    boundaries
        Boundary metrics too; they take longer than all others.
    skip
        Go on without images whose maps are wrong (size, values), instead of stopping; they stand in failures.csv.
    resamples
        Bootstrap draws for the intervals of FPR95, of errors of calibration, and of scores of more than 2,000 images or groups; 0 for no interval at all.
    seed
        Of the bootstrap.
    worst
        Pictures of the worst images in the report, for each kind of error.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: make the statistics of every third shard, beside other jobs that do the rest; run without it at the end.
    """
    from faultscape.stages.measure.measure import measure_models
    from faultscape.stages.measure.options import Choices, Files, Inputs, Intervals, MeasureOptions, Reading, Running, Scores

    if resamples < 0 or worst < 0:
        raise OptionError(f"resamples and worst are 0 or more; got {resamples} and {worst}")
    if seed < 0:
        raise OptionError(f"seed is a whole number, 0 or more; got {seed}")
    if divisor is not None and divisor < 1:
        raise OptionError(f"divisor is a whole number, 1 or more; got {divisor}")
    if score_scale is not None and not 0 < score_scale < float("inf"):
        raise OptionError(f"score_scale is a finite number above 0; got {score_scale}")
    if datasets:
        if source or models:
            raise OptionError("--datasets LIST says what is measured; give either it or SOURCE and models")
        beside = {
            "classes": classes, "truth": truth, "images": images,
            "anomaly": anomaly, "confidence": confidence, "doubt": doubt, "probabilities": probabilities,
        }  # fmt: skip
        if more := [name for name, value in beside.items() if value not in (None, [], {})]:
            raise OptionError(f"--datasets LIST says what is measured; write {more[0]} into its tables, in place of --{more[0]}")
    options = MeasureOptions(
        Inputs(source, models, classes, truth, datasets),
        Scores(anomaly, confidence, doubt, probabilities),
        Files(images, pattern, tuple(ignore or ()), background, group, block),
        Choices(
            preset, regions, connectivity, void, absent, scale, match, per, over, pooling, fpr_rule, curve, track, tolerance, band,
            bins, window, certain, accurate,
        ),
        Reading(boundaries, divisor, score_scale, resize_maps),
        Intervals(resamples, seed),
        Running(engine, workers, shard),
        tuple(metric or ()),
        output, skip, worst,
    )  # fmt: skip
    path, document = measure_models(options)
    return MeasuredShare(path, document) if shard else Measured(path, document)
