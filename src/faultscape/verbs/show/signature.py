"""show: print any file of a study, or the chosen images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultscape.arguments import Place
from faultscape.errors import OptionError, counted
from faultscape.reporting.competition.figure_data import FigureData
from faultscape.results.table import text_lines
from faultscape.standings import Standings
from faultscape.verbs.select.chosen_result import ChosenImages
from faultscape.verbs.verb import verb

if TYPE_CHECKING:
    from faultscape.verbs.options import ShowOptions


@dataclass(frozen=True)
class Table:
    """A table: its columns, the first rows, and how many there are."""

    title: str  # name of the file, or what the table holds
    columns: tuple[str, ...]  # names of the columns
    rows: tuple[tuple[Any, ...], ...]  # the first rows, --rows of them, a value for each column
    total: int  # how many rows the file has

    def __repr__(self) -> str:
        lines = [f"{self.title}: {counted(self.total, 'row')}", *text_lines(self.columns, self.rows)]
        if self.total > len(self.rows):
            lines.append(f"... {self.total - len(self.rows)} more; --rows N shows more")
        return "\n".join(lines)


def _check(options: ShowOptions) -> None:
    whole = ["--images"] * options.images + ["--figures"] * options.figures
    whole += ["--figure"] * (options.figure is not None)
    if len(whole) > 1:
        raise OptionError(f"{whole[0]} and {whole[1]} print different things; give one of them")
    if whole and options.rows is not None:
        raise OptionError(f"--rows applies to tables of files only; {whole[0]} prints all rows")
    if options.selection != "main" and not whole:
        raise OptionError(
            "--selection needs --images, --figures or --figure; add one of them, or remove --selection"
        )
    if options.rows is not None and options.rows < 0:
        raise OptionError(f"--rows must be 0 or more; got {options.rows}")


class ShownText(str):
    """A text that shows as itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


@verb("faultscape.verbs.show.work:show_file", check=_check)
def show(
    file: Place,
    *,
    rows: int | None = None,
    images: bool = False,
    figures: bool = False,
    figure: str | None = None,
    csv: bool = False,
    selection: str = "main",
) -> Table | Standings | ShownText | ChosenImages | FigureData:
    """Print a file of a study (Parquet table, CSV, standings, manifest, study.toml, answers.sqlite), the
    images that were chosen, or the numbers behind a figure of the report.

    Parameters
    ----------
    file
        The file; with --images, --figures and --figure a study.
    rows
        How many rows of a table to show (default 20).
    images
        Print the chosen images of a study, one per line: path, number of duels, reason.
    figures
        Print which figures the report of a study has, and what they show.
    figure
        Print the numbers behind a figure, by its name in --figures; with the bands of the study's report.
    csv
        Print the table as CSV, all of its rows unless --rows is given.
    selection
        With --images, --figures and --figure: the selection; main stands for the only one too.

    >>> fs.show("study/corpus.parquet").columns[:2]
    ('id', 'source')
    """
    ...
