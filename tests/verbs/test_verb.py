"""What a signature becomes: options that are bound, checked, handed to the work, recorded and given again."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from faultscape.arguments import Place, Size
from faultscape.errors import OptionError
from faultscape.reading.study import Study
from faultscape.verbs.verb import call_again, group_options, options_class, options_of, verb
from refusals import refused

WORKED: list[Any] = []  # the options that the work was given


def work(options: Any) -> Any:
    WORKED.append(options)
    return options


@dataclass(frozen=True)
class Extra:
    """More options."""

    names: list[str] | None = None
    depth: int | None = None


def _check(options: Any) -> None:
    if options.limit > 9:
        raise OptionError(f"limit is at most 9; got {options.limit}")


@verb(f"{__name__}:work", changes_nothing=("output",), check=_check)
def tried(
    study: Place,
    *,
    output: Place | None = None,
    limit: float = 1.0,
    bands: list[float] | None = None,
    words: list[str] | None = None,
    size: Size | None = None,
    scores: dict[str, str] | None = None,
    extra: Extra = Extra(),
) -> Any:
    """Try."""


def test_the_work_takes_text_tuples_and_numbers_of_python_whatever_was_given() -> None:
    found = tried(
        Path("s"),
        output=Path("out"),
        limit=np.float32(2),
        bands=0.5,
        words="one",
        size=(320, 240),
        extra=Extra(names=["a"]),
    )
    assert (found.study, found.output, found.bands, found.words, found.size) == (
        *("s", "out", (0.5,), ("one",)),
        "320x240",
    )
    assert (type(found.limit), found.limit) == (float, 2.0)
    assert found.extra == Extra(names=["a"])  # what was not given stays open
    assert (tried("s").bands, tried("s").words, tried("s").extra) == ((), (), Extra())


def test_what_is_recorded_is_what_differs_from_defaults_and_changes_something() -> None:
    assert tried("s").given() == {}
    found = tried("s", output="out", limit=3, words=["a", "b"], extra=Extra(depth=2))
    assert found.given() == {"limit": 3.0, "words": ["a", "b"], "depth": 2}
    assert type(found.given()["limit"]) is float  # as the command line would have it
    assert found.given(but=("words",)) == {"limit": 3.0, "depth": 2}


def test_what_is_recorded_gives_the_same_again_grouped_or_not() -> None:
    found = tried("s", limit=2.5, bands=[0.1], extra=Extra(names=["x"], depth=1))
    again = call_again(tried, "s", found.given(), output="elsewhere")
    assert (again.given(), again.output) == (found.given(), "elsewhere")
    options = {"depth": 1, "limit": 2.5}
    assert group_options(tried, options) == {"extra": Extra(depth=1), "limit": 2.5}
    assert options_of(tried)["depth"] == Extra()
    with refused(OptionError, "tried no longer has the recorded option 'width'; run `faultscape tried s`"):
        call_again(tried, "s", {"width": 3})


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ({"words": ["a", " "]}, "--words is empty; give a value, or remove it"),
        ({"scores": {"a": ""}}, "--scores is empty"),
        ({"extra": Extra(names=[""])}, "--names is empty"),
        ({"output": ""}, "--output is empty"),
        ({"study": " "}, "study is empty; give the name of a file or folder"),
        ({"limit": "2"}, "limit must be a number; got '2'"),
        ({"limit": True}, "limit must be a number; got True"),
        (
            {"extra": {"depth": 2}},
            r"extra must be fs\.options\.Extra\(names=\.\.\., depth=\.\.\.\); got \{'depth': 2\}",
        ),
        ({"extra": Extra(depth=1.5)}, "depth must be a whole number; got 1.5"),  # type: ignore[arg-type]
        ({"limit": 10}, "limit is at most 9; got 10"),
        ({"limits": 2}, "tried has no option 'limits'. Did you mean 'limit'\\?"),
        ({"zzz": 2}, "tried has no option 'zzz'. Its help lists those that it has."),
        ({"depth": 2}, r"tried takes depth as extra=fs\.options\.Extra\(depth=\.\.\.\)"),
    ],
)
def test_a_wrong_line_is_refused_before_anything_is_done(given: dict[str, Any], says: str) -> None:
    WORKED.clear()
    with refused(OptionError, says):
        tried(**{"study": "s", **given})
    assert WORKED == []


def test_arguments_are_no_options_and_what_has_no_default_is_needed() -> None:
    about = options_class(tried)
    assert about.by_place == {"study"}
    assert about.changes_nothing == {"output"}
    with pytest.raises(TypeError, match=r"^tried: missing a required argument: 'study'; its help shows"):
        tried()


def test_a_study_that_was_given_reads_again_what_was_made(tmp_path: Path) -> None:
    study = Study(tmp_path)
    study.computed["held",] = 1
    tried(study)
    assert study.computed == {}
