"""What a person said and the server has not confirmed: it waits in the browser, is sent until it arrives, and
can be taken back without a trace.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from answering import (
    Asked,
    Serving,
    all_sent,
    answer,
    current,
    enter,
    go_on,
    loaded,
    rows,
    rules,
    wait_for_item,
    watch,
)
from faultscape.errors import StudyError
from faultscape.study.answers.choices import Choices


@pytest.mark.slow
def test_an_answer_that_was_not_sent_yet_is_taken_back_and_never_arrives(page: Any, held: Serving) -> None:
    sent = list[Any]()

    def hold(route: Any) -> None:
        sent.append(route)

    enter(page, held.url)
    page.route("**/api/answers", hold, times=1)  # while it is on its way, no other begins
    answer(page, "4")
    second = current(page)
    answer(page, "3")
    page.wait_for_selector("#unsent:has-text('2 answers not sent yet')")
    page.keyboard.press("u")
    wait_for_item(page, second)
    answer(page, "5")
    sent[0].continue_()
    all_sent(page)
    assert [said for *_, said in rows(held)] == ["both bad", "not sure"]


@pytest.mark.slow
def test_an_answer_that_arrived_unheard_is_taken_back(page: Any, held: Serving) -> None:
    tries = list[Any]()

    def break_after_the_first(route: Any) -> None:
        tries.append(route.request.post_data_json["answers"])
        if len(tries) == 1:
            assert route.fetch().ok
        route.abort()

    enter(page, held.url)
    first = current(page)
    page.route("**/api/answers", break_after_the_first)
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/answers")):
        answer(page, "3")
    assert [said for *_, said in rows(held)] == ["both good"]
    page.keyboard.press("u")
    wait_for_item(page, first)
    page.unroute("**/api/answers")
    all_sent(page)
    assert [said for *_, said in rows(held)] == ["both good", ""]
    assert Choices(held.root).choices() == []
    assert {key for row in tries[0] for key in row} == {"key", "id", "repeat", "chosen", "seconds", "shown"}


@pytest.mark.slow
def test_an_answer_on_a_connection_that_died_is_sent_on_another(page: Any, held: Serving) -> None:
    dead = list[Any]()
    page.add_init_script(
        "const wait = AbortSignal.timeout; AbortSignal.timeout = (time) => wait.call(AbortSignal, time / 40);"
    )

    def swallow(route: Any) -> None:  # nothing comes back, not even an error
        dead.append(route)

    enter(page, held.url)
    page.route("**/api/answers", swallow, times=1)
    answer(page, "3")
    all_sent(page)
    assert len(dead) == 1
    assert [said for *_, said in rows(held)] == ["both good"]


@pytest.mark.slow
def test_taking_back_what_never_arrived_does_no_harm(page: Any, held: Serving) -> None:
    enter(page, held.url)
    first = current(page)
    page.route("**/api/answers", lambda route: route.abort())
    with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/answers")):
        answer(page, "3")
    page.keyboard.press("u")
    wait_for_item(page, first)
    page.unroute("**/api/answers")
    answer(page, "4")
    all_sent(page)
    assert [one.chosen for one in Choices(held.root).choices()] == ["both bad"]


@pytest.mark.slow
def test_what_a_full_browser_cannot_store_is_sent_once(page: Any, held: Serving) -> None:
    sent = list[list[str]]()
    page.add_init_script(
        "const set = Storage.prototype.setItem; Storage.prototype.setItem = function (...line) { if"
        " (window.full) throw new DOMException('', 'QuotaExceededError'); set.apply(this, line); };"
    )

    def note(request: Any) -> None:
        if request.url.endswith("/api/answers"):
            sent.append([row["chosen"] for row in request.post_data_json["answers"]])

    page.on("request", note)
    enter(page, held.url)
    page.evaluate("full = true")
    page.route("**/api/answers", lambda route: route.abort())
    answer(page, "3")
    page.wait_for_selector(
        "#unsent:has-text('1 answer not sent yet, and this browser cannot keep them: leave this page open')"
    )
    page.evaluate("full = false")
    page.unroute("**/api/answers")
    all_sent(page)
    answer(page, "4")
    all_sent(page)
    assert page.evaluate("Object.values(localStorage)") == ["[]"]
    assert sent[-2:] == [["both good"], ["both bad"]]  # what was sent is not sent again
    assert [said for *_, said in rows(held)] == ["both good", "both bad"]


@pytest.mark.slow
def test_a_server_that_is_gone_is_not_asked_without_end(
    page: Any, duels: Asked, serve: Callable[..., Serving]
) -> None:
    held = serve(duels, campaign=rules(session=4))
    watch(page)
    enter(page, held.url)
    loaded(page, 6)
    asked = []
    page.context.set_offline(True)
    page.on("request", lambda request: asked.append(request.url))
    while page.is_visible("#work"):
        page.keyboard.press("1")
    page.wait_for_selector("#pause .unsent:has-text('4 answers not sent yet')")
    page.keyboard.press("Enter")
    while page.is_visible("#work"):
        page.keyboard.press("1")
    page.wait_for_selector("#waiting:has-text('The server does not answer')")
    page.wait_for_event("requestfailed")
    assert len(asked) < 20
    page.context.set_offline(False)
    go_on(page)
    all_sent(page)
    assert len(rows(held)) == 6


@pytest.mark.slow
def test_answers_go_out_as_soon_as_the_server_gives_items_again(page: Any, held: Serving) -> None:
    watch(page)
    page.clock.install(time=0)
    enter(page, held.url)
    loaded(page, 6)
    page.route("**/api/*", lambda route: route.abort())
    while page.is_visible("#work"):
        page.keyboard.press("1")
    page.wait_for_selector("#waiting:has-text('The server does not answer')")
    page.clock.pause_at(60)  # seconds
    for _ in range(4):  # the next try is many seconds away
        with page.expect_event("requestfailed", lambda request: request.url.endswith("/api/answers")):
            page.clock.run_for(10_000)
    page.unroute("**/api/*")
    page.clock.run_for(1_100)
    page.wait_for_selector("#work:not([hidden])")
    all_sent(page)
    assert len(rows(held)) == 6


@pytest.mark.slow
def test_what_the_server_cannot_write_is_said_kept_and_sent_once_it_can(page: Any, held: Serving) -> None:
    take, full = held.campaign.take, StudyError("cannot write answers.sqlite: the disk is full")

    def refuses(*_: Any) -> str:
        raise full

    enter(page, held.url)
    held.campaign.take = refuses
    answer(page, "3")
    page.wait_for_selector(
        "#feedback:has-text('cannot write answers.sqlite: the disk is full. Your answers are kept in this"
        " browser.')"
    )
    assert page.text_content("#unsent") == "1 answer not sent yet"
    held.campaign.take = take
    page.dispatch_event("#unsent", "click")  # it may try again by itself just now
    all_sent(page)
    page.wait_for_selector("#feedback", state="hidden")
    assert [said for *_, said in rows(held)] == ["both good"]
