"""What `dir(fs)` lists, and what a name that is not there is answered with."""

from __future__ import annotations

import inspect

import pytest

import faultscape as fs
from faultscape.verbs.verb_list import VERBS, function_of


def test_dir_lists_verbs_and_rooms_and_no_group_of_options() -> None:
    listed = set(dir(fs))
    assert {function_of(verb) for verb in VERBS} < listed
    assert {"metrics", "ranking", "selection", "Study", "Verdict", "verdict", "options", "errors"} < listed
    assert not listed & {*dir(fs.options), "nouns", "study", "testing", "ties", "verbs"}
    assert listed == set(fs.__all__)


def test_groups_of_options_are_what_verbs_take() -> None:
    taken = {
        type(parameter.default)
        for name in fs.__all__
        if inspect.isfunction(function := getattr(fs, name))
        for parameter in inspect.signature(function).parameters.values()
    }
    shown = {getattr(fs.options, name) for name in fs.options.__all__}
    assert {kind for kind in taken if kind.__module__.startswith("faultscape.")} <= shown


@pytest.mark.parametrize(
    ("room", "name", "message"),
    [
        (fs, "colect", "fs has no 'colect'. Did you mean 'collect'?"),
        (fs, "FitData", "fs has no 'FitData'; it is fs.options.FitData"),
        (fs, "entropy", "fs has no 'entropy'; it is fs.metrics.entropy or fs.selection.entropy"),
        (fs, "zzz", "fs has no 'zzz'. dir(fs) lists what it has."),
        (fs.metrics, "regoins", "fs.metrics has no 'regoins'. Did you mean 'regions'?"),
        (fs.metrics, "mIoU", "fs.metrics has no 'mIoU'. Did you mean 'miou'?"),
        (fs.metrics, "jaccard", "fs.metrics has no 'jaccard'; it is fs.metrics.miou"),
        (fs.label, "improt_", "fs.label has no 'improt_'. Did you mean 'import_'?"),
        (fs.options, "Definition", "fs.options has no 'Definition'. Did you mean 'Definitions'?"),
    ],
)
def test_a_name_that_is_not_there_is_answered_with_the_one_that_was_meant(
    room: object, name: str, message: str
) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(room, name)
    assert str(raised.value) == message
    assert raised.value.name == name


def test_help_opens_with_what_it_is_for_and_three_examples() -> None:
    first = inspect.getdoc(fs) or ""
    assert first.count("\n>>> fs.") == 3
    assert len(first.splitlines()) < 25
