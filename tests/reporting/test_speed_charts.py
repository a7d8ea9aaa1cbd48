"""Speed against standing: who is on the Pareto front, and what the chart leaves out."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from faultscape.reporting.charts import scatter
from faultscape.reporting.competition.speed_charts import pareto_front, speed_charts
from faultscape.reporting.template import template
from faultscape.reporting.view import ChartPoint, Line, log_axis
from faultscape.standings import ModelRanking, Standings
from faultscape.study.tables.timings import FrameTimes

SCORES = {"slow": 2.0, "quick": -1.0, "beaten": -1.5, "untimed": 0.5, "alone": 1.0}


def time(name: str, median: float, device: str = "one CPU, 1 thread") -> FrameTimes:
    spread = (0.9 * median, median, 1.2 * median)
    return FrameTimes(name, device, 40, 8, spread, spread, spread, spread)


def standings(**more: Any) -> Standings:
    order = sorted(SCORES, key=lambda m: -SCORES[m])
    intervals = {m: [s - 0.5, s + 0.5] for m, s in SCORES.items()}
    said = ModelRanking(dict(SCORES), order, intervals, speaks_of="pool", **more)
    return Standings(tuple(SCORES), {"used": 20}, {}, {"perron": said}, {})


@pytest.mark.parametrize("seed", range(20))
def test_the_front_is_that_of_all_pairs_looked_at(seed: int) -> None:
    rng = np.random.default_rng(seed)
    times, scores = rng.integers(1, 6, 8).astype(float), rng.integers(1, 6, 8).astype(float)
    plain = [
        not any(
            times[i] <= times[j] and scores[i] >= scores[j] and (times[i] < times[j] or scores[i] > scores[j])
            for i in range(8)
        )
        for j in range(8)
    ]
    assert pareto_front(times, scores) == plain


def test_a_chart_marks_the_front_and_names_who_is_left_out() -> None:
    (chart,) = speed_charts([time("slow", 90.0), time("quick", 5.0), time("beaten", 30.0)], standings())
    assert chart.front == ("quick", "slow")
    assert chart.left_out == ("untimed", "alone")
    assert chart.logarithmic
    text = str(chart.drawing)
    assert text.count('<g class="line strong">') == 2
    assert text.count('<g class="line plain">') == 1
    (path,) = re.findall(r'<g class="line front">.*? d="M([^"]*)"', text)
    (x1, y1), (x2, y2), (x3, y3) = (corner.split(" ") for corner in path.split("L"))
    assert (y1, x2) == (y2, x3)  # one step: across and up
    assert float(x1) < float(x2)
    assert float(y2) > float(y3)
    assert "quick: milliseconds per image 5.000, score -1.000" in text


def test_times_of_two_devices_are_two_charts_and_one_model_is_none() -> None:
    times = [time("slow", 9.0), time("quick", 5.0), time("slow", 2.0, "GPU"), time("alone", 1.0, "GPU")]
    charts = speed_charts([*times, time("beaten", 1.0, "a phone")], standings())
    assert [chart.device for chart in charts] == ["one CPU, 1 thread", "GPU"]
    assert not charts[0].logarithmic  # 9 is less than five times 5
    assert charts[1].front == ("alone", "slow")


def test_without_standings_or_scores_there_is_no_chart() -> None:
    times = [time("slow", 9.0), time("quick", 5.0)]
    assert speed_charts(times, None) == []
    assert speed_charts(times, standings(unusable="too few labels")) == []


def test_scores_below_zero_lie_apart_on_the_axis() -> None:
    drawing = str(
        scatter([Line("a", (ChartPoint(1.0, -2.0),)), Line("b", (ChartPoint(2.0, -1.0),))], "x", "y")
    )
    heights = re.findall(r'<circle class="dot" cx="[^"]*" cy="([^"]*)"', drawing)
    assert float(heights[0]) > float(heights[1]) + 50


def test_a_logarithmic_axis_has_equal_steps_for_equal_factors() -> None:
    on = log_axis([1.0, 100.0])
    assert [on.text(t) for t in on.ticks] == ["1", "2", "5", "10", "20", "50", "100"]
    assert [on.part(x) for x in (1.0, 10.0, 100.0)] == pytest.approx([0.0, 0.5, 1.0])
    assert [log_axis([1.0, 9e5]).text(t) for t in log_axis([1.0, 9e5]).ticks] == [
        "1",
        "10",
        "100",
        "1000",
        "10000",
        "100000",
        "1e+06",
    ]


def test_names_stand_apart() -> None:
    dots = [Line(f"model {k}", (ChartPoint(1.0 + k / 1000, 1.0),)) for k in range(6)]
    dots.append(Line("far", (ChartPoint(9.0, 0.0),)))
    drawing = str(scatter(dots, "x", "y"))
    heights = sorted(float(y) for y in re.findall(r'class="name" x="[^"]*" y="([^"]*)"', drawing))
    assert min(np.diff(heights)) >= 11


def test_a_page_says_on_which_machine_times_were_measured_and_escapes_it() -> None:
    charts = speed_charts([time("slow", 90.0, "<b>GPU</b>"), time("quick", 5.0, "<b>GPU</b>")], standings())
    text = template("competition/speed_scatter.html.jinja").render(speeds=charts)
    assert "Measured on &lt;b&gt;GPU&lt;/b&gt;." in text
    assert "On the Pareto front, fastest first: <b>quick, slow</b>." in text
