"""report: write the results as one HTML file."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from faultscape.arguments import Place
from faultscape.choices import Tracker
from faultscape.errors import OptionError, counted
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import ReportOptions

_LARGE = 100_000  # bytes; below it a tenth of a MB says too little


@dataclass(frozen=True)
class Reported:
    """What `report` wrote: the file, its size in bytes, and how many chosen images, or points, it is
    about.

    >>> Reported("s/report.html", 210_000, 10)
    s/report.html: 10 chosen images, 0.2 MB; open it in a browser
    >>> Reported("s/report-points.html", 31_500, 200, "point")
    s/report-points.html: 200 points, 32 kB; open it in a browser
    """

    path: str  # the HTML file
    size: int  # bytes of the file
    images: int  # chosen images, or points, that the report is about
    items: str = "chosen image"  # what these are
    log: str = ""  # the tracker that it was sent to; '' for none

    def __repr__(self) -> str:
        size = f"{self.size / 1e6:.1f} MB" if self.size >= _LARGE else f"{math.ceil(self.size / 1e3)} kB"
        sent = f"; sent to {self.log}" if self.log else ""
        return f"{self.path}: {counted(self.images, self.items)}, {size}; open it in a browser{sent}"


def _check(options: ReportOptions) -> None:
    if not 32 <= options.thumbnail <= 2048:
        raise OptionError(f"thumbnail must be between 32 and 2048 pixels; got {options.thumbnail}")


@verb(
    "faultscape.verbs.report.write:write_report",
    changes_nothing=("selection", "output", "log"),
    check=_check,
)
def report(
    study: Place,
    *,
    selection: str = "main",
    output: Place | None = None,
    bands: list[float] | None = None,
    better: float | None = None,
    reference_images: Place | None = None,
    thumbnail: int = 320,
    log: Tracker | None = None,
) -> Reported:
    """Write a self-contained HTML report of a selection: standings, how robust they are, outcomes, and a
    gallery of the images.

    The report grows with the study: without labels it shows the selection, with labels their outcomes, and
    after `rank` the standings, next to those of the study's other selections.

    Parameters
    ----------
    study
        The study folder.
    selection
        The selection to report; main stands for the only one too.
    output
        The file to write; default STUDY/report.html, or report-NAME.html for another selection.
    bands
        For label maps: ascending edges of the bands in which scores are counted; below the first edge a model
        fails. Default: 0.6 and 0.8.
    better
        For duels of label maps: the smallest difference at which one side counts as better (case II).
        Default: 0.1.
    reference_images
        A folder of benchmark images, one sub-folder per class, to show next to the chosen ones; for label
        maps also images/ and labels/.
    thumbnail
        Longest side of the images in the gallery, in pixels.
    log
        Also send the page, the numbers behind its figures and what `measure` found to an experiment tracker:
        mlflow, wandb or trackio, which must be installed.

    >>> fs.report("study").path
    'study/report-order.html'
    """
    ...
