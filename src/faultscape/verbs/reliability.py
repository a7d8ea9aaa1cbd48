"""reliability: write one page on what each model knows of its own errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultscape.arguments import Place, needed_text, place_text, several
from faultscape.choices import CardPreset, Track
from faultscape.errors import OptionError
from faultscape.stages.reliability.options import ReliabilityOptions, Submission

if TYPE_CHECKING:
    from faultscape.reporting.reliability.document import Card


@dataclass(frozen=True, eq=False)
class Reliability:
    """The card of a study: the folder that it was written to, and the document of reliability.json."""

    path: str
    document: Card

    @property
    def file(self) -> str:
        """The file that holds the document."""
        return f"{self.path}/reliability.json"

    def __repr__(self) -> str:
        from faultscape.reporting.reliability.words import card_text

        return card_text(self.path, self.document)


def reliability(
    study: Place,
    *,
    models: list[str] | None = None,
    truth: str | None = None,
    natural: list[str] | None = None,
    misclassified: list[str] | None = None,
    reference: str | None = None,
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
    """Judge the models of a study on clean, corrupted, shifted, blended and held-out sets, and write the
    card: accuracy, calibration and doubt with intervals.

    `stress` makes the sets, and `predict --scorer NAME --measure` counts what models say of them. OUT gets
    reliability.json, report.html and the tables as CSV, Markdown and LaTeX.

    Parameters
    ----------
    study
        The study folder.
    models
        Only these models. Repeat it for more.
    truth
        Which truth; default: labels, or the only one.
    natural
        A labelled set of the study whose shift is natural (another city, night, rain). Repeat it for more.
    misclassified
        A labelled set, or a mixture file whose sets count together, on which finding wrong pixels is asked.
        Repeat it for more.
    reference
        The model that corruption errors are divided by; default: the first.
    preset
        Also evaluate as others do, to explain their numbers: bravo-2024 (the challenge's means), s3-code
        (void as known, 200 thresholds).
    track
        anomaly or obstacle: size limits of SegmentMeIfYouCan's component F1, which is made of doubt that is
        stored; default none.
    output
        The folder to write to; default: STUDY/reliability.
    worst
        Pictures of the best and the worst frames of each model and set with anomalies; their model runs on
        them once more. 0 for none.
    resamples
        Draws for the intervals of FPR95 and calibration errors; 0 for none.
    seed
        Of the draws, and of the order in which a submission sees images.
    engine
        local (this process), processes (all cores), ray, or ray://HOST:PORT.
    workers
        Number of processes; default: all cores.
    submission
        A program that is judged without seeing the truth: `Submission(submission=...)`.
    """
    from faultscape.stages.predict.models import predict_models
    from faultscape.stages.predict.options import Declared, PredictOptions
    from faultscape.stages.reliability.judge_study import check, judge_study

    for name, value in (("resamples", resamples), ("seed", seed), ("worst", worst)):
        if value < 0:
            raise OptionError(f"{name} must be 0 or more; got {value}")
    options = ReliabilityOptions(
        needed_text(study, "study"),
        several(models),
        truth,
        several(natural),
        several(misclassified),
        reference,
        preset,
        track,
        place_text(output, "output"),
        worst,
        resamples,
        seed,
        engine,
        workers,
        submission,
    )
    if submission.source:
        check(options)
        declared = Declared(submission.ood_data, submission.publication, submission.claims, seed)
        predict_models(
            PredictOptions(
                options.study,
                ({submission.name: submission.source},),
                engine=engine,
                workers=workers,
                declared=declared,
            )
        )
    return Reliability(*judge_study(options))
