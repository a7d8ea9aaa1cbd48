"""Plots of results: on the Axes that are given, with the numbers of the result, legible on white and on black."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import pytest

import made_card
import made_document
import made_results
from faultscape.errors import ResultError
from faultscape.results import plots
from made_results import HOSTILE, MAKERS, MODELS

pytest.importorskip("matplotlib", reason="needs matplotlib, an extra")

import matplotlib as mpl
from matplotlib import colors

mpl.use("Agg")
from matplotlib import pyplot as plt

DRAWN = [name for name, make in MAKERS.items() if hasattr(type(make()), "plot")]
EMPTY = {"no standings", "compared in part", "measured share"}
WHAT = [  # further things that a result can draw
    ("standings", "resistance"),
    ("plan", "order"),
    ("plan", "duels"),
    ("plan", "apart"),
    ("measured", "miou"),
    ("measured", "precision_recall"),
    ("measured", "roc"),
    ("measured", "reliability"),
    ("measured", "miou-classes"),
    ("measured", "miou-differences"),
    ("measured", "confusion-unet"),
    ("card", "miou"),
    ("card", "severity"),
    ("card", "thresholds"),
    ("card", "finders"),
    ("ranked table", "$miou$"),
    ("ranked table", "differences"),
]


@pytest.fixture(autouse=True)
def _closed() -> Iterator[None]:
    yield
    plt.close("all")


def luminance(colour: str) -> float:
    parts = [x / 12.92 if x <= 0.04045 else ((x + 0.055) / 1.055) ** 2.4 for x in colors.to_rgb(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), parts, strict=True))


def names_beside(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.get_yticklabels()]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "what"), [*((name, "") for name in DRAWN if name not in EMPTY), *WHAT])
def test_a_plot_is_drawn_on_the_axes_given_and_says_what_it_shows(name: str, what: str) -> None:
    figure, (ax, other) = plt.subplots(1, 2)
    result: Any = MAKERS[name]()
    assert result.plot(ax, **({"what": what} if what else {})) is ax
    assert ax.get_title(loc="left")
    assert ax.get_xlabel() or len(figure.axes) == 3  # a matrix has a bar of colours beside it
    assert not other.lines
    figure.canvas.draw()  # names are no formulas


@pytest.mark.parametrize("name", [name for name in DRAWN if name not in EMPTY])
def test_a_plot_without_axes_makes_a_figure_and_does_not_show_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(plt, "show", lambda: pytest.fail("shown"))
    result: Any = MAKERS[name]()
    assert result.plot().figure.axes


@pytest.mark.parametrize("name", sorted(EMPTY))
def test_where_nothing_is_known_a_plot_says_so(name: str) -> None:
    result: Any = MAKERS[name]()
    with pytest.raises(ResultError, match="there is nothing to plot"):
        result.plot()


def test_what_cannot_be_drawn_is_refused_with_what_can() -> None:
    with pytest.raises(ResultError) as caught:
        made_results.standings().plot(what="elo")
    assert str(caught.value) == "plot has no 'elo' here; what can be drawn: mean, resistance"


def test_what_is_no_axes_is_refused_and_a_name_is_told_where_it_goes() -> None:
    result: Any = made_results.standings()
    with pytest.raises(
        ResultError, match=r"ax must be Axes of matplotlib; got 'mean'; .* goes to what='mean'"
    ):
        result.plot("mean")
    with pytest.raises(ResultError, match="ax must be Axes of matplotlib; got 3"):
        result.plot(ax=3)


def test_standings_are_drawn_best_first_with_their_intervals() -> None:
    ax: Any = made_results.standings().plot()
    assert names_beside(ax) == ["unet", '<script>alert(…cript>"&amp;{}'.replace("…cript", "…script"), "copy"]
    drawn = [line.get_xdata().tolist() for line in ax.lines]
    assert drawn == [[0.3, 0.4], [pytest.approx(1 / 3)], [0.2, 0.31], [0.25]]
    assert "95 % intervals, of this pool; filled: could be the best" in ax.get_xlabel().replace("\n", " ")


def test_a_matrix_has_a_number_in_every_known_cell() -> None:
    ax: Any = made_results.standings().plot(what="resistance")
    assert [text.get_text() for text in ax.texts] == ["1.2", "2", "0.8", "∞", "0.5", "0"]


def test_measured_values_are_ordered_by_what_is_better() -> None:
    for metric, better in (("miou", "high"), ("rom", "low")):
        ax: Any = made_results.measured().plot(what=metric)
        values = [float(line.get_xdata()[0]) for line in ax.lines if len(line.get_xdata()) == 1]
        assert values == sorted(values, reverse=better == "high")
        assert f"{better}er is better" in ax.get_xlabel()


def test_regions_torn_apart_are_drawn_against_those_run_together() -> None:
    document = made_document.document()
    ax: Any = made_results.measured(document).plot()
    dots = {(line.get_xdata()[0], line.get_ydata()[0]) for line in ax.lines if line.get_marker() == "o"}
    assert dots == {(of["rom"]["value"], of["rum"]["value"]) for of in document["models"].values()}
    assert "torn apart" in ax.get_xlabel()
    assert "run together" in ax.get_ylabel()


def test_a_card_is_drawn_by_condition() -> None:
    ax: Any = MAKERS["card"]().plot()  # pyright: ignore[reportAttributeAccessIssue]
    assert [text.get_text() for text in ax.texts] == ["blended", "things"]
    assert names_beside(ax)[:2] == ["unet, msp", "unet, energy"]
    assert len(ax.lines) == 2 * (2 * 2 * 2) + 2  # a dot and a bar each, and what chance gives twice


def colours_drawn(ax: Any) -> set[str]:
    return {line.get_color() for line in ax.lines if line.get_color() != "#888888"}


def test_a_model_has_one_colour_in_all_plots_and_models_have_different_ones() -> None:
    names = [f"model {k}" for k in range(len(plots.PALETTE))]
    assert sorted(plots.colours(names)[name] for name in names) == sorted(plots.PALETTE)
    assert plots.colours(names) == plots.colours(names[::-1])
    found: Any = made_results.measured()
    of = plots.colours([*found.models])
    assert colours_drawn(found.plot()) == {of[name] for name in found.models}
    assert colours_drawn(found.plot(what="roc")) == {of["unet"]}  # that of the others is not known
    table: Any = MAKERS["ranked table"]()
    assert colours_drawn(table.plot()) == {plots.colours(MODELS)[name] for name in MODELS}
    assert colours_drawn(made_results.standings().plot()) < colours_drawn(table.plot())


@pytest.mark.parametrize("ground", ["#ffffff", "#1e1e1e"])
def test_colours_are_legible_on_light_and_dark_ground(ground: str) -> None:
    for colour in plots.PALETTE:
        light, dark = sorted((luminance(colour), luminance(ground)), reverse=True)
        assert (light + 0.05) / (dark + 0.05) >= 3


def test_a_plot_has_the_ground_and_the_text_of_the_style() -> None:
    with plt.style.context("dark_background"):
        ax: Any = made_results.standings().plot()
        assert colors.same_color(ax.get_facecolor(), "black")
        assert colors.same_color(ax.title.get_color(), "white")
        hollow = plots.Mark("copy", "copy", 0.5, filled=False)
        drawn: Any = plots.intervals(None, [hollow], label="score", title="one")
        assert colors.same_color(drawn.lines[0].get_markerfacecolor(), "black")


def test_an_undefined_number_leaves_its_line_empty() -> None:
    mark = plots.Mark("copy", "copy", math.nan, None, 0.5)
    assert plots.intervals(None, [mark], label="score", title="one").lines[:] == []


def test_long_and_odd_names_stay_names() -> None:
    odd = ["_hidden", "a$\\frac$b", HOSTILE * 3]
    ax: Any = plots.curves(None, {name: ([0, 1], [0, 1]) for name in odd}, labels=("x", "y"), title="$x$")
    ax.figure.canvas.draw()
    said = [text.get_text().strip() for text in ax.get_legend().get_texts()]
    assert said[0] == "_hidden"
    assert said[1] == "a\\$\\frac\\$b"
    assert len(said[2]) == 30
    assert len({line.get_color() for line in ax.lines}) == 3


def test_card_without_anomalies_shows_miou() -> None:
    card = made_card.card(2)
    card["cells"] = [cell for cell in card["cells"] if cell["metric"] in ("miou", "ece")]
    made = MAKERS["card"]()
    object.__setattr__(made, "document", card)
    ax = made.plot()  # pyright: ignore[reportAttributeAccessIssue]
    assert ax.get_title(loc="left") == "mIoU by condition"


def heights(ax: Any) -> dict[str, list[float]]:
    """What each line that the legend names goes through."""
    return {
        line.get_label().strip(): line.get_ydata().tolist() for line in ax.lines if line.get_marker() == "o"
    }


def test_miou_falls_with_the_severity_of_corruptions() -> None:
    ax: Any = MAKERS["card"]().plot(what="severity")  # pyright: ignore[reportAttributeAccessIssue]
    assert heights(ax)["unet"] == pytest.approx([0.7, 0.62, 0.46, 0.3])
    assert ax.lines[0].get_xdata().tolist() == [0, 1, 3, 5]
    assert "mean over 1 corruption" in ax.get_title(loc="left")


def test_a_severity_that_lacks_a_number_interrupts_the_line() -> None:
    card = made_card.card(2, corruptions=("fog", "snow"))
    card["cells"] = [cell for cell in card["cells"] if cell["condition"] != "snow-3"]
    made = MAKERS["card"]()
    object.__setattr__(made, "document", card)
    ax = made.plot(what="severity")  # pyright: ignore[reportAttributeAccessIssue]
    assert [math.isnan(value) for value in heights(ax)["unet"]] == [False, False, True, False]


def test_thresholds_and_finders_are_drawn_where_the_card_has_them() -> None:
    card: Any = MAKERS["card"]()
    assert heights(card.plot(what="thresholds"))["unet, msp: blended"] == [0.4, 0.4, 0.4]
    assert heights(card.plot(what="finders"))["unet, by doubt"] == pytest.approx([0, 2 / 6, 3 / 6])
    without = made_card.card(2)
    without["finders"] = []
    object.__setattr__(card, "document", without)
    with pytest.raises(ResultError, match="plot has no 'finders' here"):
        card.plot(what="finders")


def test_differences_are_filled_where_their_interval_is_without_0() -> None:
    found: Any = made_results.measured()
    rows = [row for row in found.document["paired"] if row["metric"] == "miou"]
    ax: Any = found.plot(what="miou-differences")
    dots = [line for line in ax.lines if line.get_marker() == "o"]
    assert [dot.get_xdata()[0] for dot in dots] == [row["difference"] for row in rows]
    hollow = [colors.same_color(dot.get_markerfacecolor(), ax.get_facecolor()) for dot in dots]
    assert hollow == [row["low"] <= 0 <= row["high"] for row in rows]


def test_a_confusion_has_shares_of_true_classes_that_were_seen() -> None:
    ax: Any = made_results.measured().plot(what="confusion-unet")
    assert len(names_beside(ax)) == 2  # the third class was in no truth
    assert [text.get_text() for text in ax.texts] == ["0.94", "0.057", "0", "0", "0.2", "0.7", "0.1", "0"]


def test_a_plan_draws_how_many_labels_tell_models_apart() -> None:
    plan: Any = made_results.plan()
    assert heights(plan.plot(what="duels")) == {"images": [5]}
    assert heights(plan.plot(what="apart")) == {"points": [700]}
