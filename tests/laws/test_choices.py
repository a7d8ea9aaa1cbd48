"""Closed choices are types: what signatures say, what help shows, and what the rooms and the command line
refuse, are one list.
"""

from __future__ import annotations

import inspect
import re
from dataclasses import fields, is_dataclass
from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

import faultscape as fs
from faultscape import choices
from faultscape.cli import GROUPS, VERBS, build, main
from faultscape.command_line.commands import read_docstring
from faultscape.comparison import semantic_distances
from faultscape.comparison.distance_definitions import KINDS
from faultscape.corpus.web.harvest import APIS
from faultscape.errors import OptionError
from faultscape.labelling.catalogue import FORMATS
from faultscape.metrics.catalogue import CONCORDANCES
from faultscape.metrics.definitions import PRESETS, Definitions, define
from faultscape.selection.catalogue import GOALS, NAMES
from faultscape.stressors.catalogue import PRESETS as CORRUPTION_PRESETS
from faultscape.stressors.holdout import HOLDOUT_PRESETS
from faultscape.verbs.measure.options import definitions_given
from faultscape.verbs.stress.options import PRESETS as BLEND_PRESETS
from refusals import refused

TYPES = {name: get_args(kind) for name, kind in vars(choices).items() if get_origin(kind) is Literal}
OF_MEASURE = {
    "regions": choices.RegionKind,
    "connectivity": choices.Connectivity,
    "void": choices.VoidRule,
    "absent": choices.Absent,
    "all_unknown": choices.Absent,
    "scale": choices.RegionScale,
    "match": choices.Match,
    "per": choices.Per,
    "over": choices.Over,
    "pooling": choices.Pooling,
    "fpr_rule": choices.FprRule,
    "curve": choices.Curve,
    "track": choices.Track,
    "thresholds": choices.Thresholds,
    "rounding": choices.Rounding,
}


def values_of(hint: Any) -> tuple[Any, ...]:
    """The values of a Literal, or of one that may be None."""
    return tuple(
        word for one in (hint, *get_args(hint)) if get_origin(one) is Literal for word in get_args(one)
    )


@pytest.mark.slow
@pytest.mark.parametrize("verb", [v for v in VERBS if v not in GROUPS])
def test_the_command_line_refuses_another_value_and_names_all(
    verb: str, capsys: pytest.CaptureFixture[str]
) -> None:
    for argument in build((verb, "--help"))[verb].assemble_argument_collection():
        if values := values_of(argument.hint):
            assert values in TYPES.values()
            needed = {
                "train": ["net"],
                "export": ["out"],
                "fit": ["knn", "--model", "net"] * (argument.name != "--method"),
            }.get(verb, [])
            assert main([verb, "study", *needed, argument.name, "nope"]) == 2
            err = capsys.readouterr().err
            assert err.startswith(
                f"faultscape: {argument.name[2:]} 'nope' is not known; use {', '.join(map(str, values))}"
            ), err


@pytest.mark.parametrize("name", OF_MEASURE)
def test_a_measurement_takes_every_choice_and_no_other(name: str) -> None:
    for value in get_args(OF_MEASURE[name]):
        assert getattr(define(None, **{name: value}), name) == value
    assert inspect.get_annotations(Definitions, eval_str=True)[name] in (
        OF_MEASURE[name],
        OF_MEASURE[name] | Literal[""],
    )
    with refused(fs.errors.OptionError, "is not known"):
        define(None, **{name: "nope"})


def test_a_group_of_definitions_leaves_open_what_is_not_given_so_that_a_preset_decides() -> None:
    of_presets = {"thresholds", "rounding"}
    named = {field.name for field in fields(fs.options.Definitions())}
    assert named == {field.name for field in fields(Definitions)} - of_presets | {"divisor", "boundaries"}
    assert definitions_given(fs.options.Definitions()) == {}
    given = definitions_given(fs.options.Definitions(absent="nan", bins=15, divisor=9, boundaries=False))
    assert given == {"absent": "nan", "bins": 15}  # although they are the defaults
    assert (define("figure3").absent, define("figure3", **given).absent) == ("zero", "nan")


def test_lists_of_what_can_be_had_are_those_of_the_catalogues() -> None:
    assert get_args(choices.Preset) == tuple(PRESETS)
    assert get_args(choices.DistanceKind) == KINDS
    assert (
        inspect.get_annotations(semantic_distances.class_distances, eval_str=True)["kind"]
        is choices.DistanceKind
    )
    assert set(get_args(choices.Goal)) == set(GOALS)
    assert set(get_args(choices.WebApi)) == set(APIS)


LISTED: dict[
    str, tuple[Any, str, tuple[str, ...]]
] = {  # what help lists by hand beside file.py:NAME: whose docstring, of which option, from which catalogue
    "run: concordances": (fs.run, "concordance", tuple(CONCORDANCES)),
    "select: concordances": (fs.options.MapRules, "concordance", tuple(CONCORDANCES)),
    "select: selectors": (fs.select, "selector", NAMES),
    "export: label formats": (fs.label.export, "format", tuple(form.name for form in FORMATS)),
    "import: label formats": (fs.label.import_, "format", tuple(form.name for form in FORMATS)),
    "corrupt: presets": (fs.stress.corrupt, "preset", tuple(preset.name for preset in CORRUPTION_PRESETS)),
    "blend: presets": (fs.stress.blend, "preset", BLEND_PRESETS),
    "holdout: presets": (fs.stress.holdout, "preset", tuple(preset.name for preset in HOLDOUT_PRESETS)),
}


@pytest.mark.parametrize("what", LISTED)
def test_a_list_in_help_names_all_of_its_catalogue_and_nothing_else(what: str) -> None:
    owner, option, known = LISTED[what]
    said = read_docstring(owner.__doc__ or "")[1][option]
    listed = re.sub(r"\(.*?\)", "", said).partition("file.py")[0]
    listed = re.split(r"\b[Oo]ne of ", listed)[-1]
    words = set(re.findall(r"[a-z][a-z0-9_+-]+", listed))
    assert words - {"or", "of", "for", "classifiers"} == set(known)


@pytest.mark.parametrize("of", ["miou", "fwiou", "mpa", "pixel_accuracy", "dice"])
def test_pixel_metrics_take_every_over_and_no_other(of: str) -> None:
    metric = getattr(fs.metrics.counts, of)
    assert inspect.get_annotations(metric, eval_str=True)["over"] is choices.Over
    counts = np.array([2, 1]), np.array([3, 1, 0]), np.array([2, 2, 0])
    for over in get_args(choices.Over):
        assert 0 <= metric(*counts, over=over) <= 1
    with refused(fs.errors.OptionError, "is not known; use union, all, truth"):
        metric(*counts, over="each")


OPTION_GROUPS = [
    (verb, name, type(parameter.default).__name__)
    for verb in ("collect", "predict", "select", "measure")
    for name, parameter in inspect.signature(getattr(fs, verb)).parameters.items()
    if is_dataclass(parameter.default)
]


@pytest.mark.parametrize(("verb", "name", "group"), OPTION_GROUPS)
def test_options_that_belong_together_come_in_their_group(verb: str, name: str, group: str) -> None:
    assert len(OPTION_GROUPS) == 16
    with refused(
        OptionError, rf"{name} must be fs\.options\.{group}\(\w+=\.\.\.(, \w+=\.\.\.)*\); got {{'option': 1}}"
    ):
        getattr(fs, verb)("nowhere", **{name: {"option": 1}})
