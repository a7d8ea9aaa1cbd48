"""What the page of answering does for a person: taking back, discarding, pausing, training, looking closer;
forced choice, questions and phones.
"""

from __future__ import annotations

import dataclasses
import io
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from answering import (
    ELSEWHERE,
    Asked,
    Serving,
    all_sent,
    answer,
    click,
    current,
    enter,
    go_on,
    item,
    loaded,
    others_take_all_but,
    press,
    rows,
    rules,
    wait_for_item,
    watch,
)
from faultscape.nouns import Classes
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.choices import Choices
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.schema import TRAINING
from faultscape.study.tables.corpus import read_corpus
from faultscape.web import overlays

SIDES = ("Left", "Right", "Upper", "Lower")
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}


@pytest.mark.slow
def test_one_count_goes_up_with_every_answer_and_down_with_every_undo(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(session=4, repeats=0.0))
    shown = []

    def note() -> None:
        shown.append([int(number) for number in re.findall(r"\d+", page.inner_text("#where"))])
        bar = page.eval_on_selector("#session", "bar => [bar.value + 1, bar.max]")
        assert shown[-1] == bar  # the bar and the words say the same

    enter(page, held.url)
    note()
    for key in "124":
        answer(page, key)
        note()
    last = page.get_attribute("#work", "data-item")
    press(page, "u", f"#work:not([data-item='{last}'])")
    note()
    first = len(held.campaign._asked.items)
    assert shown == [[number, first] for number in (1, 2, 3, 4, 3)]
    page.reload()
    page.wait_for_selector(f"#where:has-text('Item 3 of {first}')")  # the item on the screen is asked again


@pytest.mark.slow
def test_a_pair_that_serves_more_than_four_classes_is_asked_as_a_whole(page: Any, held: Serving) -> None:
    names = held.campaign.settings.class_list.names
    assert len(names) == 5

    def all_of_them(route: Any) -> None:
        found = route.fetch().json()
        for one, number in zip(found["items"], (5, 4), strict=False):
            one["classes"] = [*names[:number]]
        route.fulfill(json=found)

    page.route("**/api/items?*", all_of_them, times=1)
    enter(page, held.url)
    assert page.inner_text("#asked") == "Which map is better?"
    assert page.locator("#asked-classes .class").count() == 5
    assert page.is_hidden("details.classes")
    answer(page, "1")
    assert page.inner_text("#asked") == f"Which shows {', '.join(names[:3])} and {names[3]} better?"
    assert page.is_visible("details.classes")


@pytest.mark.slow
def test_an_answer_is_taken_back_after_it_was_sent_and_given_anew(page: Any, held: Serving) -> None:
    enter(page, held.url)
    first, _ = item(page)
    page.keyboard.press("3")
    all_sent(page)
    assert [said for *_, said in rows(held)] == ["both good"]
    second = page.get_attribute("#work", "data-item")
    page.keyboard.press("u")
    wait_for_item(page, first)
    all_sent(page)
    assert [said for *_, said in rows(held)] == ["both good", ""]
    assert Choices(held.root).choices() == []
    page.keyboard.press("4")
    wait_for_item(page, second)  # what was on the screen comes back
    all_sent(page)
    assert [one.chosen for one in Choices(held.root).choices()] == ["both bad"]


@pytest.mark.slow
def test_the_dialog_of_discarding_is_worked_by_keys_and_escape_keeps_the_image(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(discard_votes=2))
    enter(page, held.url)
    id_, _ = item(page)
    page.keyboard.press("x")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    page.keyboard.type("a drawing, 1 of 2")
    press(page, "Enter", f"#work:not([data-item='{id_}'])")
    assert page.is_hidden("#feedback")
    page.keyboard.press("u")
    assert page.inner_text("#feedback") == "A vote to discard cannot be undone."
    page.keyboard.press("u")
    assert page.inner_text("#feedback") == "There is nothing to undo."
    all_sent(page)
    image = held.campaign.image_of(held.campaign.find(id_)).id
    assert [*Answers(held.root).discard_votes()] == [image]
    (why,) = Answers(held.root).discard_votes()[image].values()
    assert why == "none of the classes: a drawing, 1 of 2"
    other, _ = item(page)
    page.keyboard.press("x")
    press(page, "Escape", "#reasons", state="hidden")
    press(page, "2", f"#work:not([data-item='{other}'])")
    all_sent(page)
    assert len(Answers(held.root).discard_votes()) == 1
    assert len(rows(held)) == 1


@pytest.mark.slow
def test_a_key_right_after_a_discard_says_something_of_the_next_item(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(discard_votes=2))
    watch(page)
    enter(page, held.url)
    loaded(page, 6)  # and so the next item, which the key is for
    first = current(page)
    page.keyboard.press("x")
    page.evaluate("""() => {
      document.querySelector("#reasons form").requestSubmit(document.querySelector("#reasons [value=discard]"));
      document.dispatchEvent(new KeyboardEvent("keydown", { key: "3", bubbles: true }));
    }""")  # before the browser says that the dialog is closed
    all_sent(page)
    assert [*Answers(held.root).discard_votes()] == [held.campaign.find(first).image]
    ((answered, _, said),) = rows(held)
    assert said == "both good"
    assert answered != held.campaign.find(first).image


@pytest.mark.slow
def test_while_a_discard_is_under_way_all_items_come_but_those_of_its_image(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(session=100, repeats=0.0, discard_votes=2, overlap=1))
    items = others_take_all_but(held, 20)
    written, take = threading.Event(), held.campaign.take

    def slowly(*row: Any) -> str:
        written.wait(30)
        return take(*row)

    held.campaign.take = slowly
    enter(page, held.url)
    seen = list[str]()
    most = max(sum(one.image == other.image for other in items.values()) for one in items.values())
    assert most > 2
    while sum(one.image == items[current(page)].image for one in items.values()) < most:
        seen.append(current(page))
        answer(page, "1")
    discarded = current(page)
    gone = items[discarded].image
    page.keyboard.press("x")
    press(page, "Enter", f"#work:not([hidden]):not([data-item='{discarded}'])")
    others = {id_ for id_, one in items.items() if one.image != gone}
    while len(seen) < len(others) - 1:
        seen.append(current(page))
        answer(page, "2")
    assert {*seen, current(page)} == others
    press(page, "2", "#waiting:not([hidden])")
    assert not written.is_set()
    written.set()
    all_sent(page)


@pytest.mark.slow
def test_a_session_ends_in_a_pause_which_stays_until_the_person_goes_on(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(session=3))
    watch(page)
    enter(page, held.url)
    loaded(page, 6)
    for _ in range(3):
        page.keyboard.press("1")
    page.wait_for_selector("#pause:not([hidden])")
    loaded(page, 8)
    all_sent(page)
    assert page.is_hidden("#pause .unsent")
    assert page.is_visible("#pause")  # what is loaded meanwhile does not end it
    assert page.is_hidden("#work")
    assert "session 1, of 3 items" in page.inner_text("#paused")
    page.keyboard.press("1")  # says nothing here
    press(page, "u", "#work:not([hidden])")
    assert page.inner_text("#where").startswith("Item 3 of ")
    page.keyboard.press("2")
    go_on(page)
    assert page.inner_text("#where").startswith("Item 4 of ")
    press(page, "u", "#where:has-text('Item 3 of ')")
    assert page.is_hidden("#pause")
    all_sent(page)


@pytest.mark.slow
def test_training_says_what_was_expected_and_a_wrong_answer_stays_on_the_screen(
    page: Any, duels: Asked, serve: Callable[..., Serving], tmp_path: Path
) -> None:
    image, other = duels.corpus.ids[:2]
    training = tmp_path / "training.csv"
    training.write_text(
        f"image,model,other,expected\n{image},model-0,model-3,model-0\n{other},model-0,model-3,both bad\n"
    )
    held = serve(duels, campaign=rules(training=str(training)))
    enter(page, held.url)
    assert page.inner_text("#where").startswith("Training")
    first, _ = item(page)
    right = side_of(held, first, "model-0")
    press(page, {"left": "2", "right": "1"}[right], f"#feedback:has-text('Expected: {right}')")
    assert item(page)[0] == first
    page.keyboard.press("4")  # the item was answered
    press(page, "Enter", f"#work:not([data-item='{first}'])")
    press(page, "4", "#feedback:has-text('Yes, both bad')")
    assert not page.inner_text("#where").startswith("Training")
    all_sent(page)
    assert Choices(held.root).choices() == []
    assert len(Choices(held.root).choices(TRAINING)) == 2
    assert len(rows(held)) == 2  # what was pressed while the wrong answer stood said nothing


def side_of(held: Serving, id_: str, model: str) -> str:
    """On which side a model is, for the person who has the item in hand."""
    (who,) = {one.annotator for one in held.campaign._people.handed()}
    return "left" if held.campaign.model_on(who, held.campaign.find(id_), 0, "left") == model else "right"


@pytest.mark.slow
def test_an_image_of_training_cannot_be_discarded_and_is_asked_again(
    page: Any, duels: Asked, serve: Callable[..., Serving], tmp_path: Path
) -> None:
    training = tmp_path / "training.csv"
    training.write_text(f"image,model,other,expected\n{duels.corpus.ids[0]},model-0,model-3,both bad\n")
    held = serve(duels, campaign=rules(training=str(training), session=100))
    enter(page, held.url)
    first = page.get_attribute("#work", "data-item")
    page.keyboard.press("x")
    press(page, "Enter", "#feedback:has-text('training images cannot be discarded')")
    for _ in range(12):
        if page.get_attribute("#work", "data-item") == first:
            break
        answer(page, "2")
    assert page.get_attribute("#work", "data-item") == first
    all_sent(page)


@pytest.mark.slow
def test_maps_are_shown_filled_as_outlines_or_not_and_flicker(page: Any, held: Serving) -> None:
    enter(page, held.url)
    page.wait_for_selector("#left .over[src$='/left/fill']")
    press(page, "o", "#left .over[src$='/left/outline']")
    press(page, "1", "#left .over[src$='/left/outline']")
    press(page, "p", "#left .over", state="hidden")
    page.keyboard.press("2")
    press(page, " ", "#left .over", state="visible")
    assert item(page)[0] == page.get_attribute("#work", "data-item")  # flickers over the photo that is shown
    page.wait_for_selector("#left .over", state="hidden")
    page.keyboard.press(" ")
    page.keyboard.press("f")
    assert page.is_visible("#right .over")
    assert page.get_attribute("#flicker", "aria-pressed") == "false"
    asked = held.campaign.find(current(page)).classes
    assert page.eval_on_selector_all(
        "#asked-classes .class", "all => all.map((one) => one.dataset.class)"
    ) == [*asked]
    others = page.eval_on_selector_all("#other-classes .class", "all => all.map((one) => one.dataset.class)")
    assert sorted([*asked, *others]) == sorted(held.campaign.settings.class_list.names)
    marked = page.is_visible("#left .mark")
    page.keyboard.press("h")
    assert page.is_visible("#left .mark") != marked


@pytest.mark.slow
def test_nothing_is_called_outlined_where_nothing_is(page: Any, held: Serving) -> None:
    names, nothing = list[str](), held.campaign.settings.class_list.names[:1]
    marks = dict[str, int]()  # {side: whether its map has an outline}

    def of_one_class(route: Any) -> None:
        found = route.fetch().json()
        for one in found["items"]:
            one["classes"] = [*nothing]
        route.fulfill(json=found)

    def mark(route: Any) -> None:
        side = route.request.url.split("/")[-2]
        size = (48, 36) if marks[side] else (1, 1)
        drawn = overlays.edge(np.ones(size[::-1], bool), (255, 0, 160, 255))
        drawn = dataclasses.replace(drawn, codes=np.ones_like(drawn.codes) * marks[side])
        route.fulfill(body=overlays.png(drawn), content_type="image/png")

    page.route("**/api/items?*", of_one_class)
    page.route("**/mark", mark)
    for left, right in ((1, 1), (0, 1), (0, 0)):
        marks.update(left=left, right=right)
        if page.url == "about:blank":
            enter(page, held.url)
        else:
            page.reload()
        page.wait_for_selector("#work:not([hidden])")
        page.wait_for_function(
            "[...document.querySelectorAll('.mark')].every((one) => one.complete && one.naturalWidth)"
        )
        names.append(page.inner_text("#outlined"))
        assert page.is_visible("#highlighted .marked") == names[-1].startswith("Outlined")
    assert names == ["Outlined where a map shows it:", "Outlined in the right map only:", "Asked about:"]
    marks.update(left=1, right=1)
    page.reload()
    page.wait_for_selector("#outlined:has-text('Outlined where')")
    for off, on in (("h", "h"), ("p", "f")):
        page.keyboard.press(off)
        assert page.inner_text("#outlined") == "Asked about:"
        assert page.locator(".mark:visible").count() == 0
        page.keyboard.press(on)
        assert page.inner_text("#outlined") == "Outlined where a map shows it:"
        assert page.locator(".mark:visible").count() == 2


@pytest.mark.parametrize(("classes", "size"), [(("b",), (8, 6)), (("c",), (1, 1)), (("a", "b"), (1, 1))])
def test_what_outlines_nothing_is_a_single_pixel(
    duels: Asked, classes: tuple[str, ...], size: tuple[int, int]
) -> None:
    from faultscape.verbs.serve.pictures import overlay

    image = dataclasses.replace(read_corpus(duels.root)[0], width=8, height=6)
    known = Classes(("a", "b", "c"), (0, 1, 2), ((1, 1, 1), (2, 2, 2), (3, 3, 3)))
    label_map = np.zeros((6, 8), np.uint8)
    label_map[2:4, 2:4] = 1
    data, _ = overlay(label_map, known, image, "mark", classes)
    assert Image.open(io.BytesIO(data)).size == size


@pytest.mark.slow
def test_stacked_maps_are_called_upper_and_lower_and_what_is_stored_stays_the_same(
    page: Any, duels: Asked, serve: Callable[..., Serving], tmp_path: Path
) -> None:
    image, other = duels.corpus.ids[:2]
    training = tmp_path / "training.csv"
    lines = [f"{image},model-0,model-3,model-0", f"{other},model-0,model-3,model-0"]
    training.write_text("\n".join(["image,model,other,expected", *lines]) + "\n")
    held, called = serve(duels, campaign=rules(training=str(training))), {}
    enter(page, held.url)

    def words() -> str:
        text = page.inner_text("main")
        for key in ("?", "Escape"):
            page.keyboard.press(key)
            text += page.inner_text("#help") if key == "?" else ""
        return text

    for name, width, height in (("desk", 1280, 900), ("phone", 390, 844), ("turned", 844, 390)):
        page.set_viewport_size({"width": width, "height": height})
        upper, lower = (page.locator(f"#{side}").bounding_box() for side in ("left", "right"))
        stacked = upper["x"] == lower["x"]
        buttons = [page.get_by_role("button", name=f"{word} is better").count() for word in SIDES]
        assert buttons == ([0, 0, 1, 1] if stacked else [1, 1, 0, 0])
        said = words().lower()
        assert [f"{word} is better".lower() in said for word in SIDES] == [bool(one) for one in buttons]
        called[name] = stacked
    assert called == {"desk": False, "phone": True, "turned": False}
    page.set_viewport_size({"width": 390, "height": 844})
    first, _ = item(page)
    right = side_of(held, first, "model-0")
    wrong = {"left": "right", "right": "left"}[right]
    page.click(f"#{wrong} .caption")
    stacked = {"left": "upper", "right": "lower"}
    page.wait_for_selector("#understood:not([hidden])")
    assert page.inner_text("#feedback") == f"Expected: {stacked[right]}. You answered {stacked[wrong]}."
    page.set_viewport_size({"width": 1280, "height": 900})
    assert page.inner_text("#feedback") == f"Expected: {right}. You answered {wrong}."
    page.set_viewport_size({"width": 390, "height": 844})
    press(page, "Enter", f"#work:not([data-item='{first}'])")
    second, _ = item(page)
    right = side_of(held, second, "model-0")
    click(page, f"#{right} .caption", "#feedback:has-text('Yes, ')")
    assert page.inner_text("#feedback") == f"Yes, {stacked[right]} is the expected answer."
    all_sent(page)
    chosen = [one.chosen for one in Choices(held.root).choices(TRAINING)]
    assert chosen == ["second", "first"]  # model-3, then model-0


@pytest.mark.slow
def test_the_image_alone_is_seen_while_a_key_a_finger_or_the_mouse_is_down(
    browser: Any, held: Serving
) -> None:
    context = browser.new_context(**PHONE)
    page = context.new_page()
    enter(page, held.url)
    hidden = "[...document.querySelectorAll('.over, .mark')].map((one) => getComputedStyle(one).visibility)"
    page.wait_for_function(f"{hidden}.every((one) => one === 'visible')")
    touch = context.new_cdp_session(page)
    box = page.locator("#peek").bounding_box()
    at = {"x": box["x"] + box["width"] / 2, "y": box["y"] + box["height"] / 2}

    def finger(what: str) -> None:
        points = [at] if what == "touchStart" else []
        touch.send("Input.dispatchTouchEvent", {"type": what, "touchPoints": points})

    ways = {
        "a key": (lambda: page.keyboard.down("i"), lambda: page.keyboard.up("i")),
        "the button's key": (lambda: page.keyboard.down("Enter"), lambda: page.keyboard.up("Enter")),
        "the button's space": (lambda: page.keyboard.down(" "), lambda: page.keyboard.up(" ")),
        "the mouse": (page.mouse.down, page.mouse.up),
        "a finger": (lambda: finger("touchStart"), lambda: finger("touchEnd")),
    }
    page.mouse.move(at["x"], at["y"])
    before = current(page)
    for name, (down, up) in ways.items():
        if name.startswith("the button"):
            page.focus("#peek")
        down()
        page.wait_for_selector("#peek[aria-pressed=true]")
        assert set(page.evaluate(hidden)) == {"hidden"}, name
        assert page.is_visible("#left .photo")
        assert page.is_hidden("#outlined")
        up()
        page.wait_for_selector("#peek[aria-pressed=false]")
        assert set(page.evaluate(hidden)) == {"visible"}, name
    assert page.get_attribute("#flicker", "aria-pressed") == "false"
    assert current(page) == before
    page.keyboard.down("i")
    page.evaluate("window.dispatchEvent(new Event('blur'))")  # the key comes up elsewhere
    assert set(page.evaluate(hidden)) == {"visible"}
    page.keyboard.up("i")
    page.keyboard.down("i")
    page.wait_for_selector("#peek[aria-pressed=true]")
    answer(page, "1")
    assert page.get_attribute("#peek", "aria-pressed") == "false"  # the next item comes with its maps
    context.close()


@pytest.mark.slow
def test_a_space_after_a_click_flickers_and_answers_nothing(page: Any, held: Serving) -> None:
    enter(page, held.url)
    page.click("#left .caption")
    press(page, " ", "#flicker[aria-pressed=true]")
    all_sent(page)
    assert len(rows(held)) == 1


@pytest.mark.slow
def test_both_sides_zoom_and_move_together_and_a_drag_is_no_answer(page: Any, held: Serving) -> None:
    enter(page, held.url)

    def transforms() -> list[str]:
        return page.eval_on_selector_all(".stage", "all => all.map((one) => one.style.transform)")

    box = page.locator("#left .frame").bounding_box()
    x, y = box["x"] + box["width"] / 3, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.wheel(0, -100)
    page.wait_for_selector("#whole:not([hidden])")
    zoomed = transforms()
    assert zoomed[0] == zoomed[1]
    assert "scale(1.25)" in zoomed[0]
    page.mouse.down()
    page.mouse.move(x + 40, y + 10, steps=4)
    page.mouse.up()
    moved = transforms()
    assert moved[0] == moved[1] != zoomed[0]
    press(page, "0", "#whole", state="hidden")
    assert rows(held) == []


@pytest.mark.slow
def test_forced_choice_knows_left_and_right_alone(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, forced=True)
    enter(page, held.url)
    assert page.eval_on_selector_all("[data-say]", "all => all.map((one) => one.dataset.say)") == [
        "left",
        "right",
    ]
    before = page.get_attribute("#work", "data-item")
    for key in "345s":
        page.keyboard.press(key)
    assert page.get_attribute("#work", "data-item") == before
    page.keyboard.press("2")
    all_sent(page)
    assert [said in ("first", "second") for *_, said in rows(held)] == [True]


@pytest.mark.slow
def test_questions_are_answered_yes_no_and_not_sure(
    page: Any, classified: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(classified)
    enter(page, held.url)
    said = []
    for key, word in (("y", "yes"), ("n", "no"), ("5", "unsure"), ("[data-say=yes]", "yes")):
        one = held.campaign.find(page.get_attribute("#work", "data-item"))
        article = "an" if one.class_[0] in "aeiou" else "a"
        assert page.inner_text("#asked") == f"Does this image contain {article} {one.class_}?"
        (page.click if key.startswith("[") else page.keyboard.press)(key)
        said.append((one.image, one.class_, word))
        page.wait_for_selector(f"#work:not([data-item='{one.id}'])")
    all_sent(page)
    assert [(image, class_, word) for image, class_, _, word in Answers(held.root).answers()] == said
    press(page, "u", f"#work[data-item='{one.id}']")
    all_sent(page)
    assert [(image, class_, word) for image, class_, _, word in Answers(held.root).answers()] == said[:-1]


@pytest.mark.slow
def test_the_last_answer_ends_the_page_and_can_still_be_taken_back(
    page: Any, classified: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(classified, campaign=rules(overlap=1))
    others_take_all_but(held, 2)
    enter(page, held.url)
    answer(page, "n")
    press(page, "n", "#finished:not([hidden])")
    all_sent(page)
    assert len(Answers(held.root).answers()) == 2
    click(page, "#undo-last", "#work:not([hidden])")
    press(page, "y", "#finished:not([hidden])")
    all_sent(page)
    assert Answers(held.root).answers()[-1][3] == "yes"


@pytest.mark.slow
def test_who_is_done_goes_on_with_what_others_leave(
    page: Any, classified: Asked, serve: Callable[..., Serving]
) -> None:
    held, asked = serve(classified, campaign=rules(overlap=1)), list[str]()
    others_take_all_but(held, 1)
    page.clock.install()
    enter(page, held.url)
    press(page, "n", "#finished:not([hidden])")
    number = len(held.campaign._asked.items) - 1
    assert (
        page.inner_text("#held")
        == f"{number} items are with other people; those left unanswered come back after 30 minutes."
    )
    page.on("request", lambda request: asked.append(request.url))
    page.evaluate("Object.defineProperty(document, 'hidden', { value: true, configurable: true })")
    page.clock.fast_forward(31_000)
    page.evaluate(
        """() => {
            const real = window.setTimeout;
            window.setTimeout = (what, after) => { window.armed ||= after > 20_000; return real(what, after); };
        }"""
    )
    with page.expect_response("**/api/items?*"):
        page.evaluate("delete document.hidden; document.dispatchEvent(new Event('visibilitychange'))")
    assert len(asked) == 1  # who looked elsewhere took nothing from others
    page.wait_for_function("document.activeElement.textContent === 'All done'")
    (ben,) = [one.pseudonym for one in Annotators(held.root).everybody() if one.name == "ben"]
    held.campaign.take_back_all(ben)
    page.wait_for_function("window.armed")  # only then does the page count the half minute
    page.clock.fast_forward(31_000)
    page.wait_for_selector("#work:not([hidden])")
    assert page.is_hidden("#finished")
    here = current(page)
    page.clock.fast_forward(31_000)
    assert current(page) == here
    press(page, "u", f"#work:not([data-item='{here}'])")
    answer(page, "y")
    assert current(page) == here
    all_sent(page)
    assert [word for *_, word in Answers(held.root).answers()] == ["yes"]


@pytest.mark.slow
def test_people_elsewhere_answer_too_over_plain_http(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, names=(ELSEWHERE,))
    enter(page, held.url.replace("127.0.0.1", ELSEWHERE))
    assert page.evaluate("[isSecureContext, typeof crypto.randomUUID]") == [False, "undefined"]
    press(page, "1", "#where:has-text('Item 2')")
    all_sent(page)
    assert len(rows(held)) == 1


@pytest.mark.slow
@pytest.mark.parametrize("task", ["duels", "classified"])
def test_a_phone_shows_the_item_without_scrolling_across_and_answers_by_touch(
    browser: Any, request: pytest.FixtureRequest, serve: Callable[..., Serving], task: str
) -> None:
    held, context = serve(request.getfixturevalue(task)), browser.new_context(**PHONE)
    page = context.new_page()
    enter(page, held.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = page.get_attribute("#work", "data-item")
    page.tap("#left .caption" if task == "duels" else "[data-say=yes]")
    page.wait_for_selector(f"#work:not([data-item='{before}'])")
    all_sent(page)
    context.close()
