"""People say what single pixels show: in a browser, by keys, clicks and touch, blind to which model predicts what;
and what was answered gives the standings that the same answers in a table give.
"""

from __future__ import annotations

import io
import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import faultscape as fs
import made
from answering import (
    ENLARGED,
    Asked,
    Serving,
    all_sent,
    at_once,
    current,
    enter,
    rules,
    served,
    wait_for_item,
)
from faultscape.errors import OptionError
from faultscape.nouns import Point
from faultscape.reading.points.truths import point_truth
from faultscape.reading.study import Study
from faultscape.reporting.point_crops import crop_around
from faultscape.study.answers.annotators import Annotators
from faultscape.study.answers.database import Database
from faultscape.study.answers.points import PointAnswer, PointAnswers
from faultscape.study.answers.secret import secret_of
from faultscape.verbs.serve.asked_items import point_id
from faultscape.verbs.serve.people_facts import people_rows

PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
Pixel = tuple[str, int, int]


def drawn(root: Path) -> tuple[Point, ...]:
    return Study(root).selection("points").slots.points


def pixels(root: Path) -> list[Pixel]:
    """Each pixel that was drawn, once, in the order of the draws."""
    return list(dict.fromkeys((one.image, one.row, one.column) for one in drawn(root)))


def shows(study: Asked, pixel: Pixel) -> str:
    """What the truth shows at a pixel."""
    image, row, column = pixel
    k = study.corpus.ids.index(image)
    return made.NAMES[study.corpus.truths[k][row // ENLARGED, column // ENLARGED]]


def predicted(study: Asked, pixel: Pixel) -> set[str]:
    image, row, column = pixel
    k = study.corpus.ids.index(image)
    maps = study.corpus.maps.values()
    return {made.NAMES[one[k][row // ENLARGED, column // ENLARGED]] for one in maps}


def asked_pixels(root: Path) -> dict[str, Pixel]:
    """{id on pages: pixel}."""
    with closing(Database(root)) as database:
        secret = secret_of(database)
    return {secret.id_of(point_id(*pixel)): pixel for pixel in pixels(root)}


def said(root: Path) -> list[tuple[Pixel, str]]:
    return [((one.image, one.row, one.column), one.answer) for one in PointAnswers(root).rows()]


def without_times(root: Path) -> dict[str, Any]:
    """What `rank` wrote, but for when and by which line."""
    held = json.loads((root / "standings-points.json").read_text())
    return {name: part for name, part in held.items() if name != "provenance"}


def by_letter(page: Any, name: str) -> None:
    page.keyboard.press(page.get_attribute(f"[data-say='{name}']", "data-letter"))


def by_number(page: Any, name: str) -> None:
    """By the number of a class that models predict; by its letter otherwise."""
    key = page.inner_text(f"[data-say='{name}'] kbd")
    page.keyboard.press(key)


def by_search(page: Any, name: str) -> None:
    page.keyboard.press("/")
    page.keyboard.type(name.upper())
    page.keyboard.press("Enter")


WAYS = (by_letter, by_number, by_search, lambda page, name: page.click(f"[data-say='{name}']"))


@contextmanager
def program(root: Path, port: int = 0) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """`faultscape label serve` in a process of its own, and the address that it prints."""
    line = [sys.executable, "-m", "faultscape", "label", "serve", str(root), "--port", str(port)]
    with subprocess.Popen([*line, "--repeats", "0"], stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process, re.search(r"http://\S+", process.stdout.readline())[0]
        finally:
            process.kill()


@pytest.mark.slow
def test_answers_through_a_killed_server_give_the_standings_of_the_same_answers_in_python(
    browser: Any, pointed: Asked, tmp_path: Path
) -> None:
    root, plain = tmp_path / pointed.root.name, tmp_path / "plain"
    for copy in (root, plain):
        shutil.copytree(pointed.root, copy)
    with closing(Database(root)) as database:
        secret_of(database)  # the servers below find it there
    items = asked_pixels(root)
    page, given = browser.new_page(), list[tuple[Pixel, str]]()
    at_once(page)

    def answer_some(number: int) -> None:
        for _ in range(number):
            page.wait_for_selector("#pause:not([hidden]), #work:not([hidden])")
            if page.is_visible("#pause"):
                page.keyboard.press("Enter")
            pixel = items[current(page)]
            before = page.get_attribute("#work", "data-item")
            name = shows(pointed, pixel)
            WAYS[len(given) % len(WAYS)](page, name)
            given.append((pixel, name))
            page.wait_for_selector(
                f"#pause:not([hidden]), #finished:not([hidden]), #work:not([data-item='{before}'])"
            )

    with program(root) as (process, url):
        enter(page, url)
        answer_some(12)
        process.send_signal(signal.SIGKILL)
        process.wait()
    answer_some(3)
    page.wait_for_selector("#unsent:has-text('not sent yet')")
    with program(root, int(url.rstrip("/").rpartition(":")[2])) as (process, again):
        assert again == url
        answer_some(len(items) - len(given))
        page.wait_for_selector("#finished:not([hidden])")
        all_sent(page)
        process.send_signal(signal.SIGINT)
        process.wait(20)
    page.close()
    assert said(root) == given  # none lost, none doubled, in their order
    assert {pixel for pixel, _ in given} == set(pixels(root))
    (ann,) = Annotators(root).everybody()
    answers = [PointAnswer(*pixel, name, ann.pseudonym) for pixel, name in given]
    PointAnswers(plain).add_all(answers, "test")
    for study in (root, plain):
        fs.rank(str(study), resamples=20)
    assert without_times(root) == without_times(plain)


@pytest.mark.slow
def test_classes_that_models_predict_come_first_in_an_order_of_chance_and_no_model_is_named(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    items = asked_pixels(held.root)
    enter(page, held.url)
    first = page.locator("#likely [data-say]").evaluate_all("all => all.map((one) => one.dataset.say)")
    assert set(first) == predicted(pointed, items[current(page)])
    rest = page.locator("#classes [data-say]").evaluate_all("all => all.map((one) => one.dataset.say)")
    assert rest == [name for name in made.NAMES if name not in first]
    told = page.content()
    given = list[dict[str, Any]]()
    while len(given) < 30:  # as many as a person may hold
        have = ",".join(f"{one['id']}:0" for one in given)
        answer = page.request.get(f"{held.url}api/items?number=10&have={have}")
        told += answer.text()
        given += answer.json()["items"]
    assert not any(model in told for model in pointed.corpus.models)
    assert all(set(one["predicted"]) == predicted(pointed, items[one["id"]]) for one in given)
    several = [one["predicted"] for one in given if len(one["predicted"]) > 1]
    sorted_ = sum(one == sorted(one, key=made.NAMES.index) for one in several)
    assert 0 < sorted_ < len(several)


@pytest.mark.slow
def test_void_cannot_tell_and_borders_are_answers_and_are_taken_back(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    one, other = made.NAMES[:2]
    enter(page, held.url)
    first = current(page)

    def answers(number: int) -> list[str]:
        all_sent(page)
        found = [answer for _, answer in said(held.root)]
        assert len(found) == number
        return found

    def then(act: Callable[[], object]) -> None:
        before = current(page)
        act()
        page.wait_for_selector(f"#work:not([hidden]):not([data-item='{before}'])")

    then(lambda: page.keyboard.press("v"))
    second = current(page)
    then(lambda: page.keyboard.press("n"))
    assert answers(2) == ["void", "cannot tell"]
    page.keyboard.press("u")
    wait_for_item(page, second)
    assert answers(3)[-1] == ""
    page.keyboard.press("b")
    by_letter(page, one)
    assert page.get_attribute(f"[data-say='{one}']", "aria-pressed") == "true"
    by_letter(page, one)  # not this one
    assert page.get_attribute(f"[data-say='{one}']", "aria-pressed") is None
    by_letter(page, other)
    then(lambda: by_letter(page, one))
    assert answers(4)[-1] == f"{other}|{one}"
    assert page.get_attribute("#border", "aria-pressed") == "false"
    page.click("#border")
    assert page.inner_text("#border span") == "A border: of which two classes?"
    then(lambda: page.click("[data-say='void']"))  # no border after all
    assert page.inner_text("#border span") == "On a border between …"
    assert answers(5)[-1] == "void"
    counted = PointAnswers(held.root).answers()
    items = asked_pixels(held.root)
    assert [((a.image, a.row, a.column), a.answer) for a in counted][:2] == [
        (items[first], "void"),
        (items[second], f"{other}|{one}"),
    ]


@pytest.mark.slow
def test_more_of_the_image_is_shown_while_a_key_is_held_and_the_answer_says_so(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    enter(page, held.url)
    assert page.is_hidden("#wide")
    page.keyboard.down("i")
    assert page.is_visible("#wide")
    assert page.get_attribute("#peek", "aria-pressed") == "true"
    page.keyboard.up("i")
    assert page.is_hidden("#wide")
    page.keyboard.press("v")
    all_sent(page)
    (kept,) = PointAnswers(held.root).answers()
    assert json.loads(kept.shown)["peeked"] is True


@pytest.mark.slow
def test_the_crop_has_the_pixels_of_the_image_and_the_next_ones_are_there_before_they_are_asked(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    items = asked_pixels(held.root)
    enter(page, held.url)
    image, row, column = items[current(page)]
    crop = page.request.get(held.url.rstrip("/") + page.get_attribute(".stage .photo", "src"))
    photo = np.asarray(Image.open(pointed.corpus.photos / f"{image}.png").convert("RGB"))
    assert (np.asarray(Image.open(io.BytesIO(crop.body()))) == crop_around(photo, row, column)).all()
    page.set_viewport_size({"width": 700, "height": 900})
    box = page.locator(".stage .photo").bounding_box()
    assert (box["width"], box["height"]) == (photo.shape[1], photo.shape[0])
    assert page.evaluate("document.querySelector('#place').naturalWidth") > 0
    page.wait_for_function(
        "performance.getEntriesByType('resource').filter((one) => one.name.endsWith('/crop')).length >= 5"
    )
    before = current(page)
    page.context.set_offline(offline=True)
    page.keyboard.press("v")
    page.wait_for_selector(f"#work:not([hidden]):not([data-item='{before}'])")
    assert page.evaluate("document.querySelector('.stage .photo').naturalWidth") > 0


@pytest.mark.slow
def test_a_double_click_answers_one_point_and_a_quick_answer_is_marked(
    page: Any, pointed: Asked, serve: Callable[..., Serving], settling: int
) -> None:
    page.clock.install(time=0)
    held = serve(pointed, selection="points")
    enter(page, held.url)
    page.clock.pause_at(60)
    page.clock.run_for(3000)
    first = current(page)
    page.dblclick("[data-say='void']")
    all_sent(page)
    assert len(said(held.root)) == 1
    assert current(page) != first
    page.clock.run_for(settling - 1)
    page.keyboard.press("v")
    assert page.inner_text("#ignored") == "Too quick, ignored"
    page.clock.run_for(settling)
    page.keyboard.press("v")
    all_sent(page)
    slow, _ = PointAnswers(held.root).answers()
    assert slow.seconds >= 3
    who = slow.annotator
    taken = held.campaign.items_for(who, (), 1)[0]
    row = {"key": "another page", "id": taken.item.id, "repeat": 0, "chosen": "void", "seconds": 0.2}
    assert held.campaign.take(who, row) == ""
    assert held.campaign.take(who, row) == ""  # sent again
    *_, quick = PointAnswers(held.root).answers()
    assert len(said(held.root)) == 3
    assert "too_quick" in quick.shown


@pytest.mark.slow
def test_two_tabs_of_one_person_answer_each_point_once(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    enter(page, held.url)
    other = page.context.new_page()
    other.goto(f"{held.url}work")
    other.wait_for_selector("#work:not([hidden])[data-item]")
    same = current(page)
    assert current(other) == same
    page.keyboard.press("v")
    all_sent(page)
    other.keyboard.press("n")
    all_sent(other)
    pixel = asked_pixels(held.root)[same]
    assert said(held.root) == [(pixel, "void"), (pixel, "cannot tell")]
    (counts,) = PointAnswers(held.root).answers()
    assert counts.answer == "cannot tell"  # the later one


@pytest.mark.slow
def test_a_phone_answers_by_touch(browser: Any, pointed: Asked, serve: Callable[..., Serving]) -> None:
    held = serve(pointed, selection="points")
    context = browser.new_context(**PHONE)
    page = context.new_page()
    enter(page, held.url)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    before = current(page)
    page.locator("#likely [data-say]").first.tap()
    page.wait_for_selector(f"#work:not([hidden]):not([data-item='{before}'])")
    all_sent(page)
    ((pixel, answer),) = said(held.root)
    assert answer in predicted(pointed, pixel)
    box = page.locator("#likely [data-say]").first.bounding_box()
    assert box["y"] + box["height"] <= 844  # a thumb need not scroll
    assert box["height"] >= 44
    context.close()


@pytest.mark.slow
@pytest.mark.parametrize("size", [(1400, 900), (1920, 1080), (1366, 700), (1024, 1366)])
def test_on_a_wide_screen_the_crop_takes_the_room_there_is_and_nobody_need_scroll(
    browser: Any, pointed: Asked, serve: Callable[..., Serving], size: tuple[int, int]
) -> None:
    width, height = size
    held = serve(pointed, selection="points")
    context = browser.new_context(viewport={"width": width, "height": height})
    page = context.new_page()
    enter(page, held.url)
    assert page.evaluate("document.documentElement.scrollHeight") <= height
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    crop = page.locator(".stage .photo").bounding_box()
    assert crop["width"] / crop["height"] == pytest.approx(4 / 3, rel=0.02)
    beside = page.locator("#place").bounding_box()
    assert crop["x"] + crop["width"] < beside["x"]
    room = min(0.57 * min(width, 1600), (height - 190) * 4 / 3)
    assert crop["width"] > 0.95 * room
    for button in page.locator("#panels button:visible").all():
        box = button.bounding_box()
        assert box["x"] >= crop["x"] + crop["width"]
        assert box["y"] + box["height"] <= height
    context.close()


@pytest.mark.slow
def test_the_number_of_items_says_that_repeats_are_in_it(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points", campaign=rules(repeats=0.5))
    enter(page, held.url)
    number = int(re.fullmatch(r"Item 1 of (\d+), repeats included", page.inner_text("#counted"))[1])
    assert number > len(pixels(held.root))
    page.click("#ask")
    assert "The number of items includes repeats" in page.inner_text("#help")


@pytest.mark.slow
def test_without_repeats_items_are_the_points(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points", campaign=rules(repeats=0.0))
    enter(page, held.url)
    assert page.inner_text("#counted") == f"Item 1 of {len(pixels(held.root))}"
    page.click("#ask")
    assert "repeats" not in page.inner_text("#help")


@pytest.mark.slow
def test_the_menu_offers_no_pages_of_masks(page: Any, pointed: Asked, serve: Callable[..., Serving]) -> None:
    held = serve(pointed, selection="points")
    enter(page, held.url)
    assert page.locator("nav a").all_inner_texts() == ["Answer", "Tag failures", "Results", "People"]


@pytest.mark.slow
def test_the_results_are_those_of_rank_and_leave_people_out(
    page: Any, pointed: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(pointed, selection="points")
    enter(page, held.url)
    page.goto(f"{held.url}results")
    assert "0 answers that count" in page.inner_text("main")
    (ann,) = Annotators(held.root).everybody()
    answers = PointAnswers(held.root)
    answers.add_all([PointAnswer(*one, shows(pointed, one), ann.pseudonym) for one in pixels(held.root)], "a")
    page.goto(f"{held.url}people")
    assert f"{len(pixels(held.root))}" in page.inner_text("table.people tbody")
    page.goto(f"{held.url}results?without={ann.pseudonym}")
    assert "0 answers that count" in page.inner_text("main")
    page.goto(f"{held.url}results?weighted=1")
    assert "weighted by each person's estimated accuracy" in page.inner_text("main")
    fs.rank(str(held.root))
    standings = json.loads((held.root / "standings-points.json").read_text())["rankings"]["points"]
    with served(held.root, selection="points", campaign=rules(repeats=0)) as again:
        page.goto(again.url)
        enter_again(page, again.url)
        page.goto(f"{again.url}results")
        shown = page.inner_text("main")
    for model, score in standings["scores"].items():
        assert re.search(rf"{model}\s+{score:.3f}", shown)


def enter_again(page: Any, url: str) -> None:
    """Come in by a known name, with nothing left to answer."""
    page.goto(url)
    if page.is_visible("input"):
        page.fill("input", "ann")
        page.keyboard.press("Enter")
    page.wait_for_selector("#finished:not([hidden])")


@pytest.fixture
def open_(pointed: Asked, tmp_path: Path) -> Iterator[Callable[..., Any]]:
    """Open a campaign on a copy of the study, without a browser."""
    from faultscape.verbs.options import LabelServeOptions
    from faultscape.verbs.serve.campaign import Campaign

    root = tmp_path / "study"
    shutil.copytree(pointed.root, root)
    with closing(Database(root, stay_open=True)) as database:

        def opened(**options: Any) -> Any:
            return Campaign(
                Study(root, database=database),
                LabelServeOptions(study=str(root), selection="points", **options),
            )

        yield opened


def answer_all(
    campaign: Any, who: str, says: Callable[[Pixel], str] = lambda _: "void"
) -> list[tuple[Pixel, int]]:
    out = []
    while given := campaign.items_for(who, (), 4):
        for one in given:
            pixel = (one.item.image, one.item.row, one.item.column)
            about = {"id": one.item.id, "repeat": one.repeat, "chosen": says(pixel)}
            assert campaign.take(who, {"key": f"{who}-{len(out):06d}", **about}) == ""
            out.append((pixel, one.repeat))
    return out


def test_points_are_asked_in_the_order_of_the_draws_those_of_an_image_in_a_row_within_a_session(
    open_: Callable[..., Any],
) -> None:
    campaign = open_(campaign=rules(session=10, repeats=0.0))
    given = [pixel for pixel, _ in answer_all(campaign, "ann")]
    wanted = pixels(campaign.root)
    for start in range(0, len(wanted), 10):
        block = given[start : start + 10]
        assert sorted(block) == sorted(wanted[start : start + 10])
        images = [image for image, *_ in block]
        changes = sum(one != other for one, other in itertools.pairwise(images))
        assert changes == len(set(images)) - 1
    assert answer_all(campaign, "ben") == []  # one person answers each point, unless asked otherwise


def test_some_points_are_asked_again_and_the_second_answer_measures_the_person_alone(
    open_: Callable[..., Any],
) -> None:
    campaign = open_(campaign=rules(repeats=0.3))
    given = answer_all(campaign, "ann")
    again = [pixel for pixel, repeat in given if repeat]
    assert 0 < len(again) < len(pixels(campaign.root)) / 2
    known = point_truth(Study(campaign.root), drawn(campaign.root), "labels")
    assert known.known.all()
    answers = PointAnswers(campaign.root).answers()
    assert sum(one.repeat for one in answers) == len(again)
    (row,) = people_rows(campaign, Annotators(campaign.root).everybody())
    assert row.consistency == f"{len(again)} of {len(again)}"


def test_an_image_that_gets_a_mask_or_is_discarded_is_asked_about_no_more(
    open_: Callable[..., Any], pointed: Asked, tmp_path: Path
) -> None:
    campaign = open_(campaign=rules(repeats=0.0))
    masked, thrown, *_ = dict.fromkeys(image for image, *_ in pixels(campaign.root))
    mask(campaign.root, pointed, [masked], tmp_path)
    campaign.study().answers.discard([(thrown, "blurred")], "test")
    campaign.read_again()
    images = {image for (image, *_), _ in answer_all(campaign, "ann")}
    assert images == {image for image, *_ in pixels(campaign.root)} - {masked, thrown}


def mask(root: Path, pointed: Asked, images: Sequence[str], folder: Path) -> None:
    """Import the true masks of some images."""
    for image in images:
        truth = pointed.corpus.truths[pointed.corpus.ids.index(image)]
        made.write(folder / "masks" / f"{image}.png", truth.repeat(ENLARGED, 0).repeat(ENLARGED, 1))
    fs.label.import_(str(root), str(folder / "masks"))


def test_points_in_images_with_masks_measure_each_person_and_change_no_estimate(
    open_: Callable[..., Any], pointed: Asked, tmp_path: Path
) -> None:
    campaign = open_(campaign=rules(repeats=0.25))
    masked = list(dict.fromkeys(image for image, *_ in pixels(campaign.root)))[:3]
    mask(campaign.root, pointed, masked, tmp_path)
    campaign.read_again()
    given = answer_all(campaign, "ann", lambda pixel: shows(pointed, pixel))
    planted = [pixel for pixel, _ in given if pixel[0] in masked]
    others = len(given) - len(planted)
    assert len(set(planted)) == len(planted)
    assert all(len(predicted(pointed, pixel)) > 1 for pixel in planted)  # as most that are drawn
    assert abs(len(planted) - 0.25 * others) <= 1
    known = [PointAnswer(*pixel, "void", "ben") for pixel in planted]
    PointAnswers(campaign.root).add_all(known, "test")
    rows = {row.pseudonym: row for row in people_rows(campaign, ())}
    assert rows["ann"].training.startswith(f"{len(planted)} of {len(planted)} (")
    assert rows["ben"].training.startswith(f"0 of {len(planted)} (0 to ")
    before = fs.rank(str(campaign.root), resamples=20).rankings["points"].scores
    for who in ("ann", "ben"):
        wrong = [one for one in PointAnswers(campaign.root).answers() if one.annotator == who]
        PointAnswers(campaign.root).take_back([one for one in wrong if one.image in masked], "test")
    assert fs.rank(str(campaign.root), resamples=20).rankings["points"].scores == before


@pytest.mark.slow
def test_of_two_people_who_differ_about_a_point_each_has_half_of_it(
    open_: Callable[..., Any], pointed: Asked
) -> None:
    campaign = open_(campaign=rules(overlap=2, repeats=0.0))
    for who in ("ann", "ben"):
        answer_all(campaign, who, lambda pixel: shows(pointed, pixel))
    assert answer_all(campaign, "eve") == []
    agreed = fs.rank(str(campaign.root), resamples=20).rankings["points"].scores
    point = drawn(campaign.root)[0]
    pixel = (point.image, point.row, point.column)
    right = shows(pointed, pixel)
    wrong = next(name for name in made.NAMES if name != right)
    PointAnswers(campaign.root).add(PointAnswer(*pixel, wrong, "ben"), "test")
    known = point_truth(Study(campaign.root), (point,), "labels").shares[0]
    assert {made.NAMES[k]: known[k] for k in np.flatnonzero(known)} == {right: 0.5, wrong: 0.5}
    halved = fs.rank(str(campaign.root), resamples=20).rankings["points"].scores
    PointAnswers(campaign.root).add(PointAnswer(*pixel, f"{right}|{wrong}", "ben"), "test")
    PointAnswers(campaign.root).add(PointAnswer(*pixel, f"{wrong}|{right}", "ann"), "test")
    assert halved != agreed
    assert fs.rank(str(campaign.root), resamples=20).rankings["points"].scores == halved  # as on a border


def test_a_person_who_clicks_at_random_is_marked_and_one_who_looks_is_not(
    open_: Callable[..., Any], pointed: Asked, tmp_path: Path
) -> None:
    campaign = open_()
    rng = np.random.default_rng(1)
    study = str(campaign.root)
    fs.select(study, as_="points", sampling=fs.options.Sampling(points=150), replace=True, engine="local")
    mask(campaign.root, pointed, sorted({image for image, *_ in pixels(campaign.root)}), tmp_path)
    campaign.read_again()
    said_: list[PointAnswer] = []
    for pixel in pixels(campaign.root):
        for again in range(2):
            guess = str(rng.choice(sorted(predicted(pointed, pixel))))
            said_ += [
                PointAnswer(*pixel, shows(pointed, pixel), "ann", repeat=again),
                PointAnswer(*pixel, guess, "ben", repeat=again),
            ]
    PointAnswers(campaign.root).add_all(said_, "test")
    rows = {row.pseudonym: row for row in people_rows(campaign, ())}
    assert rows["ann"].marks == ()
    (mark_,) = rows["ben"].marks
    assert mark_.startswith("answers like chance: differs from masks, other people or most models on ")


def test_answers_of_a_table_count_as_answered_and_a_restart_continues(open_: Callable[..., Any]) -> None:
    first = open_(campaign=rules(overlap=1, repeats=0.0))
    every = pixels(first.root)
    PointAnswers(first.root).add_all([PointAnswer(*one, "void", "table") for one in every[:7]], "test")
    again = open_(campaign=rules(overlap=1, repeats=0.0))
    assert sorted(pixel for pixel, _ in answer_all(again, "ann")) == sorted(every[7:])
    assert answer_all(open_(campaign=rules(overlap=1, repeats=0.0)), "ben") == []


@pytest.mark.parametrize("wrong", ["rode", "", "road|road", "left", "void|void", 3, None])
def test_what_is_no_answer_to_a_point_is_refused(open_: Callable[..., Any], wrong: object) -> None:
    campaign = open_()
    (one,) = campaign.items_for("ann", (), 1)
    why = campaign.take("ann", {"key": "some key", "id": one.item.id, "repeat": 0, "chosen": wrong})
    assert "is not known; use void, cannot tell, the name of a class, two of them joined by |" in why
    assert said(campaign.root) == []


def test_training_is_not_offered_for_points(open_: Callable[..., Any]) -> None:
    with pytest.raises(
        OptionError, match=r"--training takes choices .* selection 'points' asks about points"
    ):
        open_(campaign=rules(training="known.csv"))


def test_a_choice_of_two_sides_is_not_offered_for_points(open_: Callable[..., Any]) -> None:
    with pytest.raises(
        OptionError, match=r"--forced leaves only left and right .* 'points' asks about points"
    ):
        open_(forced=True)
