"""What a person finds in a study's pages: every filter against a plain loop, one image, one pair, a list; and
what pages of elsewhere do not get.
"""

from __future__ import annotations

import html
import io
import re
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlencode

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from PIL import Image

import faultscape as fs
import made
import made_answers
import made_view
from faultscape.reading import evidence
from faultscape.reading.study import Study
from faultscape.study.answers.choices import Choice, Choices
from faultscape.study.answers.database import Database
from faultscape.study.answers.labels import Answers
from faultscape.study.answers.schema import TRAINING
from faultscape.study.answers.tags import Tag, Tags
from faultscape.study.tables.corpus import read_corpus
from faultscape.verbs.view.library import Library
from refusals import refused_line

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")
MODELS = ("model-0", "model-1", "model-2")


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> made_view.Shown:
    return made_view.shown(tmp_path_factory.mktemp("view"))


@pytest.fixture(scope="module")
def pages(study: made_view.Shown) -> Any:
    return made_view.client(study.root)


def listed(pages: Any, **asked: object) -> list[str]:
    """The ids that an address lists."""
    answer = pages.get("/list.txt", params={name.rstrip("_"): value for name, value in asked.items()})
    assert answer.status_code == 200, answer.text
    return answer.text.splitlines()


def loop(study: made_view.Shown, asked: dict[str, Any]) -> list[str]:
    """The ids that a query asks for, one image after the other."""
    tolerance = 1e-6  # numbers are kept in 32 bits
    classes = {name: k for k, name in enumerate(made.NAMES)}
    chosen = set(fs.study.tables.selections.read_selection(study.root, "drawn")[0].images) - study.discarded
    out = []
    for id_ in study.ids:
        maps = {name: of[id_] for name, of in study.maps.items()}
        agree = {pair: made_view.plain_miou(maps[pair[0]], maps[pair[1]]) for pair in combinations(MODELS, 2)}
        mean = 1 - sum(agree.values()) / len(agree)
        shows = [(maps[m] == classes[asked["class"]]).any() for m in MODELS] if asked.get("class") else []
        by = asked.get("by", "any")
        right = [
            asked.get("id", "").lower() in id_.lower(),
            asked.get("set", study.set(id_)) == study.set(id_),
            asked.get("role", "") in ("", "test" if study.set(id_) == "dusk" else "pool"),
            asked.get("group", study.group(id_)) == study.group(id_),
            not shows
            or {"any": any(shows), "all": all(shows), "some": any(shows) and not all(shows)}.get(
                by, by in MODELS and shows[MODELS.index(by)]
            ),
            {
                "": True,
                "labelled": id_ in study.labelled,
                "unlabelled": id_ not in study.labelled,
                "discarded": id_ in study.discarded,
                "kept": id_ not in study.discarded,
            }[asked.get("label", "")],
            not asked.get("tag") or id_ in study.tagged,
            not asked.get("selection") or id_ in chosen,
            asked.get("low", 0) - tolerance <= mean <= asked.get("high", 1) + tolerance,
        ]
        pair = agree[tuple(sorted((asked["a"], asked["b"])))] if asked.get("a") else 1.0
        right.append(asked.get("agree_low", 0) - tolerance <= pair <= asked.get("agree_high", 1) + tolerance)
        score = made_view.plain_miou(study.truths[id_], maps[asked.get("model", MODELS[0])])
        score = score if id_ in study.labelled else np.nan
        if "score_low" in asked or "score_high" in asked:
            low, high = asked.get("score_low", 0), asked.get("score_high", 1)
            right.append(low - tolerance <= score <= high + tolerance)
        if all(right):
            number = {
                "score": np.nan_to_num(score, nan=2),
                "-score": np.nan_to_num(-score, nan=2),
                "-disagreement": -mean,
                "disagreement": mean,
                "agreement": pair,
                "-agreement": -pair,
            }.get(asked.get("sort", ""), 0)
            out.append((id_ if asked.get("sort") == "id" else "", round(number, 6), id_))
    return [row[-1] for row in sorted(out, key=lambda row: row[:2])]


SHARES = st.sampled_from([0.05, 0.2, 0.35, 0.5, 0.65, 0.8])
OPTIONAL = {
    "id": st.sampled_from(["00", "PART1", "dusk/", "photo 01", "zebra"]),
    "set": st.sampled_from(["main", "dusk"]),
    "role": st.sampled_from(["pool", "test"]),
    "group": st.sampled_from(["part0", "part1"]),
    "class": st.sampled_from(made.NAMES),
    "by": st.sampled_from(["any", "all", "some", *MODELS]),
    "label": st.sampled_from(["labelled", "unlabelled", "discarded", "kept"]),
    "tag": st.just("rain"),
    "selection": st.just("drawn"),
    "low": SHARES,
    "high": SHARES,
    "sort": st.sampled_from(["id", "disagreement", "-disagreement"]),
}
PAIRS = st.fixed_dictionaries(
    {"a": st.just("model-2"), "b": st.sampled_from(MODELS[:2])},
    optional={
        "agree_low": SHARES,
        "agree_high": SHARES,
        "sort": st.sampled_from(["agreement", "-agreement"]),
    },
)

SCORED = st.fixed_dictionaries(
    {"model": st.sampled_from(MODELS)},
    optional={"score_low": SHARES, "score_high": SHARES, "sort": st.sampled_from(["score", "-score"])},
)


@pytest.mark.slow
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.differing_executors],
)
@given(asked=st.fixed_dictionaries({}, optional=OPTIONAL), pair=st.one_of(st.just({}), PAIRS, SCORED))
def test_every_filter_and_order_finds_what_a_plain_loop_finds(
    study: made_view.Shown, pages: Any, asked: dict[str, Any], pair: dict[str, Any]
) -> None:
    whole = {**asked, **pair}
    assert listed(pages, **whole) == loop(study, whole)


@pytest.mark.parametrize("name", OPTIONAL)
def test_every_filter_leaves_something_out_and_something_in(study: made_view.Shown, name: str) -> None:
    """Else the test above would see nothing."""
    asked = {
        "low": [0.5],
        "high": [0.5],
        "sort": ["-disagreement"],
        "by": ["some"],
        "selection": ["drawn"],
        "tag": ["rain"],
    }
    for value in asked.get(name, []) or [
        {"id": "00", "set": "dusk", "role": "test", "group": "part1", "class": "tree", "label": "labelled"}[
            name
        ]
    ]:
        more = {"class": "tree"} if name == "by" else {}
        found = loop(study, {name: value, **more})
        assert found
        assert found != list(study.ids)


def test_of_images_that_nearly_equal_each_other_the_first_in_the_order_is_shown_and_leads_to_the_others(
    tmp_path: Path,
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=6, models=2)
    paths = [corpus.photos / f"{id_}.png" for id_ in corpus.ids]
    for number in (2, 4):  # in the folder of the first
        paths[number].write_bytes(paths[0].read_bytes())
    study = made.collected(corpus, tmp_path / "study", 4)
    first, *alike = (corpus.ids[number] for number in (0, 2, 4))
    pages = made_view.client(study)
    assert set(listed(pages)) == set(corpus.ids) - set(alike)
    assert listed(pages, alike="all", sort="id") == sorted(corpus.ids)
    assert listed(pages, id=alike[0].split()[1]) == [alike[0]]  # the first of those that are asked for
    near = re.search(r'<a class="chip" href="([^"]*)">2 near-duplicates</a>', pages.get("/?sort=id").text)
    shown = re.findall(r'<span class="id">(.*?)</span>', pages.get(html.unescape(near[1])).text)
    assert sorted(shown) == sorted([first, *alike])


def test_a_score_without_labels_or_before_they_are_counted_names_the_line(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=2)
    study = str(made.collected(corpus, tmp_path / "study", 4))
    fs.predict(study, corpus.models, engine="local")
    address = "/?sort=score&model=model-1"
    assert "import some with `faultscape label import`" in made_view.client(Path(study)).get(address).text
    fs.label.import_(study, str(corpus.truth))
    assert "run `faultscape rank`" in made_view.client(Path(study)).get(address).text


def test_it_opens_on_most_disagreement_first_and_on_where_the_two_models_differ_that_agree_least(
    study: made_view.Shown, pages: Any
) -> None:
    def shown(address: str) -> list[str]:
        return re.findall(r'<span class="id">(.*?)</span>', pages.get(address).text)

    assert shown("/") == shown("/?sort=-disagreement") != shown("/?sort=collected")
    overlay = html.unescape(re.search(r'"(/overlay/[^"]*)"', pages.get("/").text)[1])
    query = dict(parse_qsl(overlay.partition("?")[2]))
    agree = fs.compare(str(study.root), engine="local").agreement
    a, b = (agree.models.index(query[key]) for key in "ab")
    assert query["show"] == "pair"
    assert agree.mean[a, b] == pytest.approx(np.nanmin(agree.mean))


def test_every_image_is_shown_with_its_photo_and_its_marks(study: made_view.Shown, pages: Any) -> None:
    text = pages.get("/?sort=collected").text
    tiles = re.findall(r'<li class="tile.*?</li>', text, re.DOTALL)
    assert [re.search(r'<span class="id">(.*?)</span>', tile)[1] for tile in tiles] == list(study.ids)
    assert ["discarded" in tile for tile in tiles] == [id_ in study.discarded for id_ in study.ids]
    assert [">labelled<" in tile for tile in tiles] == [id_ in study.labelled for id_ in study.ids]
    for number, tile in enumerate(tiles):
        answer = pages.get(html.unescape(re.search(r'src="(/photo/[^"]*)"', tile)[1]))
        photo = np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGB"), float)
        stored = fs.study.tables.corpus.read_corpus(study.root)[number]
        # the picture itself, but for its coding
        assert np.abs(photo - np.asarray(Image.open(stored.source), float)).mean() < 25
        assert "immutable" in answer.headers["cache-control"]


def test_pages_follow_each_other_and_none_lies_behind_the_last(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=30, models=1)
    pages = made_view.client(made.collected(corpus, tmp_path / "study", 8))
    first, second = (pages.get("/", params={"per": 24, "page": page}).text for page in (1, 2))
    assert [text.count('<li class="tile') for text in (first, second)] == [24, 6]
    assert 'rel="next" href="/?page=2&amp;per=24"' in first
    assert "page=3: there are 2 pages of these images" in html.unescape(pages.get("/?per=24&page=3").text)


def test_one_image_tells_what_each_model_is_worth_against_its_label(
    study: made_view.Shown, pages: Any
) -> None:
    number = 4
    id_ = study.ids[number]
    text = pages.get(f"/image/{number}").text
    for model in MODELS:
        assert (
            f'<th scope="row">{model}</th><td>{made_view.plain_miou(study.truths[id_], study.maps[model][id_]):.3f}</td>'
            in text
        )
    agreement = made_view.plain_miou(study.maps[MODELS[0]][id_], study.maps[MODELS[2]][id_])
    assert f'title="{MODELS[0]} and {MODELS[2]}">{agreement:.2f}</a>' in text
    assert "<dt>tags</dt><dd>rain</dd>" in text
    unlabelled = pages.get("/image/3").text
    assert "This image is not labelled yet" in unlabelled
    assert "<dt>discarded</dt><dd>too dark</dd>" in unlabelled


def test_an_image_on_which_people_chose_between_maps_says_so(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=2)
    root = made.collected(corpus, tmp_path / "study", 8)
    fs.predict(str(root), {name: str(path) for name, path in corpus.models.items()}, engine="local")
    image, others, pair = corpus.ids[0], corpus.ids[1:], sorted(corpus.models)
    said = [
        (image, "first", "ann", 0, "labels"),
        (image, "second", "ben", 0, "labels"),
        (image, "first", "ann", 1, "labels"),
    ]
    said += [(image, "both bad", "cyd", 0, TRAINING), (others[0], "first", "ann", 0, "labels")]
    Choices(root).add_all(
        [Choice(id_, *pair, word, who, repeat=n, truth=of) for id_, word, who, n, of in said], "test"
    )
    Choices(root).take_back([Choice(image, *pair, "second", "ben")], "test")
    pages, ids = made_view.client(root), [one.id for one in read_corpus(root)]
    assert (
        "This image has no mask, but 2 choices between two models' maps"
        in pages.get(f"/image/{ids.index(image)}").text
    )
    assert (
        "This image has no mask, but 1 choice between two models' maps"
        in pages.get(f"/image/{ids.index(others[0])}").text
    )
    assert "This image is not labelled yet" in pages.get(f"/image/{ids.index(others[1])}").text


def test_images_follow_each_other_among_those_that_were_asked_for(study: made_view.Shown, pages: Any) -> None:
    asked = {"set": "dusk", "sort": "-disagreement"}
    order = [study.ids.index(id_) for id_ in loop(study, asked)]
    seen, number = [], order[0]
    while number is not None:
        seen.append(number)
        found = re.search(
            r'rel="next" href="/image/(\d+)\?', pages.get(f"/image/{number}", params=asked).text
        )
        number = int(found[1]) if found else None
    assert seen == order


def test_a_pair_says_where_two_models_part_and_which_is_wrong(study: made_view.Shown, pages: Any) -> None:
    number, (one, other) = 4, (MODELS[1], MODELS[2])
    id_ = study.ids[number]
    a, b, truth = study.maps[one][id_], study.maps[other][id_], study.truths[id_]
    text = pages.get("/pair", params={"image": number, "a": one, "b": other}).text

    decided = truth != made_view.VOID

    def percent(mask: np.ndarray) -> str:
        return f"{100 * mask.mean():.1f} %"

    assert f"<dt>mIoU of the two</dt><dd>{made_view.plain_miou(a, b):.3f}</dd>" in text
    assert f"<dt>pixels that differ</dt><dd>{percent(a != b)}</dd>" in text
    assert f"<dt>only {one} wrong</dt><dd>{percent(decided & (a != truth) & (b == truth))}</dd>" in text
    assert f"<dt>only {other} wrong</dt><dd>{percent(decided & (a == truth) & (b != truth))}</dd>" in text
    assert f"<dt>both wrong</dt><dd>{percent(decided & (a != b) & (a != truth) & (b != truth))}</dd>" in text
    cells = {(x, y): ((a == x) & (b == y)).mean() for x in range(5) for y in range(5) if x != y}
    (x, y), most = max(cells.items(), key=lambda row: row[1])
    first = re.search(r"<h2>Differing predictions</h2>.*?<tbody>\s*<tr>(.*?)</tr>", text, re.DOTALL)[1]
    assert re.findall(r"</svg> (.*?)</td>", first) == [made.NAMES[x], made.NAMES[y]]
    assert f"{100 * most:.1f} %" in first
    assert "/?a=model-1&amp;b=model-2&amp;sort=agreement" in text


@pytest.mark.parametrize(
    "asked",
    [
        {"show": "model:model-1"},
        {"show": "truth:labels", "as": "outline"},
        {"show": "model:model-2", "as": "right"},
        {"show": "pair", "a": "model-1", "b": "model-2"},
    ],
    ids=str,
)
def test_what_lies_over_a_photo_shows_the_maps_of_the_study(
    study: made_view.Shown, pages: Any, asked: dict[str, str]
) -> None:
    number = 4
    id_ = study.ids[number]
    answer = pages.get(f"/overlay/{number}", params=asked)
    assert answer.status_code == 200
    found = np.asarray(Image.open(io.BytesIO(answer.content)).convert("RGBA"))
    shape = study.truths[id_].shape
    assert found.shape == (*shape, 4)
    colours = np.array([[40 * k, 255 - 40 * k, 7 * k] for k in range(5)])
    map_of = {f"model:{m}": study.maps[m][id_] for m in MODELS} | {"truth:labels": study.truths[id_]}
    decided = study.truths[id_] != made_view.VOID
    if asked["show"] == "pair":
        assert (
            (found[..., 3] > 0) == (decided & (study.maps["model-1"][id_] != study.maps["model-2"][id_]))
        ).all()
    elif asked.get("as") == "right":
        right = decided & (study.maps["model-2"][id_] == study.truths[id_])
        assert len({tuple(row) for row in found[right].tolist()}) == 1
        assert not (found[right][0] == found[decided & ~right]).all(1).any()
        assert not found[~decided].any()
    else:
        there = found[..., 3] == 255  # beside a line of an outline runs a thinner one, black or white
        assert np.isin(found[(found[..., 3] > 0) & ~there][:, :3], (0, 255)).all()
        assert (found[..., :3] == colours[np.minimum(map_of[asked["show"]], 4)])[there].all()
        assert there.all() == (asked.get("as") != "outline")
        assert there.any()


def test_a_browser_that_has_a_picture_is_sent_none_until_its_map_changes(pages: Any) -> None:
    for address in ("/overlay/2?show=model:model-1", "/photo/2"):
        tag = pages.get(address).headers["etag"]
        again = pages.get(address, headers={"If-None-Match": tag})
        assert (again.status_code, again.content) == (304, b"")
    assert (
        pages.get("/overlay/2?show=model:model-1").headers["etag"]
        != pages.get("/overlay/2?show=model:model-2").headers["etag"]
    )


def test_a_part_of_a_page_for_htmx_is_what_the_whole_page_holds_and_names_the_plain_address(
    pages: Any,
) -> None:
    answer = pages.get("/images?class=car&by=some&low=")
    assert answer.headers["hx-push-url"] == "/?class=car&by=some"
    assert answer.text.strip() in pages.get("/?class=car&by=some").text
    assert "<html" not in answer.text


@pytest.mark.slow
def test_every_address_of_a_page_is_answered(pages: Any) -> None:
    seen: set[str] = set()
    for page in (
        "/?a=model-0&b=model-1&show=pair",
        "/image/4?show=model:model-1&a=model-0&b=model-1",
        "/pair?image=4&a=model-0&b=model-2",
    ):
        found = re.findall(r'(?:href|src|data-overlay|hx-get)="(/[^"]*)"', pages.get(page).text)
        seen |= {html.unescape(address) for address in found}
    assert len(seen) > 60
    assert [address for address in sorted(seen) if pages.get(address).status_code not in (200, 303)] == []


MISTAKES = {
    "/?zebra=1": "unknown parameter 'zebra'",
    "/?set=zebra": "set='zebra': the study has no such set",
    "/?class=caar": "class='caar': the study has no such class. Did you mean 'car'?",
    "/?by=x": "by='x': the study has no such model",
    "/?low=2": "low=2: input should be less than or equal to 1",
    "/?low=nan": "low=nan: ",
    "/?page=0": "page=0: input should be greater than or equal to 1",
    "/?page=99": "page=99: there is 1 page of these images",
    "/?sort=size": "sort=size: use collected, -disagreement, disagreement, agreement, -agreement, score, -score or id<",
    "/?label=labeled": "label=labeled: use labelled, unlabelled, discarded or kept. Did you mean 'labelled'?",
    "/?per=7": "per=7: use 24, 48 or 96<",
    "/?set=main&set=dusk": "set is given twice",
    "/?agree_low=.5": "agreement needs two models: name them with a and b",
    "/?a=model-0&b=model-0": "a and b are both model-0; name two models",
    "/image/3?show=model:zebra": "'model:zebra' is not a layer of this study",
    "/pair?image=3&a=model-0": "a pair needs two models: name them with a and b",
    "/pair?a=model-0&b=model-1": "expected an image and two models",
    "/overlay/3?show=": "'' is not a layer of this study",
    "/photo/3?size=5000": "size=5000: images are made at 320, 640, 1600",
}


@pytest.mark.parametrize("address", MISTAKES)
def test_a_wrong_address_is_a_page_of_one_sentence(pages: Any, address: str) -> None:
    answer = pages.get(address)
    assert answer.status_code == 400
    assert MISTAKES[address] in html.unescape(answer.text)
    assert "Traceback" not in answer.text


@pytest.mark.parametrize(
    "address",
    [
        "/image/99",
        "/image/-1",
        "/image/1e3",
        "/image/٣",
        "/image/" + "9" * 400,
        "/photo/../../study.toml",
        "/photo/%2e%2e%2fstudy.toml",
        "/photo/..%5cstudy.toml",
        "/photo/part0%2Fphoto%20000.png",
        "/static/../base.html.jinja",
        "/static/%2e%2e%2fbase.html.jinja",
        "/static/base.html.jinja",
        "/static/",
        "/study.toml",
        "/corpus.parquet",
        "/docs",
        "/openapi.json",
        "/redoc",
        "//etc/passwd",
        "/photo/0?v=another",
        "/overlay/3?show=truth:labels",
    ],
)
def test_what_is_no_image_and_no_page_is_not_found_and_no_path_is_opened(
    pages: Any, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    real = Path.open
    monkeypatch.setattr(Path, "open", lambda self, *a, **k: asked.append(str(self)) or real(self, *a, **k))
    answer = pages.get(address)
    assert answer.status_code == 404, answer.text
    assert [path for path in asked if "passwd" in path or "study.toml" in path or ".jinja" in path] == []


def test_an_image_that_is_another_by_now_or_a_link_to_elsewhere_is_not_served(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=3, models=1)
    root = made.collected(corpus, tmp_path / "study", 8)
    pages = made_view.client(root)
    secret = tmp_path / "secret.png"
    Image.fromarray(np.zeros((9, 9, 3), np.uint8)).save(secret)
    stored = Path(fs.study.tables.corpus.read_corpus(root)[1].source)
    stored.unlink()
    stored.symlink_to(secret)
    answer = pages.get("/photo/1")
    assert answer.status_code == 404
    assert "changed since it was collected" in answer.text
    stored.unlink()
    assert "No such file" in pages.get("/photo/1").text
    assert pages.get("/image/1").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8750",
        "127.0.0.1.evil.example",
        "localhost.evil.example",
        "",
        "127.0.0.1:8750:1",
        "[::1",
    ],
)
def test_a_host_of_elsewhere_is_refused_as_after_dns_rebinding(pages: Any, host: str) -> None:
    assert pages.get("/", headers={"Host": host}).status_code == 421


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "127.0.0.1:9", "localhost:8750", "LOCALHOST", "[::1]:8750", "192.168.1.5:8750"]
)
def test_a_host_that_is_this_machine_is_answered(pages: Any, host: str) -> None:
    assert pages.get("/", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_nothing_but_reading_is_answered(pages: Any, method: str) -> None:
    answer = pages.request(method, "/")
    assert answer.status_code == 405
    assert answer.headers["allow"] == "GET, HEAD"


def test_pictures_are_not_for_pages_of_other_sites_and_an_address_has_a_bound(pages: Any) -> None:
    foreign = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
    assert pages.get("/photo/1", headers=foreign).status_code == 403
    assert pages.get("/", headers=foreign | {"Sec-Fetch-Mode": "navigate"}).status_code == 200
    assert pages.get("/?id=" + "a" * 9000).status_code == 414


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/images",
        "/image/1",
        "/image/99",
        "/?zebra=1",
        "/photo/1",
        "/static/app.js",
        "/list.txt",
        "/reload",
    ],
)
def test_every_answer_has_the_headers_that_keep_a_browser_safe(pages: Any, address: str) -> None:
    answer = pages.get(address)
    policy = dict(part.strip().split(" ", 1) for part in answer.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"
    assert policy["base-uri"] == "'none'"
    assert {
        policy[name] for name in ("script-src", "style-src", "img-src", "connect-src", "form-action")
    } == {"'self'"}
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["referrer-policy"] == "same-origin"
    assert answer.headers["x-frame-options"] == "DENY"
    assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert "server" not in answer.headers


@pytest.mark.parametrize(
    "address",
    [
        "/?a=model-0&b=model-1&show=pair",
        "/image/4?show=model:model-1&as=right",
        "/pair?image=4&a=model-0&b=model-2",
        "/?zebra=<script>",
    ],
)
def test_no_page_holds_a_script_or_a_style_of_its_own(pages: Any, address: str) -> None:
    text = pages.get(address).text
    assert re.findall(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|javascript:|<script>", text) == []


def test_names_that_look_like_html_stand_as_they_are(tmp_path: Path) -> None:
    name = '<img src=x onerror="alert(1)">&'
    corpus = made.corpus(tmp_path / "corpus", images=1, models=1)
    made.write(corpus.photos / f"{name}.png", np.full((9, 9, 3), 7, np.uint8))
    pages = made_view.client(made.collected(corpus, tmp_path / "study", 8))
    for address in (
        "/",
        "/image/0",
        "/image/1",
        f"/?{urlencode({'set': name})}",
        f"/?{urlencode({'id': name})}",
    ):
        text = pages.get(address).text
        assert "<img src=x" not in text
        assert (
            html.escape(name).replace("&#x27;", "'") in text.replace("&#34;", "&quot;")
            or address == "/image/1"
        )
    assert name in listed(pages)


def test_a_study_that_changed_is_said_to_and_is_read_again_when_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=4, models=1)
    root = made.collected(corpus, tmp_path / "study", 8)
    library = Library(Study(root))
    pages = made_view.client(root, library)
    monkeypatch.setattr("faultscape.verbs.view.library._SECONDS", 0.0)
    assert "The study changed" not in pages.get("/").text
    Answers(root).discard([(corpus.ids[2], "blurred")], "test")
    assert "The study changed since it was read" in pages.get("/").text
    assert listed(pages, label="discarded") == []
    assert pages.get("/reload").headers["location"] == "/"
    assert listed(pages, label="discarded") == [corpus.ids[2]]
    assert "The study changed" not in pages.get("/").text
    (root / "corpus.parquet").write_bytes(b"PAR1")
    answer = pages.get("/reload")
    assert answer.status_code == 409
    assert "corpus.parquet is damaged" in answer.text
    assert len(listed(pages)) == 4  # as it was


def test_what_people_say_to_a_server_that_still_runs_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The server keeps its rows in a log beside the file until it ends; that somebody looks changes
    nothing.
    """
    corpus = made.corpus(tmp_path / "corpus", images=4, models=1)
    root = made.collected(corpus, tmp_path / "study", 8)
    monkeypatch.setattr("faultscape.verbs.view.library._SECONDS", 0.0)
    with closing(Database(root, stay_open=True)) as served:
        Answers(root, served).discard([(corpus.ids[0], "blurred")], "test")
        library = Library(Study(root))
        assert not library.changed()
        assert Answers(root).discarded()
        assert not library.changed()
        before = [(root / "answers.sqlite").stat().st_mtime_ns, (root / "answers.sqlite").stat().st_size]
        Tags(root, served).add(Tag(corpus.ids[2], "missed thing", "ann"), "test", "key-00000001")
        assert before == [
            (root / "answers.sqlite").stat().st_mtime_ns,
            (root / "answers.sqlite").stat().st_size,
        ]
        assert library.changed()
        library.read_again()
        assert not library.changed()
        assert list(library.now.columns.tags) == ["missed thing"]


def test_maps_that_changed_since_the_study_was_read_end_in_a_sentence(tmp_path: Path) -> None:
    shown = made_view.shown(tmp_path, images=6, models=2)
    pages = made_view.client(shown.root)
    for part in (shown.root / "predictions" / "model-1").glob("*.parquet"):
        part.write_bytes(part.read_bytes()[:-9])
    answer = pages.get("/overlay/0?show=model:model-1")
    assert answer.status_code == 409
    assert "is missing or damaged" in answer.text
    page = pages.get("/image/0")
    assert page.status_code == 200
    assert "cannot be read" in page.text
    assert "is missing or damaged" in page.text
    assert pages.get("/").status_code == 200


def test_without_counts_images_are_shown_and_what_is_lacking_is_said(tmp_path: Path) -> None:
    corpus = made.corpus(tmp_path / "corpus", images=5, models=2)
    root = made.collected(corpus, tmp_path / "study", 8)
    fs.predict(str(root), corpus.models, engine="local")
    pages = made_view.client(root)
    assert "5 images have no up-to-date counts between models" in pages.get("/").text
    assert len(listed(pages, sort="-disagreement")) == 5
    assert listed(pages, low=0) == []
    assert "Not computed" in pages.get("/image/0").text


def test_pages_of_classifiers_show_what_each_says_and_whether_that_is_right(tmp_path: Path) -> None:
    answers = made_answers.study(tmp_path / "made", images=12, errors=(0.1, 0.5))
    made_answers.import_labels(answers)
    root = Path(answers.study)
    pages = made_view.client(root)
    known = fs.study.tables.corpus.read_corpus(root)
    told = {"right": 0, "wrong": 0, "undecided": 0}
    for number in range(len(known)):
        for word in re.findall(r'class="verdict (\w+)"', pages.get(f"/image/{number}").text):
            told[word] += 1
    _, correct, _ = evidence.correctness(
        Study(root), list(fs.study.settings.read_settings(root).models), "labels"
    )
    assert (told["right"], told["wrong"]) == (int((correct == 1).sum()), int((correct == 0).sum()))
    models = list(fs.study.settings.read_settings(root).models)
    differ = listed(pages, a=models[0], b=models[1], agree_high=0.5)
    assert listed(pages, low=0.5) == differ
    assert 0 < len(differ) < len(known)
    assert pages.get("/pair", params={"image": 0, "a": models[0], "b": models[1]}).status_code == 200


def test_of_more_tags_than_a_page_can_offer_those_of_most_images_are_there(tmp_path: Path) -> None:
    root = made.collected(made.corpus(tmp_path / "corpus", images=2, models=1), tmp_path / "study", 8)
    ids = [image.id for image in fs.study.tables.corpus.read_corpus(root)]
    Tags(root).add_all(
        [*(Tag(ids[0], f"t{k:03d}", "ann") for k in range(230)), *(Tag(id_, "zebra", "ann") for id_ in ids)],
        "test",
    )
    pages = made_view.client(root)
    assert listed(pages, tag="zebra") == ids
    assert listed(pages, tag="t198") == ids[:1]
    assert pages.get("/list.txt", params={"tag": "t199"}).status_code == 400


def test_what_is_not_installed_is_named_with_the_line_that_brings_it(
    study: made_view.Shown, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "faultscape.verbs.view.signature.find_spec", lambda name: None if name == "uvicorn" else name
    )
    assert "view needs uvicorn; install with: pip install 'faultscape[app]'" in refused_line(
        "view", study.root
    )


def test_a_folder_that_is_no_study_and_one_without_images_are_refused(
    tmp_path: Path, study: made_view.Shown
) -> None:
    assert "is not a study" in refused_line("view", tmp_path)
    (tmp_path / "study.toml").write_text((study.root / "study.toml").read_text())
    assert "has no images; run `faultscape collect" in refused_line("view", tmp_path)


def test_nothing_is_written(study: made_view.Shown) -> None:
    def held() -> dict[str, tuple[int, int]]:
        return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in study.root.rglob("*")}

    before, pages = held(), made_view.client(study.root)
    for address in (
        "/",
        "/image/4?show=model:model-1",
        "/pair?image=4&a=model-0&b=model-2",
        "/photo/4",
        "/overlay/4?show=pair&a=model-0&b=model-1",
        "/reload",
    ):
        assert pages.get(address).status_code in (200, 303)
    assert held() == before


def test_a_defect_is_one_line_in_the_terminal_and_no_traceback(
    study: made_view.Shown, pages: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("by 0")

    monkeypatch.setattr("faultscape.verbs.view.facts.agreements", broken)
    answer = pages.get("/image/4")
    assert answer.status_code == 500
    assert "this is a bug in Faultscape" in answer.text
    assert "ZeroDivisionError" not in answer.text
    err = capsys.readouterr().err
    assert err.startswith("faultscape: /image/{number}: ZeroDivisionError: by 0 (")
    assert err.count("\n") == 1
    made_view.client(study.root, strict=True).get("/image/4")  # nothing is left for a server to log
