"""What organisers and people of the second round do: findings on masks, tags by key and as they are measured,
invitations, and letting somebody go.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import made_entrance
from answering import Asked, Serving, all_sent, click, enter, press
from faultscape.labelling.tags import proposals
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import ORGANISER, Annotators
from faultscape.study.answers.checks import NOTHING, Checks
from faultscape.study.answers.tags import Tags
from faultscape.verbs.serve.measured_tags import MeasuredTags
from made_entrance import Entrance


@pytest.mark.slow
def test_a_place_on_a_mask_is_marked_with_words_and_resolved(
    browser: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=Check masks")
    page.click("tbody a >> nth=0")
    box = page.locator("#board .photo").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    page.wait_for_selector("#place:has-text('At 72, 108')")
    page.select_option("#finding select", "missed object")
    page.fill("#finding [name=comment]", "a lamp <b>post</b>")
    press(page, "Enter", ".finding:has-text('a lamp <b>post</b>')")
    (check,) = Checks(held.root).checks("labels-ben")
    assert (check.image, check.kind, check.resolved) == (duels.corpus.ids[0], "missed object", False)
    assert abs(check.x - 72) < 1
    assert abs(check.y - 108) < 1
    pin = page.locator("#pins .pin >> nth=0").bounding_box()
    # the pin is where the click was
    assert abs(pin["x"] + pin["width"] / 2 - (box["x"] + box["width"] / 4)) < 3
    page.fill(".finding [name=comment]", "so it is")
    click(page, ".finding >> text=Resolve", ".finding:has-text('resolved it so it is')")
    assert Checks(held.root).checks("labels-ben")[0].resolved
    press(page, "o", "#over[src*='/outline']")
    page.keyboard.press("n")
    page.wait_for_url("**/check/1*")
    assert [one.kind for one in Checks(held.root).checks()] == ["missed object", NOTHING]
    page.goto(f"{held.url}checks?state=open")
    assert page.inner_text("main .none").startswith("No mask")
    page.close()


@pytest.mark.slow
def test_tags_are_given_and_taken_back_by_key_of_the_image_a_model_and_a_region(
    browser: Any, held: Serving
) -> None:
    page = browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=Tag failures")
    page.wait_for_url("**/tags/*")
    press(page, "v", "[data-key=v][aria-pressed=true]")
    press(page, "v", "[data-key=v][aria-pressed=false]")
    page.click("text=model-1")
    page.wait_for_url("**model=model-1")
    assert page.inner_text(".target").startswith("You are tagging the map of model-1, and no other model")
    box = page.locator("#board .photo").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    page.wait_for_selector("#place:has-text('The tag is for the region at')")
    press(page, "s", "li:has-text('extreme scale')")
    (tag,) = Tags(held.root).tags()
    assert (tag.tag, tag.model) == ("extreme scale", "model-1")
    assert all(
        abs(a - b) <= 2 for a, b in zip(map(int, tag.region.split(",")), (72, 54, 72, 54), strict=True)
    )
    here = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url.partition("?")[0] != here.partition("?")[0])
    assert "model" not in page.url  # else what is said of the next image would be of one model
    assert page.inner_text(".target").startswith("You are tagging the image")
    assert page.inner_text("details summary") == f"1 of {len(held.campaign.chosen)} images tagged"
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(here.partition("?")[0])
    page.close()


@pytest.fixture
def entrance(tmp_path: Path) -> Iterator[Entrance]:
    root = made_entrance.study(tmp_path)
    with made_entrance.entrance(root) as held:
        yield held


def test_what_is_cut_on_most_images_is_not_proposed_as_cut_on_one(entrance: Entrance) -> None:
    study = Study(entrance.root)
    maps = study.labels("labels")
    often = proposals.often_cut(maps.values(), study.classes)
    measured, said, cut = MeasuredTags(study.image_rows), set[str](), set[str]()
    for id_, image in study.image_rows.items():
        mine = proposals.propose_cut(maps[id_], study.classes)
        cut |= mine.keys()
        found = {why for tag, why in measured.of(study, image) if tag == "cut by the border"}
        assert found == {one.reason for name, one in mine.items() if name not in often}
        said |= found
    assert cut & often  # some are left out
    assert said  # and others proposed


def test_a_proposal_is_given_by_a_press_the_group_of_an_image_too(entrance: Entrance) -> None:
    olga, campaign = entrance.invited("olga", ORGANISER), entrance.campaign
    place = campaign.place_of(campaign.chosen[0])
    image = campaign.image_at(str(place))
    campaign._asked.images[image.id] = replace(image, group="night <drive>")
    assert re.search(
        r'<button name="tag" value="night &lt;drive&gt;"[^>]*aria-pressed="false"',
        olga.get(f"/tags/{place}").text,
    )
    assert olga.form(f"/tags/{place}", tag="night <drive>").status_code == 303
    text = olga.get(f"/tags/{place}").text
    assert re.search(r'<button name="tag" value="night &lt;drive&gt;"[^>]*aria-pressed="true"', text)
    assert f"1 of {len(campaign.chosen)} images tagged" in text
    assert [tag.tag for tag in Tags(entrance.root, campaign.database).tags()] == ["night <drive>"]
    for word in ("another drive", ""):
        assert olga.form(f"/tags/{place}", tag=word).status_code == 400


@pytest.mark.slow
def test_who_is_invited_comes_in_by_the_link_and_is_out_at_once_when_removed(
    browser: Any, held: Serving
) -> None:
    page = browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=People")
    page.fill(".invitation [name=name]", "ben")
    page.keyboard.press("Enter")
    link = page.inner_text(".invite")
    other = browser.new_context()
    guest = other.new_page()
    guest.goto(link)
    assert guest.inner_text("h1") == "Welcome, ben"
    click(guest, "text=Begin", "#work:not([hidden])")
    (cookie,) = other.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert guest.locator("nav >> text=People").count() == 0
    assert guest.request.get(f"{held.url}people").status == 403
    guest.keyboard.press("1")
    all_sent(guest)
    page.goto(f"{held.url}people")
    row = page.locator("tr:has-text('ben')")
    assert row.locator("td >> nth=1").inner_text() == "1"
    button, asks = row.locator("button", has_text="Remove"), page.locator("dialog[open]")
    button.focus()
    page.keyboard.press("Enter")  # it asks first
    assert "This cannot be undone." in asks.inner_text()
    assert asks.get_attribute("aria-labelledby") == asks.locator("h2").get_attribute("id")
    assert page.evaluate("document.activeElement.textContent") == "Cancel"
    page.keyboard.press("Escape")
    assert asks.count() == 0
    assert button.evaluate("(one) => one === document.activeElement")  # the keyboard is where it was
    page.keyboard.press("Space")
    page.keyboard.press("Enter")  # Cancel
    assert button.evaluate("(one) => one === document.activeElement")
    page.keyboard.press("Enter")
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    assert page.evaluate("document.activeElement.textContent") == "Remove, and keep 1 answer"
    press(page, "Enter", "tr:has-text('(removed)')")
    press(guest, "2", ".ask-name", timeout=5000)
    assert [one.name for one in Annotators(held.root).everybody()] == ["ann"]
    other.close()
    page.close()


@pytest.mark.slow
def test_an_organiser_leaves_this_browser(browser: Any, held: Serving) -> None:
    context = browser.new_context()
    page = context.new_page()
    enter(page, held.url)
    page.click("nav >> text=People")
    click(page, "text=Sign out", ".ask-name")
    assert context.cookies() == []
    context.close()


@pytest.mark.slow
def test_results_follow_while_the_page_is_open(
    browser: Any, duels: Asked, serve: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.verbs.serve.pages.results._SECONDS", 0.0)
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.clock.install()
    page.goto(f"{held.url}results")
    assert page.inner_text("#live .count").startswith("0 choices")
    assert page.inner_text("#live .soft >> nth=0") == "No answer yet."
    (ann,) = Annotators(held.root).everybody()
    (given,) = held.campaign.items_for(ann.pseudonym, (), 1)
    assert (
        held.campaign.take(
            ann.pseudonym, {"key": "12345678", "id": given.item.id, "repeat": 0, "chosen": "left"}
        )
        == ""
    )
    page.clock.run_for(16_000)
    page.wait_for_selector("#live .count:has-text('1 choice that counts')")
    assert page.locator("#live tbody tr").count() >= 4
    page.close()
