"""What people answered about classes that are called something else now: it counts as it did, whatever the
class was called when it was said.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import faultscape as fs
import made_answers
from faultscape.cli import main
from faultscape.errors import StudyError
from faultscape.labelling.answers import majority
from faultscape.study.answers.labels import Answers
from faultscape.verbs.collect import settings
from made_answers import NAMES
from refusals import refused
from undoing import states

FELINE = ("feline", *NAMES[1:])


@pytest.fixture
def study(tmp_path: Path) -> str:
    """A study whose random selection is decided by answers alone, and ranked."""
    return made_answers.moved("ranked by answers", _ranked, tmp_path).study


def _ranked(folder: Path) -> made_answers.Answers:
    held = made_answers.study(folder, images=40)
    rows = [row.image for row in fs.select(held.study, selector="random", budget=20, as_="r").rows]
    shown = {image: NAMES[k] for image, k in zip(held.images, held.truth.tolist(), strict=True)}
    say(
        held.study,
        [(image, name, "ann", "yes" if shown[image] == name else "no") for image in rows for name in NAMES],
    )
    fs.rank(held.study, selection="r", resamples=5)
    return held


def say(study: str, answers: Sequence[tuple[str, str, str, str]]) -> None:
    path = Path(study).parent / "answers.csv"
    path.write_text("image,class,annotator,answer\n" + "".join(",".join(row) + "\n" for row in answers))
    fs.label.import_(study, str(path))


def called(study: str, names: Sequence[str]) -> None:
    """Give the study another class list."""
    path = Path(study).parent / "renamed.txt"
    path.write_text("\n".join(names))
    fs.collect(study, classes=str(path))


def verdicts(study: str, names: Mapping[str, str] | None = None) -> dict[tuple[str, str], bool | None]:
    """What the answers say, of classes by what ``names`` call them."""
    return {
        (image, (names or {}).get(name, name)): said
        for (image, name), said in majority(Answers(Path(study)).answers()).items()
    }


def standings(study: str) -> Any:
    document = json.loads((Path(study) / "standings-r.json").read_text())
    return document["labels"], document["rankings"]


def test_answers_follow_a_class_that_is_called_something_else(study: str) -> None:
    before, said = standings(study), verdicts(study, {"cat": "feline"})
    assert before[0]["counted"] == 20
    called(study, FELINE)
    # standings name the class that the leader finds worst
    assert (states(study)["labels", "r"], states(study)["standings", "r"]) == ("done", "stale")
    assert verdicts(study) == said
    fs.rank(study, selection="r", resamples=5)
    assert standings(study) == before
    fs.report(study, selection="r")
    page = (Path(study) / "report-r.html").read_text()
    assert "feline? yes" in page
    assert "cat? " not in page
    image = next(image for image, _ in said)
    assert main(["label", "remove", study, image, "--class", "feline"]) == 0
    assert (image, "feline") not in verdicts(study)
    assert main(["label", "remove", study, "--all"]) == 0
    assert Answers(Path(study)).truths() == []


def test_answers_under_the_old_and_the_new_name_are_of_one_class(study: str) -> None:
    image = next(image for (image, name), yes in verdicts(study).items() if name == "cat" and yes)
    called(study, FELINE)
    say(study, [(image, "feline", "ann", "no"), (image, "cat", "ben", "no"), (image, "feline", "eve", "yes")])
    assert verdicts(study)[image, "feline"] is False
    # of one person's answers the latest counts, whatever the class was called
    say(study, [(image, "cat", "ann", "yes")])
    assert verdicts(study)[image, "feline"] is True
    called(study, ("felid", *NAMES[1:]))
    say(study, [(image, "cat", "eve", "no"), (image, "felid", "ann", "no")])
    assert verdicts(study)[image, "felid"] is False
    assert {name for asked, name in verdicts(study) if asked == image} == {"felid", *NAMES[1:]}
    called(study, NAMES)
    assert verdicts(study)[image, "cat"] is False


@pytest.mark.slow
def test_classes_that_change_names_by_and_by_keep_their_answers(study: str) -> None:
    said, standing = verdicts(study, {"cat": "dog", "dog": "cat"}), standings(study)
    for first, second in (("puss", "dog"), ("puss", "cat"), ("dog", "cat")):
        called(study, (first, second, *NAMES[2:]))
    assert verdicts(study) == said
    assert states(study)["labels", "r"] == "done"
    fs.rank(study, selection="r", resamples=5)
    assert standings(study) == standing
    image = next(iter(said))[0]
    say(study, [(image, "cat", who, "unsure") for who in ("ann", "ben")])  # of today's cat, which was the dog
    said |= {(image, "cat"): None}
    assert verdicts(study) == said
    called(study, ("cat", *NAMES[2:]))  # without the dog, which was the cat
    assert verdicts(study) == said


def test_answers_go_by_names_where_these_change_places_in_one_list(study: str) -> None:
    """The names are then of other ids, and tables are read again by their words as answers are."""
    said = verdicts(study)
    called(study, ("dog", "cat", *NAMES[2:]))
    assert verdicts(study) == said
    fs.predict(study, {f"model-{k}": str(Path(study).parent / f"model-{k}.csv") for k in range(3)})
    assert states(study)["labels", "r"] == "done"


@pytest.mark.slow
def test_a_class_that_was_renamed_keeps_its_answers_in_every_later_list(study: str) -> None:
    said = verdicts(study, {"cat": "feline"})
    called(study, FELINE)
    called(study, (*FELINE, "bird"))
    assert verdicts(study) == said
    called(study, (*NAMES[1:], "bird"))  # somebody's mistake: the felines are gone
    called(study, FELINE)
    assert verdicts(study) == said
    called(study, (*FELINE, "cat"))  # another cat, of which nothing was said
    assert verdicts(study) == said
    say(study, [(next(iter(said))[0], "cat", "ann", "yes")])
    assert verdicts(study) == said | {(next(iter(said))[0], "cat"): True}


@pytest.mark.slow
def test_a_renaming_that_is_killed_loses_no_answer(study: str, monkeypatch: pytest.MonkeyPatch) -> None:
    said, standing = verdicts(study), states(study)

    def killed(*_: Any) -> None:
        raise StudyError("no space left")

    put: Callable[..., None] = settings.toml.write_settings
    monkeypatch.setattr(settings.toml, "write_settings", killed)
    with refused(StudyError, "no space left"):
        called(study, FELINE)
    assert verdicts(study) == said
    assert states(study) == standing
    monkeypatch.setattr(settings.toml, "write_settings", put)
    called(study, ("cat", "feline", *NAMES[2:]))  # what was begun is left, and the name is another's
    assert verdicts(study) == {
        (image, {"dog": "feline"}.get(name, name)): yes for (image, name), yes in said.items()
    }
