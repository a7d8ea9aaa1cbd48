"""Who sees which masks in the second round, and who may say what of them: `labels` of this study is the data
set's own truth, `labels-eve` a person's.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from markupsafe import escape

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import numpy as np

import faultscape as fs
import made
from faultscape.study.answers.annotators import ANNOTATOR, ORGANISER
from faultscape.study.answers.checks import NOTHING, Check, Checks
from made_entrance import CLASSES, MODELS, Entrance, Person

EVES = "/check/0?truth=labels-eve"


def found(entrance: Entrance) -> list[Check]:
    return Checks(entrance.root, entrance.campaign.database).checks()


def act(person: Person, what: str, number: int = 1, **more: str) -> int:
    return person.form("/check/0", truth="labels-eve", act=what, of=str(number), **more).status_code


def test_a_mask_that_was_drawn_anew_is_shown_anew(entrance: Entrance, tmp_path: Path) -> None:
    olga, address = entrance.invited("olga", ORGANISER), "/mask/0/fill?truth=labels-eve"
    before = olga.get(address)
    image = entrance.campaign.image_at("0")
    made.write(tmp_path / "anew" / f"{image.id}.png", np.ones((image.height, image.width), np.uint8))
    fs.label.import_(str(entrance.root), str(tmp_path / "anew"), truth="labels-eve")
    after = olga.get(address, headers={"If-None-Match": before.headers["etag"]})
    assert after.status_code == 200
    assert after.content != before.content
    assert olga.get(address, headers={"If-None-Match": after.headers["etag"]}).status_code == 304


def test_annotators_see_masks_of_annotators_and_organisers_the_data_sets_own_too(entrance: Entrance) -> None:
    ann, olga = entrance.invited("ann"), entrance.invited("olga", ORGANISER)
    for way in ("/check/0", "/mask/0/fill", "/mask/0/outline"):
        for truth in ("labels", "labels-eve"):
            assert olga.get(f"{way}?truth={truth}").status_code == 200, (way, truth)
        assert ann.get(f"{way}?truth=labels-eve").status_code == 200, way
        assert ann.get(f"{way}?truth=labels").status_code == 404, way
    for kind in ("other", NOTHING):
        assert ann.form("/check/0", truth="labels", kind=kind).status_code == 404
    assert '?truth=labels"' in olga.get("/checks").text
    assert '?truth=labels"' not in ann.get("/checks").text
    assert found(entrance) == []


def test_pages_that_show_a_map_say_which_colour_is_which_class_and_what_the_image_was_chosen_for(
    entrance: Entrance,
) -> None:
    olga = entrance.invited("olga", ORGANISER)
    chip = re.compile(r'fill="(#[0-9a-f]{6})"></rect></svg>([^<]*)</span>')
    names = [escape(name) for name in CLASSES]
    colours = [f"#{40 * k:02x}{255 - 40 * k:02x}{7 * k:02x}" for k in range(len(names))]
    for page in ("/work", EVES):
        found = chip.findall(olga.get(page).text)
        assert found == list(zip(colours, map(str, names), strict=True)), page
    item = next(one for one in olga.items() if one["classes"])
    number = entrance.campaign.place_of(entrance.campaign.find(item["id"]).image)
    text = olga.get(f"/tags/{number}?model={MODELS[0]}").text
    first, others = text.split("<details", 1)
    asked = [name for _, name in chip.findall(first)]
    assert asked
    assert {*asked} >= {str(escape(name)) for name in item["classes"]}
    assert sorted([*asked, *(name for _, name in chip.findall(others))]) == sorted(map(str, names))
    assert chip.findall(olga.get(f"/tags/{number}").text) == []  # the photo alone


@pytest.mark.parametrize("role", [ANNOTATOR, ORGANISER])
def test_nobody_looks_through_their_own_masks(entrance: Entrance, role: str) -> None:
    eve = entrance.invited("eve", role)
    for kind in (NOTHING, "other"):
        answer = eve.form("/check/0", truth="labels-eve", kind=kind)
        assert answer.status_code == 403
        assert "you cannot review your own masks" in answer.text
    assert found(entrance) == []
    ann = entrance.invited("ann")
    assert ann.form("/check/0", truth="labels-eve", kind="other").status_code == 303
    assert act(eve, "resolve", found(entrance)[0].number) == 403


def test_what_was_found_is_resolved_by_the_finder_or_an_organiser_and_the_author_comments(
    entrance: Entrance,
) -> None:
    ann, ben, eve = (entrance.invited(name) for name in ("ann", "ben", "eve"))
    olga = entrance.invited("olga", ORGANISER)
    assert EVES not in eve.get("/checks").text
    for _ in range(2):
        assert (
            ann.form("/check/0", truth="labels-eve", kind="missed object", comment="the tree").status_code
            == 303
        )
    assert EVES in eve.get("/checks").text  # so that they see what was found
    for person, resolves in ((ann, 2), (ben, 0), (eve, 0), (olga, 2)):  # pages offer what is taken alone
        text = person.get(EVES).text
        assert text.count('value="resolve"') == resolves
        assert ('id="finding"' in text) == (person is not eve)
    first, second = (one.number for one in found(entrance))
    assert [act(person, "resolve", first) for person in (eve, ben)] == [403, 403]
    assert act(eve, "comment", first, comment="that is a bush") == 303
    assert [one.resolved for one in found(entrance)] == [False, False]
    assert act(ann, "resolve", first) == act(olga, "resolve", second) == 303
    assert [one.resolved for one in found(entrance)] == [True, True]
    assert act(eve, "open again", first) == 303
    assert [one.resolved for one in found(entrance)] == [False, True]
