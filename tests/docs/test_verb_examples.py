"""Every verb's docstring says what is returned and raised, and its example runs as it stands."""

from __future__ import annotations

import doctest
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import faultscape as fs
import golden
import made_world
from faultscape.verbs.verb_list import LINES, signature_of

VERBS = {" ".join(words): signature_of(words) for words in LINES} | {
    "labels": fs.labels,
    "verdict": fs.verdict,
}
# these wait for a person, draw for a minute, train, or need what no test makes
NOT_RUN = {"demo", "label serve", "loop", "stress fog", "train", "view"}
RUN = sorted(VERBS.keys() - NOT_RUN)


def world(folder: Path) -> None:
    made_world.make_world(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        made_world.make_study()


@pytest.mark.parametrize("name", VERBS)
def test_help_says_what_is_returned_and_raised_and_shows_an_example(name: str) -> None:
    text = VERBS[name].__doc__ or ""
    assert "\n>>> " in text or "\n    >>> " in text
    if name not in {"labels", "verdict"}:  # plain functions
        assert [text.count(f"\n{word}\n") for word in ("Parameters", "Returns", "Raises", "Examples")] == [
            1
        ] * 4
    assert ("+SKIP" in text) == (name in NOT_RUN)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUN)
def test_an_example_gives_what_it_shows(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    made, _ = golden.Goldens.made("world", world)
    shutil.copytree(made, tmp_path / "world")
    monkeypatch.chdir(tmp_path / "world")
    function: Callable[..., object] = VERBS[name]
    parsed = doctest.DocTestParser().get_doctest(function.__doc__ or "", {"fs": fs}, name, None, 0)
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE).run(parsed)
    assert found.attempted
    assert not found.failed, capsys.readouterr().out
