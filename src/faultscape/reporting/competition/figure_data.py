"""FIGURES: which drawings a report has, and the numbers behind one of them, as a table.

Source: Yan et al. 2021, Figs. 6 to 10; Wang et al. 2020, Figs. 3 and 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from faultscape.nouns import Agreement
from faultscape.reporting.competition import figure_plots
from faultscape.results.result import Result
from faultscape.results.table import Column, Rows, text_lines
from faultscape.standings import Standings

if TYPE_CHECKING:
    from faultscape.results.plots import Axes

Plain = str | int | float | bool | None
_MODEL = Column("model", "text", "name of the model")


@dataclass(frozen=True)
class FigureKind:
    """A figure of the report: what it shows, the columns of its numbers, and where the papers have it."""

    name: str
    says: str
    columns: tuple[Column, ...]
    source: str = ""  # the figure of a paper that it is

    @property
    def title(self) -> str:
        """What it shows, and where a paper has it."""
        return f"{self.says} ({self.source})" if self.source else self.says


@dataclass(frozen=True, eq=False)
class FigureData(Result):
    """The numbers behind one figure of a report.

    >>> shares = FigureData("shares", "main", (("unet", None, 0.6, 3, 0.75), ("unet", 0.6, None, 1, 0.25)))
    >>> shares.to_arrow().column_names
    ['model', 'from', 'to', 'values', 'share']
    """

    columns: ClassVar[tuple[Column, ...]] = ()  # those of its kind

    figure: str  # its name, one of FIGURES
    selection: str  # the selection that the report is about
    rows: tuple[tuple[Plain, ...], ...]  # None for what is undefined
    conclusion: str = ""  # what the numbers say, in one line, where that is a question's answer

    @property
    def kind(self) -> FigureKind:
        """What the figure shows."""
        return _BY_NAME[self.figure]

    @property
    def says(self) -> str:
        """What the figure shows, in a sentence."""
        return self.kind.says

    @property
    def records(self) -> list[dict[str, Plain]]:
        """The rows as {column: value}."""
        names = [column.name for column in self._columns()]
        return [dict(zip(names, row, strict=True)) for row in self.rows]

    def __repr__(self) -> str:
        names = [column.name for column in self._columns()]
        said = [self.conclusion] * bool(self.conclusion)
        return "\n".join([f"{self.figure}: {self.says}", *said, *text_lines(names, self.rows)])

    def _columns(self) -> Sequence[Column]:
        return self.kind.columns

    def _rows(self) -> Rows:
        return self.rows

    def _says(self) -> str:
        return self.says

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the figure, on ``ax`` or new Axes; ResultError if it has no number."""
        return figure_plots.drawn(ax, self.figure, self.says, self.records)


FIGURES: tuple[FigureKind, ...] = (
    FigureKind(
        "standings",
        "scores and ranks of the models by each ranking, with 95 % intervals",
        Standings.columns,
        "Yan et al. 2021, Table 3",
    ),
    FigureKind(
        "matrices",
        "how each model does against each other one: aggressiveness and resistance; of classifiers dominance"
        " and accuracy",
        (
            Column("matrix", "text", "name of the matrix"),
            Column("row", "text", "the model of the row"),
            Column("column", "text", "the model that it is compared with"),
            Column("value", "number", "the entry; null where it is undefined or infinite"),
        ),
        "Yan et al. 2021, Figs. 9 and 10; Wang et al. 2020, Fig. 3",
    ),
    FigureKind(
        "shares",
        "how many of a model's values lie in each band",
        (
            Column("model", "text", "name of the model; null for all models together"),
            Column("from", "number", "lower edge, which the band includes; null for the lowest band"),
            Column("to", "number", "upper edge, which the band excludes; null for the highest band"),
            Column("values", "count", "how many values lie in the band"),
            Column("share", "number", "their share of the model's values", "0 to 1"),
        ),
        "Yan et al. 2021, Fig. 6",
    ),
    FigureKind(
        "quartiles",
        "the values of each model on images from its own duels, and on all others",
        (
            _MODEL,
            Column("on", "text", "own duels, or others: the images that it did not duel on"),
            Column("images", "count", "how many images have a value"),
            Column("low", "number", "the smallest value"),
            Column("q1", "number", "first quartile"),
            Column("median", "number", "the median"),
            Column("q3", "number", "third quartile"),
            Column("high", "number", "the largest value"),
        ),
        "Yan et al. 2021, Fig. 7",
    ),
    FigureKind(
        "cases",
        "how the labelled duels of each defender end",
        (
            Column("defender", "text", "name of the defending model"),
            Column("both_good", "count", "duels of case I: neither model is poor"),
            Column("defender_better", "count", "duels of case II that the defender wins"),
            Column("attacker_better", "count", "duels of case II that the attacker wins"),
            Column("both_poor", "count", "duels of case III: one or both models are poor"),
            Column("duels", "count", "all of these"),
        ),
        "Yan et al. 2021, section 3.1.1",
    ),
    FigureKind(
        "pairs",
        "how the labelled images of each pair of classifiers end",
        (
            Column("model_a", "text", "one model of the pair"),
            Column("model_b", "text", "the other"),
            Column("both_right", "count", "images of case I"),
            Column("a_right", "count", "images of case II on which model_a is right"),
            Column("b_right", "count", "images of case II on which model_b is right"),
            Column("both_wrong", "count", "images of case III"),
            Column("images", "count", "all of these"),
            Column("better", "number", "accuracy of the better model", "0 to 1"),
            Column("gap", "number", "difference of both accuracies", "0 to 1"),
        ),
        "Wang et al. 2020, section 3.2",
    ),
    FigureKind(
        "oracle",
        "on what share of a pair's first images at least one of its two classifiers is right",
        (
            Column("model_a", "text", "one model of the pair; null for all pairs together"),
            Column("model_b", "text", "the other; null for all pairs together"),
            Column("labels", "count", "how many labels are used, in the order of the places"),
            Column("either_right", "number", "share on which one of the two is right, or both", "0 to 1"),
            Column("low", "number", "lower end of its 95 % interval; null for fewer than ten images"),
            Column("high", "number", "upper end of its 95 % interval"),
        ),
        "Wang et al. 2020, section 2.1",
    ),
    FigureKind(
        "transfer",
        "on how many duels' images models outside the duel fail too",
        (
            Column("failing", "count", "how many models outside the duel fail on its image"),
            Column("duels", "count", "labelled duels with so many"),
            Column("share", "number", "their share of the labelled duels", "0 to 1"),
        ),
        "Yan et al. 2021, Fig. 8",
    ),
    FigureKind(
        "growth",
        "correlation of the ranking from the first places of each cell or pair with that from all",
        (
            Column("places", "count", "how many places of each cell or pair are used"),
            Column("spearman", "number", "Spearman's correlation with the ranking from all"),
        ),
        "Wang et al. 2020, Fig. 5",
    ),
    FigureKind(
        "without",
        "how the others rank without the images of one model",
        (
            Column("model", "text", "the model whose duels or pairs are left out"),
            Column("slots", "count", "how many rows of the selection that leaves out"),
            Column("spearman", "number", "Spearman's correlation with the ranking from all"),
            Column("largest_change", "number", "the most ranks that another model moves"),
            Column("moved", "text", "the model that moves most; null if none moves"),
        ),
    ),
    FigureKind(
        "tags",
        "how much more a model loses on images with a tag than on the others",
        (
            Column("tag", "text", "the tag"),
            _MODEL,
            Column("images", "count", "labelled images with the tag"),
            Column("difference", "number", "mean loss with the tag minus mean loss without it"),
            Column("difference_low", "number", "lower end of its 95 % interval"),
            Column("difference_high", "number", "upper end of its 95 % interval"),
            Column("p_value", "number", "corrected over all tags of the model (Holm)"),
        ),
    ),
    FigureKind(
        "agreement",
        "how far each two models agree over the pool, without labels",
        Agreement.columns,
    ),
    FigureKind(
        "speed",
        "how long the models that were run take for an image: quartiles",
        (
            _MODEL,
            Column("device", "text", "what it ran on"),
            Column("frames", "count", "how many images were timed"),
            Column("batch", "count", "median size of a batch"),
            Column("forward_q1", "number", "first quartile of the forward pass", "milliseconds"),
            Column("forward_median", "number", "its median", "milliseconds"),
            Column("forward_q3", "number", "its third quartile", "milliseconds"),
            Column("whole_q1", "number", "first quartile with loading and writing", "milliseconds"),
            Column("whole_median", "number", "its median", "milliseconds"),
            Column("whole_q3", "number", "its third quartile", "milliseconds"),
        ),
    ),
)
ON_REQUEST: tuple[FigureKind, ...] = (  # made from maps, when one is asked for; no report has them
    FigureKind(
        "instances",
        "how much lower PQ and AP of instances are on the chosen images than on images drawn at random",
        (
            Column("metric", "text", "instance_pq or mask_ap"),
            Column("model", "text", "name of the model; null for the mean of all"),
            Column("on", "text", "own duels, or others: chosen images that it did not duel on"),
            Column("chosen", "number", "its value on these chosen images", "0 to 1"),
            Column("random", "number", "its value on the images drawn at random", "0 to 1"),
            Column("lower", "number", "the second minus the first"),
            Column("low", "number", "lower end of the 95 % interval of lower; null for fewer than six units"),
            Column("high", "number", "its upper end"),
            Column("chosen_images", "count", "how many chosen images count"),
            Column("random_images", "count", "how many random images count"),
        ),
        "Yan et al. 2021, section 5",
    ),
)
_BY_NAME = {kind.name: kind for kind in (*FIGURES, *ON_REQUEST)}
