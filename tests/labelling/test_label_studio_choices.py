"""Questions and pairs go out to Label Studio, and what people chose comes back: of a pair with the models
where they were shown.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from faultscape.errors import LabellingError
from faultscape.formats.label_tools import label_studio, label_studio_choices
from faultscape.formats.label_tools.label_studio_choices import ANSWERS, CHOICES, PairTask, Question
from faultscape.formats.label_tools.studio import tasks
from refusals import refused

SAME_FOLDER = settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
ASKING = [
    Question("a b/c", "photos/a b/c.jpg", "dog"),
    Question('say "x"', "x.png", "owl, wild"),
    Question("图", "图.png", "it's"),
]
PAIRS = [
    PairTask("p1", "a b", ("unet", "deep lab"), ("unet/a b.png", "deep/a b.png"), swapped=False),
    PairTask("p2", "a b", ("unet", "deep lab"), ("unet/a b.png", "deep/a b.png"), swapped=True),
    PairTask("p3", "c", ("unet", "naïve"), ("unet/c.png", "n/c.png"), swapped=False),
]


def put(files: Any) -> list[dict[str, Any]]:
    for path, data in files:
        path.write_bytes(data)
    return json.loads(path.read_bytes())


def listed(*words: str) -> dict[str, Any]:
    return {
        "id": "l",
        "type": "choices",
        "from_name": "answer",
        "to_name": "image",
        "origin": "manual",
        "value": {"choices": [*words]},
    }


def clicked(side: str) -> dict[str, Any]:
    return {
        "id": "p",
        "type": "pairwise",
        "from_name": "better",
        "to_name": "better",
        "value": {"selected": side},
    }


def annotation(*results: Any, by: Any = "ann", **more: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "completed_by": {"id": 1, "email": by},
        "result": [*results],
        "was_cancelled": False,
        "lead_time": 2.5,
    } | more


def answered(path: Path, rows: list[dict[str, Any]], *annotations: list[Any]) -> Path:
    path.write_text(
        json.dumps([row | {"annotations": said} for row, said in zip(rows, annotations, strict=True)])
    )
    return path


@given(words=st.lists(st.sampled_from([*ANSWERS, ""]), min_size=3, max_size=3))
@SAME_FOLDER
def test_answers_are_read_back_to_the_questions_that_were_written(tmp_path: Path, words: list[str]) -> None:
    rows = put(label_studio_choices.write_questions(tmp_path, ASKING, {"dog": "a beast"}))
    assert [row["data"]["question"] for row in rows] == [
        "Does this image contain a dog? (a beast)",
        "Does this image contain an owl, wild?",
        "Does this image contain an it's?",
    ]
    assert rows[0]["data"]["image"] == "/data/local-files/?d=photos/a%20b/c.jpg"
    path = answered(
        tmp_path / "e.json", rows, *([annotation(listed(word))] if word else [] for word in words)
    )
    answers, wrong = label_studio_choices.read_questions(path)
    assert wrong == []
    assert [(row.image, row.class_, row.annotator, row.answer) for row in answers] == [
        (asked.image, asked.class_, "ann", word) for asked, word in zip(ASKING, words, strict=True) if word
    ]


@given(words=st.lists(st.sampled_from(CHOICES), min_size=3, max_size=3))
@SAME_FOLDER
def test_choices_come_back_with_the_models_where_they_were_shown(tmp_path: Path, words: list[str]) -> None:
    rows = put(label_studio_choices.write_pairs(tmp_path, PAIRS))
    assert [(row["data"]["left"][21:], row["data"]["right"][21:], row["data"]["id"]) for row in rows] == [
        ("unet/a%20b.png", "deep/a%20b.png", "p1"),
        ("deep/a%20b.png", "unet/a%20b.png", "p2"),
        ("unet/c.png", "n/c.png", "p3"),
    ]
    path = answered(tmp_path / "e.json", rows, *([annotation(listed(word))] for word in words))
    answers, wrong = label_studio_choices.read_pairs(path)
    assert wrong == []
    assert [(row.image, row.left, row.right, row.annotator, row.choice, row.seconds) for row in answers] == [
        ("a b", "unet", "deep lab", "ann", words[0], 2.5),
        ("a b", "deep lab", "unet", "ann", words[1], 2.5),
        ("c", "unet", "naïve", "ann", words[2], 2.5),
    ]


def choice_of(tmp_path: Path, *results: Any, **more: Any) -> tuple[list[str], list[str]]:
    rows = put(label_studio_choices.write_pairs(tmp_path, PAIRS[:1]))
    answers, wrong = label_studio_choices.read_pairs(
        answered(tmp_path / "e.json", rows, [annotation(*results, **more)])
    )
    return [row.choice for row in answers], [sentence.partition(": ")[2] for sentence in wrong]


@pytest.mark.parametrize(
    ("results", "choice"),
    [
        ([clicked("left")], ["left"]),
        ([clicked("right"), listed("right")], ["right"]),
        ([clicked("left"), listed("both good")], ["both good"]),
        ([listed(" Both Bad ")], ["both bad"]),
        ([clicked("none")], []),
        ([], []),
    ],
)
def test_a_click_and_a_list_make_one_choice_and_the_list_counts(
    tmp_path: Path, results: list[Any], choice: list[str]
) -> None:
    assert choice_of(tmp_path, *results) == (choice, [])


@pytest.mark.parametrize(
    ("results", "says"),
    [
        ([clicked("left"), listed("right")], "chooses 'right' in the list but 'left' by click"),
        ([listed("left", "right")], "chooses 'left' and 'right' at once"),
        ([listed("maybe")], "'maybe' is not one of left, right, both good, both bad, not sure, skip"),
        ([clicked("up")], "'up' is not one of"),
        ([{**listed(), "value": {"choices": [{"a": 1}]}}], "is not one of"),
    ],
)
def test_choices_that_cannot_be_are_told_by_their_place(
    tmp_path: Path, results: list[Any], says: str
) -> None:
    choices, (told,) = choice_of(tmp_path, *results)
    assert choices == []
    assert says in told


def test_a_task_that_was_skipped_is_an_answer_of_a_pair_and_none_of_a_question(tmp_path: Path) -> None:
    assert choice_of(tmp_path, was_cancelled=True) == (["skip"], [])
    rows = put(label_studio_choices.write_questions(tmp_path, ASKING[:1]))
    path = answered(tmp_path / "e.json", rows, [annotation(listed("yes"), was_cancelled=True)])
    assert label_studio_choices.read_questions(path) == ([], [])


def test_of_one_persons_answers_the_latest_counts_and_one_that_was_not_skipped_before_one_that_was(
    tmp_path: Path,
) -> None:
    rows = put(label_studio_choices.write_pairs(tmp_path, PAIRS[:1]))
    said = [
        annotation(listed("left"), updated_at="2026-01-02"),
        annotation(listed("right"), updated_at="2026-01-01"),
        annotation(was_cancelled=True, updated_at="2026-01-03"),
        annotation(listed("both bad"), by="bob", lead_time=None),
    ]
    answers, _ = label_studio_choices.read_pairs(answered(tmp_path / "e.json", rows, said))
    assert [(row.annotator, row.choice, math.isnan(row.seconds)) for row in answers] == [
        ("ann", "left", False),
        ("bob", "both bad", True),
    ]


@pytest.mark.parametrize(
    ("meta", "says"),
    [
        ({}, "has no text `image`"),
        ({"image": "a", "first": "f"}, "has no text `second`"),
        ({"image": "a", "first": "f", "second": 5, "swapped": True}, "has no text `second`"),
        ({"image": "a", "first": "f", "second": "g"}, "must say true or false"),
        ({"image": "a", "first": "f", "second": "g", "swapped": 1}, "must say true or false"),
        ([], "has no text `image`"),
    ],
)
def test_a_pair_that_no_longer_says_what_it_asked_is_told_and_hinders_no_other(
    tmp_path: Path, meta: Any, says: str
) -> None:
    rows = put(label_studio_choices.write_pairs(tmp_path, PAIRS[:2]))
    rows[0]["data"]["meta"] = meta
    said = [annotation(listed("left"))]
    answers, (told,) = label_studio_choices.read_pairs(answered(tmp_path / "e.json", rows, said, said))
    assert [row.left for row in answers] == ["deep lab"]
    assert says in told


def test_configurations_know_what_can_be_chosen(tmp_path: Path) -> None:
    put(label_studio_choices.write_questions(tmp_path, ASKING))
    assert tasks.read_config(tmp_path / "label_config.xml").controls == {
        "answer": ("choices", frozenset(ANSWERS))
    }
    put(label_studio_choices.write_pairs(tmp_path, PAIRS))
    known = tasks.read_config(tmp_path / "label_config.xml").controls
    assert known == {"better": ("pairwise", frozenset()), "answer": ("choices", frozenset(CHOICES))}


def test_what_is_written_is_recognised_and_has_nothing_to_be_said_of(tmp_path: Path) -> None:
    for write, asked, name in (
        (label_studio_choices.write_questions, ASKING, "questions.json"),
        (label_studio_choices.write_pairs, PAIRS, "pairs.json"),
    ):
        put(write(tmp_path, asked))
        assert label_studio_choices.recognise(tmp_path / name)
        assert not label_studio.recognise(tmp_path / name)
        assert label_studio_choices.check(tmp_path / name) == []
    (tmp_path / "masks.json").write_text('[{"annotations": [{"type": "choices"}, {"type": "brushlabels"}]}]')
    assert not label_studio_choices.recognise(tmp_path / "masks.json")
    assert not label_studio_choices.recognise(tmp_path)


def test_what_label_studio_would_show_wrongly_is_told(tmp_path: Path) -> None:
    rows = put(label_studio_choices.write_pairs(tmp_path, PAIRS))
    rows[1]["id"] = 1
    rows[2]["data"] |= {"left": None, "meta": rows[0]["data"]["meta"]}
    (tmp_path / "pairs.json").write_text(json.dumps([*rows, {"id": 9, "data": {"left": "a"}}]))
    (tmp_path / "label_config.xml").write_text(
        '<View><Choices name="a" toName="left"><Choice value="left"/></Choices></View>'
    )
    assert [
        sentence.partition(": ")[2] for sentence in label_studio_choices.check(tmp_path / "pairs.json")
    ] == [
        "its Choices lack right, both good, both bad, not sure, skip",
        "has no control Pairwise",
        "has the id of an earlier task",
        "its data has no image address `left`",
        "asks the same as task 1",
        "has no data.meta, by which answers are distinguished",
    ]


@pytest.mark.parametrize("text", ["", "{}", "[5]", '[{"a": 1}]', "[" * 100_000])
def test_a_file_that_is_no_export_is_refused_in_one_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "e.json").write_text(text)
    for read in (label_studio_choices.read_questions, label_studio_choices.read_pairs):
        with refused(LabellingError, r"e\.json: is not a Label Studio JSON file|have no `data`"):
            read(tmp_path / "e.json")
    assert len(label_studio_choices.check(tmp_path / "e.json")) == 1
