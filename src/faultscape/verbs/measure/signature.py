"""measure: measure each model's errors exactly, against a truth."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, cast

from faultscape.arguments import ClassList, Place, PlaceOrMaps, Source
from faultscape.choices import Preset
from faultscape.errors import OptionError, counted
from faultscape.results.result import Result
from faultscape.results.table import Cell, Column, Row, Rows
from faultscape.verbs.measure.options import WORST, Definitions, FileRules, ScoreFolders, StudyPart
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.reporting.measure.box_document import BoxDocument
    from faultscape.reporting.measure.document import Document, MetricEntry
    from faultscape.results.plots import Axes
    from faultscape.verbs.options import MeasureOptions


@dataclass(frozen=True, eq=False)
class Measured(Result):
    """What `measure` found: the folder it wrote to, and the document of measure.json. The table has a row for
    each metric of each model, and one for each class where the metric has values of classes.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("data_set", "text", "name of the data set; null if there is only one"),
        Column("model", "text", "name of the model"),
        Column("metric", "text", "name of the metric"),
        Column("class", "text", "name of the class; null over all classes"),
        Column("value", "number", "its value, in the unit of the metric"),
        Column("low", "number", "lower end of its 95 % interval"),
        Column("high", "number", "upper end of its 95 % interval"),
        Column("better", "text", "whether high or low values are better"),
        Column("undefined", "count", "how many parts of the mean are undefined"),
        Column("undefined_of", "text", "what these parts are", aside=True),
        Column("definition", "text", "how it is defined here", aside=True),
    )

    path: str  # the folder with measure.json, per_image.parquet and report.html
    document: Document = field(repr=False)  # the content of measure.json

    @property
    def models(self) -> dict[str, dict[str, MetricEntry]]:
        """{NAME: {METRIC: {value, low, high, ...}}} of the only data set, or of the first of several."""
        sets = self.document.get("datasets")
        return (next(iter(sets.values())) if sets else self.document)["models"]

    @property
    def notes(self) -> list[str]:
        """What readers of the numbers must know, one line each; of several data sets after their names."""
        sets = self.document.get("datasets")
        if sets:
            return [f"{name}: {note}" for name, one in sets.items() for note in one.get("notes", ())]
        return self.document.get("notes", [])

    def __repr__(self) -> str:
        from faultscape.reporting.measure.words import summary

        return summary(self.path, self.document)

    def full_text(self) -> str:
        """Return what ``-v`` prints: the errors of each model (0 is best)."""
        from faultscape.reporting.measure.words import told

        return told(self.path, self.document)

    @staticmethod
    def types_of_fields() -> dict[str, Any]:
        """Return {name: type} of the types that fields name, which are imported for checkers alone."""
        from faultscape.reporting.measure import box_document, document

        known = document.Document | document.SetsDocument | document.ShareDocument
        return {"Document": known | box_document.BoxDocument}

    def _says(self) -> str:
        return "\n".join([self.path, *self.notes])

    def _rows(self) -> Rows:
        sets = self.document.get("datasets") or {None: self.document}
        rows = list[Row]()
        for data_set, one in sets.items():
            for model, metrics in one.get("models", {}).items():
                for metric, entry in metrics.items():
                    rows += _entry_rows((data_set, model, metric), entry)
        return rows

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw a metric of all models with its intervals, on ``ax`` or new Axes; of several data sets the
        first.

        ``what`` is the name of a metric, METRIC-classes or METRIC-differences; confusion-MODEL; ``rom-rum``,
        the regions that are torn apart against those that are run together; or a curve: precision_recall, roc
        or reliability. Without it, rom-rum where regions were measured, else the first metric. ResultError
        for what was not measured.
        """
        from faultscape.reporting.measure import plot

        sets = self.document.get("datasets")
        return plot.draw(ax, next(iter(sets.values())) if sets else self.document, what)


def _entry_rows(of: tuple[str | None, str, str], entry: MetricEntry) -> list[Row]:
    """Return the rows of a metric of a model: over all classes, then a class each."""
    how = (entry["better"], entry.get("undefined"), entry.get("undefined_of"), entry.get("definition"))
    rows: list[Row] = [(*of, None, entry["value"], entry.get("low"), entry.get("high"), *how)]
    low = entry.get("per_class_low", {})
    high = entry.get("per_class_high", {})
    for class_, value in entry.get("per_class", {}).items():
        rows.append((*of, class_, value, low.get(class_), high.get(class_), how[0], None, None, how[3]))
    return rows


@dataclass(frozen=True, eq=False)
class MeasuredShare(Measured):
    """What one job of an array did; its document has no metrics, only these numbers."""

    @property
    def shard(self) -> str | None:
        """The share, PART/PARTS."""
        return self.document.get("shard")

    @property
    def jobs(self) -> int:
        """How many jobs were done now."""
        return self.document.get("jobs", 0)

    @property
    def failures(self) -> int:
        """How many maps have no statistics so far."""
        return self.document.get("failures", 0)

    def full_text(self) -> str:
        """Return what ``-v`` prints: the same text as without it."""
        return repr(self)

    def _says(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        wrong = f"; {counted(self.failures, 'map')} could not be measured so far" if self.failures else ""
        return (
            f"{self.path}: share {self.shard}, {counted(self.jobs, 'job')} done{wrong}; when all shares are"
            " done, run the command without --shard"
        )


@dataclass(frozen=True, eq=False)
class MeasuredBoxes(Measured):
    """What boxes around objects say about models: bounds of precision, recall and IoU, of each model and of
    the difference of every two.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("model", "text", "name of the model"),
        Column("second", "text", "of a difference, the model that is subtracted; null for one model"),
        Column("class", "text", "name of the class; null for the mean over classes"),
        Column("metric", "text", "name of the metric"),
        Column("low", "number", "lowest value that fits the boxes"),
        Column("high", "number", "highest value that fits the boxes"),
        Column("interval_low", "number", "lower end of the 95 % interval for data to come"),
        Column("interval_high", "number", "upper end of the 95 % interval for data to come"),
    )

    @property
    def _boxes(self) -> BoxDocument:
        return cast("BoxDocument", self.document)

    @property
    def models(self) -> dict[str, dict[str, MetricEntry]]:
        """Nothing: boxes give bounds, which are in the table."""
        return {}

    def __repr__(self) -> str:
        from faultscape.reporting.measure.box_document import summary

        return summary(self.path, self._boxes)

    def full_text(self) -> str:
        """Return what ``-v`` prints: the bounds of every class."""
        from faultscape.reporting.measure.box_document import told

        return told(self.path, self._boxes)

    def _rows(self) -> Rows:
        rows = [*self._boxes["bounds"], *self._boxes["pairs"]]
        names = ("model", "second", "class_", "metric", "low", "high", "interval_low", "interval_high")
        return [tuple(cast("Cell", row[name]) for name in names) for row in rows]

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw the bounds of each model's mean over classes, on ``ax`` or new Axes.

        ``what`` is the name of a metric; without it, iou. ResultError for another.
        """
        from faultscape.results import plots

        rows = [row for row in self._boxes["bounds"] if row["class_"] is None and row["high"] is not None]
        what = plots.chosen(what, tuple(dict.fromkeys(row["metric"] for row in rows)), "iou" if rows else "")
        marks = [
            plots.Mark(str(row["model"]), str(row["model"]), None, row["low"], row["high"])
            for row in rows
            if row["metric"] == what
        ]
        called = "IoU" if what == "iou" else what
        title = f"What boxes leave open of {called}: {counted(len(marks), 'model')}"
        note = "bars: all values that fit the boxes"
        return plots.intervals(ax, marks, label=f"{called}, mean over classes", title=title, note=note)


def _check(options: MeasureOptions) -> None:
    if options.resamples < 0 or options.worst < 0:
        raise OptionError(
            f"resamples and worst must be 0 or more; got {options.resamples} and {options.worst}"
        )
    if options.seed < 0:
        raise OptionError(f"seed must be a whole number, 0 or more; got {options.seed}")
    divisor = options.definitions.divisor
    if divisor is not None and divisor < 1:
        raise OptionError(f"divisor must be a whole number, 1 or more; got {divisor}")
    score_scale = options.files.score_scale
    if score_scale is not None and not 0 < score_scale < float("inf"):
        raise OptionError(f"score_scale must be a finite number above 0; got {score_scale}")
    if not options.datasets:
        return
    if options.source is not None or options.models:
        raise OptionError("--datasets LIST cannot be combined with SOURCE or models; give one or the other")
    beside = {
        "classes": options.classes,
        "truth": options.truth,
        "images": options.files.images,
        **vars(options.part),
        **vars(options.scores),
    }
    if more := [name for name, value in beside.items() if value not in (None, False, [], {})]:
        raise OptionError(
            f"--datasets LIST cannot be combined with --{more[0]}; set {more[0]} in its tables instead"
        )


@verb(
    "faultscape.verbs.measure.work:measure_models",
    changes_nothing=("output", "engine", "workers", "shard"),
    check=_check,
)
def measure(
    source: PlaceOrMaps | None = None,
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
    definitions: Definitions = Definitions(),
) -> Measured:
    """Measure models against a truth: pixel accuracy, split and merged regions, confidence, anomaly scores
    and calibration, with intervals and a report.

    SOURCE is a folder of true maps, and the models are NAME=FOLDER of predicted maps; or a folder of masks
    (0, 1, 255) with --anomaly NAME=FOLDER of scores; or a study. OUT gets measure.json, per_image.parquet and
    report.html. Earlier measurements are reused.

    Parameters
    ----------
    source
        A folder of true label maps, a folder of anomaly masks, or a study. In Python also true label maps in
        memory: an array, tensor or list of them, or {ID: map}.
    models
        NAME=MAPS, folders of label maps. In Python also a dict, and maps in memory.
    classes
        A class file (JSON or TOML), a built-in name, or a number. In Python also a Classes. Not needed for
        regions without a class.
    truth
        The truth of a study to measure against; default: the only one, or labels.
    datasets
        A TOML file with one table per data set: truth (or masks, or study), classes, models, confidence,
        doubt, probabilities, anomaly, images.
    output
        The folder to write to; default: measured, or STUDY/measures.
    metric
        A metric that is computed only on request (cldice, recall_smallest), or your own, file.py:NAME, made
        with `fs.metrics.metric_of_maps` (label maps) or `fs.metrics.metric_of_scores` (anomaly or doubt
        scores). Repeatable.
    preset
        A named set of definitions that reproduces another evaluation.
    skip
        Skip images whose maps have a wrong size or wrong values instead of stopping; they are listed in
        failures.csv.
    resamples
        Bootstrap draws for the intervals of FPR95, calibration errors, and scores of more than 2,000 images
        or groups; 0 for no intervals.
    seed
        Seed of the bootstrap.
    worst
        Images in the report: the worst for each kind of error, and for anomaly scores as many of the best and
        worst frames.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    shard
        PART/PARTS, for example 2/3: compute the statistics of every third shard while other jobs do the rest;
        run without it at the end.
    part
        Which part of a study: `StudyPart(set_=...)`.
    scores
        Pixel scores: `ScoreFolders(anomaly=...)`.
    files
        How files are read: `FileRules(pattern=...)`.
    definitions
        Definitions: `Definitions(per=...)`.

    >>> found = fs.measure("truth/", {"unet": "maps/unet/"}, classes="classes.json", engine="local")
    >>> found
    unet  mIoU .830 [.78, .88]
    ...
    """
    ...
