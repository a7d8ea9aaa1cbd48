"""What organisers and people of the second round do in a browser: findings on masks, tags by key, invitations, and letting somebody go."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from answering import Asked, Serving, all_sent, enter
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.checks import NOTHING, Checks
from faultscape.study.answers.tags import Tags


def test_a_place_on_a_mask_is_marked_with_words_and_resolved(browser: Any, duels: Asked, serve: Callable[..., Serving]) -> None:
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=Check masks")
    page.click("tbody a >> nth=0")
    box = page.locator("#board .photo").bounding_box()
    page.mouse.click(box["x"] + box["width"] / 4, box["y"] + box["height"] / 2)
    page.wait_for_selector("#place:has-text('At 72, 108')")
    page.select_option("#finding select", "missed object")
    page.fill("#finding [name=comment]", "a lamp <b>post</b>")
    page.keyboard.press("Enter")
    page.wait_for_selector(".finding:has-text('a lamp <b>post</b>')")
    (check,) = Checks(held.root).checks("labels-ben")
    assert (check.image, check.kind, check.resolved) == (duels.corpus.ids[0], "missed object", False)
    assert abs(check.x - 72) < 1
    assert abs(check.y - 108) < 1
    pin = page.locator("#pins .pin >> nth=0").bounding_box()
    assert abs(pin["x"] + pin["width"] / 2 - (box["x"] + box["width"] / 4)) < 3  # the pin is where the click was
    page.fill(".finding [name=comment]", "so it is")
    page.click(".finding >> text=Resolve")
    page.wait_for_selector(".finding:has-text('resolved it so it is')")
    assert Checks(held.root).checks("labels-ben")[0].resolved
    page.keyboard.press("o")
    page.wait_for_selector("#over[src*='/outline']")
    page.keyboard.press("n")
    page.wait_for_url("**/check/1*")
    assert [one.kind for one in Checks(held.root).checks()] == ["missed object", NOTHING]
    page.goto(f"{held.url}checks?state=open")
    assert page.inner_text("main .none").startswith("No mask")
    page.close()


def test_tags_are_given_and_taken_back_by_key_of_the_image_a_model_and_a_region(
    browser: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=Tag failures")
    page.wait_for_url("**/tags/*")
    page.keyboard.press("v")
    page.wait_for_selector("[data-key=v][aria-pressed=true]")
    page.keyboard.press("v")
    page.wait_for_selector("[data-key=v][aria-pressed=false]")
    page.click("text=model-1")
    page.wait_for_url("**model=model-1")
    box = page.locator("#board .photo").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, steps=3)
    page.mouse.up()
    page.wait_for_selector("#place:has-text('Of the region at')")
    page.keyboard.press("s")
    page.wait_for_selector("li:has-text('extreme scale')")
    (tag,) = Tags(held.root).tags()
    assert (tag.tag, tag.model) == ("extreme scale", "model-1")
    assert all(abs(a - b) <= 2 for a, b in zip(map(int, tag.region.split(",")), (72, 54, 72, 54), strict=True))
    here = page.url
    page.keyboard.press("ArrowRight")
    page.wait_for_url(lambda url: url != here and "model=model-1" in url)
    page.keyboard.press("ArrowLeft")
    page.wait_for_url(here)
    page.close()


def test_who_is_invited_comes_in_by_the_link_and_is_out_at_once_when_removed(
    browser: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.click("nav >> text=People")
    page.fill(".invitation [name=name]", "ben")
    page.keyboard.press("Enter")
    link = page.inner_text(".invite")
    other = browser.new_context()
    guest = other.new_page()
    guest.goto(link)
    assert guest.inner_text("h1") == "Welcome, ben"
    guest.click("text=Begin")
    guest.wait_for_selector("#work:not([hidden])")
    (cookie,) = other.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert guest.locator("nav >> text=People").count() == 0
    assert guest.request.get(f"{held.url}people").status == 403
    guest.keyboard.press("1")
    all_sent(guest)
    page.goto(f"{held.url}people")
    row = page.locator("tr:has-text('ben')")
    assert row.locator("td >> nth=1").inner_text() == "1"
    row.locator("button", has_text="Remove").first.click()
    page.wait_for_selector("tr:has-text('(removed)')")
    guest.keyboard.press("2")
    guest.wait_for_selector(".ask-name", timeout=5000)  # the page that was open is left
    assert [one.name for one in Annotators(held.root).everybody()] == ["ann"]
    other.close()
    page.close()


def test_an_organiser_leaves_this_browser(browser: Any, duels: Asked, serve: Callable[..., Serving]) -> None:
    held, context = serve(duels), browser.new_context()
    page = context.new_page()
    enter(page, held.url)
    page.click("nav >> text=People")
    page.click("text=Leave this browser")
    page.wait_for_selector(".ask-name")
    assert context.cookies() == []
    context.close()


def test_results_follow_while_the_page_is_open(
    browser: Any, duels: Asked, serve: Callable[..., Serving], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.stages.serve.pages.results._SECONDS", 0.0)
    held, page = serve(duels), browser.new_page()
    enter(page, held.url)
    page.clock.install()
    page.goto(f"{held.url}results")
    assert page.inner_text("#live .count").startswith("0 choices")
    (ann,) = Annotators(held.root).everybody()
    (given,) = held.campaign.items_for(ann.pseudonym, (), 1)
    assert held.campaign.take(ann.pseudonym, {"key": "12345678", "id": given.item.id, "repeat": 0, "chosen": "left"}) == ""
    page.clock.run_for(16_000)
    page.wait_for_selector("#live .count:has-text('1 choice that counts')")
    assert page.locator("#live tbody tr").count() >= 4
    page.close()
