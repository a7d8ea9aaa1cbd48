"""show: print any file of a study, or the chosen images."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from faultscape.arguments import Place
from faultscape.errors import OptionError, counted
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
        cells = [[_cell(value) for value in row] for row in self.rows]
        width = [min(40, max([len(c), *(len(row[k]) for row in cells)])) for k, c in enumerate(self.columns)]
        lines = [f"{self.title}: {counted(self.total, 'row')}"]
        lines.append("  ".join(c.ljust(w) for c, w in zip(self.columns, width, strict=True)))
        lines += [
            "  ".join(v[:w].ljust(w) for v, w in zip(row, width, strict=True)).rstrip() for row in cells
        ]
        if self.total > len(self.rows):
            lines.append(f"... {self.total - len(self.rows)} more; --rows N shows more")
        return "\n".join(lines)


def _check(options: ShowOptions) -> None:
    if options.images and options.rows is not None:
        raise OptionError("--rows applies to tables only; --images prints all chosen images")
    if options.selection != "main" and not options.images:
        raise OptionError("--selection needs --images; add --images, or remove --selection")
    if options.rows is not None and options.rows < 0:
        raise OptionError(f"--rows must be 0 or more; got {options.rows}")


class ShownText(str):
    """A text that shows as itself."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def _cell(value: Any) -> str:
    if isinstance(value, bytes):
        text = value.decode("utf-8", "replace")
        return text if text.isprintable() and len(text) < 500 else f"<{len(value)} bytes>"
    return f"{value:.6g}" if isinstance(value, float) else str(value).replace("\n", " ")


@verb("faultscape.verbs.show.work:show_file", check=_check)
def show(
    file: Place, *, rows: int | None = None, images: bool = False, selection: str = "main"
) -> Table | Standings | ShownText | ChosenImages:
    """Print a file of a study (Parquet table, CSV, standings, manifest, study.toml, answers.sqlite), or the
    images that were chosen.

    Parameters
    ----------
    file
        The file; with --images a study.
    rows
        How many rows of a table to show (default 20).
    images
        Print the chosen images of a study, one per line: path, number of duels, reason.
    selection
        With --images: the selection to print; main stands for the only one too.

    >>> fs.show("study/corpus.parquet").columns[:2]
    ('id', 'source')
    """
    ...
