"""S1 Fig. 3: all sixteen panels, every printed row, and the three places where print and formula part."""

from __future__ import annotations

import figure_3
import numpy as np
import pytest

import faultscape as fs
from faultscape.classes.class_lists import resolve
from faultscape.metrics.definitions import define
from faultscape.metrics.image_statistics import of_maps

PANELS = figure_3.panels()


def measured(letter: str, **options: str) -> fs.metrics.regions:
    truth, prediction = PANELS[letter]
    return fs.metrics.regions(truth, prediction, classes=2, background=0, **options)


def printed(row: str, letter: str) -> float:
    return figure_3.PRINTED[row][figure_3.LETTERS.index(letter)]


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_rom_is_as_printed(letter: str) -> None:
    rom = measured(letter, absent="zero").rom
    if letter in figure_3.CUT_OFF:
        assert np.floor(100 * rom) / 100 == printed("rom", letter) != round(rom, 2)
    else:
        assert round(rom, 2) == printed("rom", letter)
    assert rom == pytest.approx(figure_3.EXACT_ROM[letter], abs=5e-5)


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_rum_tells_the_panels_apart_that_rom_does_not(letter: str) -> None:
    assert measured(letter, absent="zero").rum == pytest.approx(figure_3.EXACT_RUM[letter], abs=5e-5)


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_the_counts_behind_rom_are_those_of_the_panel(letter: str) -> None:
    counts = measured(letter).counts
    names = ("predicted_regions", "torn_truth", "tearing_predictions", "extra_pieces")
    assert tuple(int(counts[name][0, 1]) for name in names) == figure_3.COUNTS[letter]
    assert counts["truth_regions"][0, 1] == 2


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_pe_os_is_as_printed(letter: str) -> None:
    value = measured(letter).pe_os
    assert round(value, 2) == printed("pe_os", letter)
    if letter in figure_3.EXACT:
        assert value == pytest.approx(figure_3.EXACT[letter][2], abs=5e-5)


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_ap_errors_are_as_printed_when_regions_match_by_dice(letter: str) -> None:
    found = measured(letter, match="dice", absent="zero")
    assert round(1 - found.ap50, 2) == printed("ap50_error", letter)
    assert round(1 - found.ap75, 2) == printed("ap75_error", letter)


@pytest.mark.parametrize("letter", "ehij")
def test_ap50_by_iou_is_another_number(letter: str) -> None:
    assert round(1 - measured(letter).ap50, 2) == {"e": 1.0, "h": 1.0, "i": 0.75, "j": 1.0}[letter]
    assert round(1 - measured(letter).ap50, 2) != printed("ap50_error", letter)


@pytest.mark.parametrize("letter", figure_3.LETTERS)
def test_iou_error_and_gce_are_as_printed(letter: str) -> None:
    truth, prediction = PANELS[letter]
    stats, cells = of_maps(truth, prediction, resolve(2, background=0), define())
    error = 1 - cells[1, 1] / (cells[1].sum() + cells[:, 1].sum() - cells[1, 1])
    assert round(error, 2) == printed("iou_error", letter)
    gce = float(stats["gce"])
    assert gce == pytest.approx(stats["gce_of_classes"][1], abs=1e-12)
    if letter == figure_3.HAND_SET:
        # an empty prediction refines nothing away: the formula gives 0, print says 1
        assert gce == 0
        assert printed("gce", letter) == 1
    else:
        assert round(gce, 2) == printed("gce", letter)
        assert (error, gce) == pytest.approx(figure_3.EXACT[letter][:2], abs=6e-5)


def test_panel_a_is_undefined_unless_absent_is_zero() -> None:
    assert np.isnan(measured("a").rom)
    assert np.isnan(measured("a").ap50)
    assert measured("a").undefined["rom"] == 1
    assert measured("a", absent="zero").rom == 0


def test_the_preset_is_the_figures() -> None:
    assert (define("figure3").absent, define("figure3").match) == ("zero", "dice")
