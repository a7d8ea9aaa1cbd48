"""The page of definitions names every metric, every option with its default and choices, and every preset
with what it changes.
"""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from faultscape.metrics import catalogue, definitions

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "definitions.md").read_text()
HEADINGS = " ".join(re.findall(r"^### (.*)$", PAGE, re.MULTILINE))
METRICS = [metric.name for metric in catalogue.METRICS]


@pytest.mark.parametrize("metric", METRICS)
def test_every_metric_has_a_heading(metric: str) -> None:
    assert f"`{metric}`" in HEADINGS, "run python scripts/tables.py"


def test_no_heading_names_a_metric_that_is_not_measured() -> None:
    # said there to be for Python alone
    assert set(re.findall(r"`(\w+)`", HEADINGS)) - set(METRICS) == {"rand_index"}


def rows(title: str) -> list[list[str]]:
    """The cells of the first table below a heading, without its head."""
    part = PAGE.partition(f"## {title}\n")[2].partition("\n|")[2]
    lines = ("|" + part).split("\n\n")[0].splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_every_option_stands_there_with_its_default_and_choices() -> None:
    said = {}
    for names, default, others, _ in rows("Conventions for all metrics"):
        values = re.findall(r"`([^`]+)`", default) or [""]
        for name, value in zip(re.findall(r"`(\w+)`", names), values, strict=True):
            said[name] = (value, set(re.findall(r"`([^`]+)`", others)))
    for field in fields(definitions.Definitions):
        value, others = said.pop(field.name)
        assert value == str(field.default)
        if field.name in definitions._CHOICES:
            assert others == {str(choice) for choice in definitions._CHOICES[field.name]} - {value}
    assert not said


def test_every_preset_stands_there_with_what_it_changes() -> None:
    said = {row[0].strip("`"): row[1] for row in rows("Presets: reproduce others' numbers")}
    default = definitions.Definitions()
    for preset, options in definitions.PRESETS.items():
        changes = dict(re.findall(r"`(\w+)=(\w+)`", said.pop(preset)))
        assert changes == {
            name: str(value) for name, value in options.items() if value != getattr(default, name)
        }, preset
    assert not said
