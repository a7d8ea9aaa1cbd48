"""reliability: evaluate how well each model knows its own errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from faultscape.arguments import Place
from faultscape.choices import CardPreset, Track
from faultscape.errors import OptionError
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.reporting.reliability.document import Card, CardRequirement
    from faultscape.results.plots import Axes
    from faultscape.verbs.options import ReliabilityOptions


_COMMAND = "exec:"


@dataclass(frozen=True)
class Submission:
    """A program that is evaluated without seeing the truth.

    Parameters
    ----------
    submission
        exec:COMMAND, a program that reads NUMBER.png from one folder and writes NUMBER_anomaly.npy and
        NUMBER_segmentation.npy to another: {input} and {output} in the command, or its last two words.
    submission_name
        Its name in the study (default: submission).
    ood_data
        The unknown objects it was trained with, as its authors declare, or none.
    publication
        Where it is described, a URL.
    claims
        SET:AP:FPR95, as its authors measured on a set; an error if it differs by more than .01 from what is
        measured here. Repeat it for more.
    """

    submission: str | None = None
    submission_name: str | None = None
    ood_data: str | None = None
    publication: str | None = None
    claims: list[str] | None = None

    @property
    def name(self) -> str:
        """Its name in the study."""
        return self.submission_name or "submission"

    @property
    def source(self) -> str:
        """The submission as a SOURCE of `predict`; '' without one."""
        return f"submission:{self.submission.removeprefix(_COMMAND)}" if self.submission else ""

    def check(self) -> None:
        """Raise OptionError if the submission is not a command, or has options but no command."""
        if self.submission is not None and not self.submission.startswith(_COMMAND):
            raise OptionError(
                f"--submission {self.submission}: is not exec:COMMAND, for example exec:./segment"
            )
        said = next((name for name, value in vars(self).items() if value not in (None, [])), "submission")
        if self.submission is None and said != "submission":
            option = f"--{said.replace('_', '-')}"
            raise OptionError(
                f"{option} is for submissions; give the program too, with --submission exec:COMMAND"
            )


def _check(options: ReliabilityOptions) -> None:
    for name in ("resamples", "seed", "worst"):
        if (value := getattr(options, name)) < 0:
            raise OptionError(f"{name} must be 0 or more; got {value}")
    options.submission.check()


@dataclass(frozen=True, eq=False)
class Reliability(Result):
    """The card of a study: its folder, and the document of reliability.json. The table has a row for each
    number of a model under a condition.
    """

    columns: ClassVar[tuple[Column, ...]] = (
        Column("model", "text", "name of the model; random for what chance alone would give"),
        Column("scorer", "text", "the score of doubt; null for numbers of label maps"),
        Column("condition", "text", "the set of images, such as main, fog-3 or all corruptions"),
        Column("holdout", "text", "the held-out classes whose pixels are left out; null for all pixels"),
        Column("metric", "text", "name of the metric"),
        Column("value", "number", "its value, in the unit of the metric"),
        Column("low", "number", "lower end of its 95 % interval"),
        Column("high", "number", "upper end of its 95 % interval"),
        Column("better", "text", "whether high or low values are better"),
        Column("images", "count", "how many images it is about"),
    )

    path: str  # the folder with reliability.json, report.html and the tables
    document: Card  # the content of reliability.json

    @property
    def requirements(self) -> list[CardRequirement]:
        """What became of each requirement."""
        return self.document.get("requirements", [])

    @property
    def exit_status(self) -> int:
        """The exit status of the command: 3 if a requirement is missed or not known."""
        return 0 if all(one["standing"] == "met" for one in self.requirements) else 3

    @property
    def file(self) -> str:
        """The path of reliability.json."""
        return f"{self.path}/reliability.json"

    def __repr__(self) -> str:
        from faultscape.reporting.reliability.words import card_text

        return card_text(self.path, self.document)

    @staticmethod
    def types_of_fields() -> dict[str, Any]:
        """Return {name: type} of the types that fields name, which are imported for checkers alone."""
        from faultscape.reporting.reliability.document import Card

        return {"Card": Card}

    def _says(self) -> str:
        return "\n".join([self.path, *self.document.get("notes", [])])

    def _rows(self) -> Rows:
        from faultscape.reporting.reliability.document import TITLES

        return [
            (
                cell["model"],
                cell.get("scorer") or None,
                cell["condition"],
                cell.get("holdout") or None,
                cell["metric"],
                cell.get("value"),
                cell.get("low"),
                cell.get("high"),
                TITLES[cell["metric"]].better if cell["metric"] in TITLES else None,
                cell.get("images"),
            )
            for cell in self.document["cells"]
        ]

    def plot(self, ax: Axes | None = None, what: str = "") -> Axes:
        """Draw a metric of every model, and of every scorer of doubt, under each condition with its
        intervals, on ``ax`` or new Axes.

        ``what`` is the name of a metric; without it, the average precision of doubt at finding anomalies if
        there are any, else mIoU. Or ``severity``, mIoU by the severity of corruptions; ``thresholds``, what
        thresholds of doubt find; ``finders``, how soon failures are found. ResultError for what the card does
        not have.
        """
        from faultscape.reporting.reliability import plot

        return plot.draw(ax, self.document, what)


@verb(
    "faultscape.verbs.reliability.judge_study:judge_study",
    changes_nothing=("output", "engine", "workers"),
    check=_check,
)
def reliability(
    study: Place,
    *,
    models: list[str] | None = None,
    truth: str | None = None,
    natural: list[str] | None = None,
    misclassified: list[str] | None = None,
    reference: str | None = None,
    require: list[str] | None = None,
    preset: CardPreset | None = None,
    track: Track | None = None,
    output: Place | None = None,
    worst: int = 2,
    resamples: int = 200,
    seed: int = 0,
    engine: str = "processes",
    workers: int | None = None,
    submission: Submission = Submission(),
) -> Reliability:
    """Evaluate the models of a study on clean, corrupted, shifted, blended and held-out sets, and write the
    reliability card: accuracy, calibration and doubt, with intervals.

    `stress` makes the sets, and `predict --scorer NAME --measure` counts what models predict on them. OUT
    gets reliability.json, report.html and the tables as CSV, Markdown and LaTeX.

    Parameters
    ----------
    study
        The study folder.
    models
        Only these models. Repeatable.
    truth
        The truth to use; default: labels, or the only one.
    natural
        A labelled set of the study with a natural shift (another city, night, rain). Repeatable.
    misclassified
        A labelled set, or a mixture file whose sets count together, on which to evaluate how well doubt finds
        wrong pixels. Repeatable.
    reference
        The model whose errors under corruption the others' are divided by; default: the first.
    require
        What a number of the card must be, for example "ap>=.5" or "blend, energy: objects@5%>=.9". Each is
        met, missed or, where its interval includes the bound, not known; exit status 3 unless all are met.
        Repeatable.
    preset
        Also evaluate as others do, to explain their numbers: bravo-2024 (the challenge's means), s3-code
        (void counts as known, 200 thresholds).
    track
        anomaly or obstacle: the size limits of SegmentMeIfYouCan's component F1, which needs stored doubt;
        default: none.
    output
        The folder to write to; default: STUDY/reliability.
    worst
        How many of the best and worst frames of each model to show, of the clean set and each set with
        anomalies; the model runs on them again. 0 for none.
    resamples
        Draws for the intervals of FPR95 and calibration errors; 0 for none.
    seed
        Seed of the draws, and of the order in which a submission sees images.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    submission
        A program to judge without showing it the truth: `Submission(submission=...)`.

    >>> predicted = fs.predict("study", {"net": "net.onnx"}, scorer="msp", measure=True, engine="local")
    >>> fs.reliability("study", models=["net"], output="card/", engine="local").file
    'card/reliability.json'
    """
    ...
