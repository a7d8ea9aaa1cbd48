"""measure: measure each model's errors exactly, against a truth."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from faultscape.arguments import ClassList, Place, Source, place_text, several
from faultscape.choices import Preset
from faultscape.errors import OptionError, counted
from faultscape.stages.measure.options import (
    WORST,
    Choices,
    FileRules,
    Inputs,
    Intervals,
    MeasureOptions,
    Running,
    ScoreFolders,
    StudyPart,
)  # fmt: skip

if TYPE_CHECKING:
    from faultscape.reporting.measure.document import Document, MetricEntry


@dataclass(frozen=True, eq=False)
class Measured:
    """What `measure` found: the folder it wrote to, and the document of measure.json."""

    path: str
    document: Document = field(repr=False)

    @property
    def models(self) -> dict[str, dict[str, MetricEntry]]:
        """{NAME: {METRIC: {value, low, high, ...}}} of the one data set; of several, those of the first."""
        sets = self.document.get("datasets")
        return (next(iter(sets.values())) if sets else self.document)["models"]

    def __repr__(self) -> str:
        from faultscape.reporting.measure.words import summary

        return summary(self.path, self.document)

    def full_text(self) -> str:
        """Return what ``-v`` prints: the errors of each model, 0 being best."""
        from faultscape.reporting.measure.words import told

        return told(self.path, self.document)


@dataclass(frozen=True, eq=False)
class MeasuredShare(Measured):
    """What one job of an array did; its document holds no metrics but ``shard``, ``jobs`` (done now) and
    ``failures`` (maps without statistics so far).
    """

    def full_text(self) -> str:
        """Return what ``-v`` prints: no more than without."""
        return repr(self)

    def __repr__(self) -> str:
        shard, jobs, failures = self.document["shard"], self.document["jobs"], self.document["failures"]
        wrong = f"; {counted(failures, 'map')} could not be measured so far" if failures else ""
        return (
            f"{self.path}: share {shard}, {counted(jobs, 'job')} done{wrong}; when all shares are done, run"
            " the line without --shard"
        )


def measure(
    source: Place | None = None,
    *models: Source,
    classes: ClassList | None = None,
    truth: str | None = None,
    datasets: Place | None = None,
    output: Place | None = None,
    metric: list[str] | None = None,
    preset: Preset | None = None,
    skip: bool = False,
    resamples: int = 1000,
    seed: int = 0,
    worst: int = WORST,
    engine: str = "processes",
    workers: int | None = None,
    shard: str | None = None,
    part: StudyPart = StudyPart(),
    scores: ScoreFolders = ScoreFolders(),
    files: FileRules = FileRules(),
    choices: Choices = Choices(),
) -> Measured:
    """Measure models against a truth: pixels, regions torn apart or run together, confidence, anomaly scores,
    calibration; with intervals and a report.

    SOURCE is a folder of true maps and the models are NAME=FOLDER of predicted ones; or a folder of masks (0,
    1, 255) with --anomaly NAME=FOLDER of scores; or a study. OUT gets measure.json, per_image.parquet and
    report.html. What was measured before is not measured again.

    Parameters
    ----------
    source
        A folder of true label maps, a folder of anomaly masks, or a study.
    models
        NAME=MAPS, folders of label maps. In Python also a dict.
    classes
        A class file (JSON or TOML), a built-in name, or a number. In Python also a Classes. Not needed with
        regions that have no class.
    truth
        Of a study: which truth; default: the only one, or labels.
    datasets
        A TOML file with a table for each data set: truth (or masks, or study), classes, models, confidence,
        doubt, probabilities, anomaly, images.
    output
        The folder to write to; default: measured, or STUDY/measures.
    metric
        A metric that is computed on request alone (cldice, recall_smallest), or one of your own,
        file.py:NAME, made with `fs.metrics.metric_of_maps` (of label maps of classes) or
        `fs.metrics.metric_of_scores` (of anomaly scores, or of doubt). Repeat it for more.
    preset
        Definitions that reproduce others, by their name.
    skip
        Go on without images whose maps are wrong (size, values), instead of stopping; they stand in
        failures.csv.
    resamples
        Bootstrap draws for the intervals of FPR95, of errors of calibration, and of scores of more than 2,000
        images or groups; 0 for no interval at all.
    seed
        Of the bootstrap.
    worst
        Pictures in the report: the worst images for each kind of error, and of anomaly scores as many of the
        best and the worst frames.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: make the statistics of every third shard, beside other jobs that do the
        rest; run without it at the end.
    part
        Which part of a study: `StudyPart(set_=...)`.
    scores
        Scores of pixels: `ScoreFolders(anomaly=...)`.
    files
        How files are read: `FileRules(pattern=...)`.
    choices
        Definitions: `Choices(per=...)`.
    """
    from faultscape.stages.measure.measure import measure_models

    inputs, running = (
        Inputs(place_text(source, "source"), models, classes, truth, place_text(datasets, "datasets")),
        Running(engine, workers, shard),
    )
    part = replace(part, set_=several(part.set_) or None) if isinstance(part, StudyPart) else part
    options = MeasureOptions(
        inputs,
        scores,
        files,
        preset,
        choices,
        Intervals(resamples, seed),
        running,
        part,
        several(metric),
        place_text(output, "output"),
        skip,
        worst,
    )
    if resamples < 0 or worst < 0:
        raise OptionError(f"resamples and worst are 0 or more; got {resamples} and {worst}")
    if seed < 0:
        raise OptionError(f"seed is a whole number, 0 or more; got {seed}")
    if choices.divisor is not None and choices.divisor < 1:
        raise OptionError(f"divisor is a whole number, 1 or more; got {choices.divisor}")
    if files.score_scale is not None and not 0 < files.score_scale < float("inf"):
        raise OptionError(f"score_scale is a finite number above 0; got {files.score_scale}")
    if datasets:
        if source or models:
            raise OptionError("--datasets LIST says what is measured; give either it or SOURCE and models")
        beside = {"classes": classes, "truth": truth, "images": files.images, **vars(part), **vars(scores)}
        if more := [name for name, value in beside.items() if value not in (None, [], {})]:
            raise OptionError(
                f"--datasets LIST says what is measured; write {more[0]} into its tables, in place of"
                f" --{more[0]}"
            )
    path, document = measure_models(options)
    return MeasuredShare(path, document) if shard else Measured(path, document)
