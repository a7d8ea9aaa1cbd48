"""Downloads of lists of URLs: each picture once and whole, looked at, with what is known of it; what is left
out is told with its reason.
"""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import faultscape as fs
from faultscape.cli import main
from faultscape.errors import CorpusError, StudyError
from faultscape.study.tables.web_pictures import read_pictures
from faultscape.verbs.verb import group_options
from refusals import refused
from serving import Reply, Server, picture, serving

FAST = {"rate": 1000.0}


def listed(study: Path, *urls: str) -> str:
    path = study.parent / "urls.txt"
    path.write_text("# pictures of a person's own list\n\n" + "\n".join(urls) + "\n")
    return str(path)


def table(study: Path, *rows: dict[str, str]) -> str:
    path = study.parent / "urls.csv"
    names = list(dict.fromkeys(name for row in rows for name in row))
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


def reasons(study: Path) -> dict[str, str]:
    with (study / "failures.csv").open(newline="", encoding="utf-8") as file:
        return {
            row["image"].rpartition("/")[2]: row["reason"]
            for row in csv.DictReader(file)
            if row["name"] == "web"
        }


def kept(study: Path) -> list[str]:
    return sorted(p.name for p in (study / "web" / "pictures").iterdir())


def test_a_list_is_downloaded_and_nothing_enters_the_corpus(server: Server, study: Path) -> None:
    urls = [server.picture(f"/{k}.png", picture(k)) for k in range(3)]
    brought = fs.collect(study, **group_options(fs.collect, {"urls": listed(study, *urls, urls[0]), **FAST}))
    assert (brought.came, brought.there, brought.left_out, brought.failed, brought.for_review) == (
        3,
        0,
        0,
        0,
        3,
    )
    assert not (study / "corpus.parquet").exists()
    rows = read_pictures(study)
    assert list(rows) == urls
    assert {(r.width, r.height, r.source) for r in rows.values()} == {(64, 48, "127.0.0.1")}
    for row in rows.values():
        assert (study / "web" / row.file).read_bytes() == picture(urls.index(row.url))
        with Image.open(study / "web" / "thumbnails" / f"{row.id}.webp") as small:
            assert small.size == (64, 48)


def test_what_is_there_is_not_asked_for_again(server: Server, study: Path) -> None:
    urls = [server.picture(f"/{k}.png", picture(k)) for k in range(2)]
    line = listed(study, *urls, f"{server.url}/gone.png")
    fs.collect(str(study), **group_options(fs.collect, {"urls": line, **FAST}))
    before = (study / "web" / "pictures.csv").read_bytes()
    again = fs.collect(str(study), **group_options(fs.collect, {"urls": line, **FAST}))
    assert (again.came, again.there, again.failed) == (0, 2, 1)
    assert [server.times(f"/{name}.png") for name in ("0", "1", "gone")] == [1, 1, 2]
    assert (study / "web" / "pictures.csv").read_bytes() == before
    (study / "web" / "pictures" / next(iter(read_pictures(study).values())).file.partition("/")[2]).unlink()
    assert fs.collect(str(study), **group_options(fs.collect, {"urls": line, **FAST})).came == 1
    assert server.times("/0.png") == 2


def test_hosts_are_asked_side_by_side_and_one_that_is_slow_holds_none_but_its_own(
    server: Server, study: Path
) -> None:
    """The first host answers once the other, whose pictures stand last in the list, has been asked for all of
    them.
    """
    with serving() as other:
        asked = threading.Event()

        def last(_: dict[str, str]) -> Reply:
            asked.set()
            return 200, {}, picture(3)

        other.paths |= {"/2.png": (200, {}, picture(2)), "/3.png": last}
        server.paths |= {
            "/0.png": lambda _: (200 if asked.wait(20) else 404, {}, picture(0)),
            "/1.png": (200, {}, picture(1)),
        }
        urls = [f"{server.url}/0.png", f"{server.url}/1.png", f"{other.url}/2.png", f"{other.url}/3.png"]
        brought = fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert (brought.came, brought.failed) == (4, 0)
    places = [urls.index(url) for url in read_pictures(study)]
    assert sorted(places) == [0, 1, 2, 3]
    assert places.index(0) < places.index(1)  # of one host in the order of the list
    assert places.index(2) < places.index(3)


@pytest.mark.slow
def test_a_killed_download_leaves_no_half_file_and_goes_on(server: Server, study: Path) -> None:
    """The third picture never ends: the run is killed in the middle of it, and a later one asks for that
    alone.
    """
    good = [picture(k) for k in range(3)]
    urls = [server.picture(f"/{k}.png", data) for k, data in enumerate(good)]
    server.paths["/2.png"] = (200, {"Content-Type": "image/png", "Content-Length": str(10**6)}, good[2][:100])
    server.hold.add("/2.png")
    words = ["collect", str(study), "--urls", listed(study, *urls), "--rate", "1000"]
    run = subprocess.Popen([sys.executable, "-m", "faultscape", *words])
    assert server.held.wait(60)
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    server.hold.clear()
    server.release.set()
    assert len(kept(study)) == 2
    assert len(read_pictures(study)) == 2
    with (study / "web" / "pictures.csv").open("ab") as file:
        file.write(b"torn,http://example.org/half")  # as a kill in the middle of a row leaves it
    (study / "web" / "pictures" / ".writing-1-x.png").write_bytes(b"half")
    server.picture("/2.png", good[2])
    again = fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert (again.came, again.there) == (1, 2)
    assert [server.times(f"/{k}.png") for k in range(3)] == [1, 1, 2]
    assert list(read_pictures(study)) == urls
    assert not [name for name in os.listdir(study / "web" / "pictures") if name.startswith(".")]


def test_what_is_no_picture_is_told(server: Server, study: Path) -> None:
    whole = picture(1)
    urls = [
        server.picture("/torn.png", whole[: len(whole) // 2]),
        server.picture("/text.png", b"no picture"),
        server.picture("/page.png", whole, "text/html; charset=utf-8"),
        server.picture("/empty.png", b""),
        server.picture("/drawing.svg", b"<svg xmlns='http://www.w3.org/2000/svg'/>", "image/svg+xml"),
        server.picture("/map.ppm", picture(2, kind="PPM")),
        server.picture("/plain.png", picture(3), "application/octet-stream"),
        f"{server.url}/gone.png",
        "ftp://example.org/x.png",
    ]
    brought = fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert (brought.came, brought.failed) == (1, 8)
    assert (
        "1 new image, 8 could not be downloaded (failures.csv); the first: ftp://example.org/x.png: "
        in repr(brought)
    )
    told = reasons(study)
    assert "says it is text/html" in told["page.png"]
    assert "404" in told["gone.png"]
    assert "PPM is not supported" in told["map.ppm"]
    assert "expected http" in told["x.png"]
    assert set(told) == {
        "torn.png",
        "text.png",
        "page.png",
        "empty.png",
        "drawing.svg",
        "map.ppm",
        "gone.png",
        "x.png",
    }
    assert len(kept(study)) == 1
    assert fs.status(str(study)).stages[0][2].endswith("failures.csv has 8 rows")


def test_a_decompression_bomb_is_refused(
    server: Server, study: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("faultscape.formats.guard.MAX_PIXELS", 1000)
    fs.collect(
        study,
        **group_options(fs.collect, {"urls": listed(study, server.picture("/bomb.png", picture(1))), **FAST}),
    )
    assert "more than 1000 pixels" in reasons(study)["bomb.png"]


def test_a_file_has_the_ending_of_what_it_is(server: Server, study: Path) -> None:
    urls = [
        server.picture(f"/{kind}.png", picture(k, kind=kind), f"image/{kind}")
        for k, kind in enumerate(("JPEG", "WEBP", "GIF", "BMP"))
    ]
    fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert [name.rpartition(".")[2] for name in kept(study)] == [
        row.file.rpartition(".")[2] for row in sorted(read_pictures(study).values(), key=lambda r: r.id)
    ]
    assert {name.rpartition(".")[2] for name in kept(study)} == {"jpg", "webp", "gif", "bmp"}


def test_duplicates_of_each_other_and_of_the_study_are_left_out(server: Server, study: Path) -> None:
    photos = study.parent / "photos"
    photos.mkdir()
    (photos / "one.png").write_bytes(picture(1))
    fs.collect(str(study), str(photos))
    larger = io.BytesIO()
    Image.open(io.BytesIO(picture(2))).resize((128, 96)).save(larger, "JPEG", quality=90)
    urls = [
        server.picture("/as-the-study.png", picture(1)),
        server.picture("/two.png", picture(2)),
        server.picture("/again.png", picture(2)),
        server.picture("/larger.jpg", larger.getvalue(), "image/jpeg"),
        server.picture("/three.png", picture(3)),
    ]
    brought = fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert (brought.came, brought.left_out, brought.for_review) == (2, 3, 2)
    told, two = reasons(study), read_pictures(study)[urls[1]].id
    assert told == {
        "as-the-study.png": "the same image as one of the study",
        "again.png": f"the same image as {two}",
        "larger.jpg": f"near-duplicate of {two}",
    }
    again = fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    assert (again.there, again.came) == (5, 0)
    assert reasons(study) == told
    assert server.times("/larger.jpg") == 1


def test_the_smallest_size_counts_and_a_looser_one_lets_more_in(server: Server, study: Path) -> None:
    urls = [
        server.picture(f"/{w}x{h}.png", picture(w * h, (w, h)))
        for w, h in ((64, 48), (63, 48), (64, 47), (128, 96))
    ]
    brought = fs.collect(
        study, **group_options(fs.collect, {"urls": listed(study, *urls), "min_size": "64x48", **FAST})
    )
    assert (brought.came, brought.left_out) == (2, 2)
    assert reasons(study)["63x48.png"] == "its 63 x 48 pixels are below --min-size 64x48"
    assert (
        fs.collect(
            study, **group_options(fs.collect, {"urls": listed(study, *urls), "min_size": (64, 48), **FAST})
        ).came
        == 0
    )
    looser = fs.collect(
        study, **group_options(fs.collect, {"urls": listed(study, *urls), "min_size": "32x32", **FAST})
    )
    assert (looser.came, looser.there, looser.for_review) == (2, 2, 4)
    assert [server.times(f"/{name}.png") for name in ("64x48", "63x48", "128x96")] == [1, 2, 1]
    assert reasons(study) == {}


def test_only_pictures_that_can_be_seen_through(server: Server, study: Path) -> None:
    grey = io.BytesIO()
    Image.fromarray(np.zeros((48, 64), np.uint8)).save(grey, "PNG", transparency=0)
    urls = [
        server.picture("/cut-out.png", picture(1, alpha=0.5)),
        server.picture("/opaque.png", picture(2)),
        server.picture("/full-alpha.png", picture(3, alpha=0.0)),
        server.picture("/nothing.png", picture(4, alpha=1.0)),
        server.picture("/key.png", grey.getvalue()),
    ]
    brought = fs.collect(
        study, **group_options(fs.collect, {"urls": listed(study, *urls), "transparent": True, **FAST})
    )
    assert (brought.came, brought.left_out) == (1, 4)
    assert read_pictures(study)[urls[0]].transparent == 0.5
    told = reasons(study)
    assert told["opaque.png"] == told["full-alpha.png"] == "it has no transparency"
    assert told["nothing.png"] == told["key.png"] == "it is fully transparent"
    with Image.open(study / "web" / "thumbnails" / f"{read_pictures(study)[urls[0]].id}.webp") as small:
        assert small.mode == "RGBA"


def test_a_cut_out_object_has_a_hundredth_that_is_clear_and_a_hundredth_that_is_not(
    server: Server, study: Path
) -> None:
    def see_through(clear: int) -> bytes:
        pixels, out = np.random.default_rng(clear).integers(0, 256, (20, 50, 4), np.uint8), io.BytesIO()
        pixels[..., 3] = 255 * (np.arange(1000).reshape(20, 50) >= clear)  # of a thousand pixels
        Image.fromarray(pixels).save(out, "PNG")
        return out.getvalue()

    urls = [server.picture(f"/{clear}.png", see_through(clear)) for clear in (9, 10, 990, 991)]
    fs.collect(
        study,
        **group_options(
            fs.collect, {"urls": listed(study, *urls), "transparent": True, "min_size": "8x8", **FAST}
        ),
    )
    assert reasons(study) == {"9.png": "it has no transparency", "991.png": "it is fully transparent"}


def test_the_window_of_dates_holds_its_first_day_and_not_its_last(server: Server, study: Path) -> None:
    days = {"a": "2024-02-29", "b": "2024-03-01", "c": "2024-03-31T23:59:59Z", "d": "2024-04-01", "e": ""}
    rows = [{"url": server.picture(f"/{k}.png", picture(ord(k))), "date": d} for k, d in days.items()]
    brought = fs.collect(
        study,
        **group_options(
            fs.collect, {"urls": table(study, *rows), "after": "2024-03-01", "before": "2024-04-01", **FAST}
        ),
    )
    assert brought.came == 2
    assert set(reasons(study)) == {"a.png", "d.png", "e.png"}
    assert "its date is not known" in reasons(study)["e.png"]
    # outside of the window is not asked for
    assert [server.times(f"/{k}.png") for k in "abcde"] == [0, 1, 1, 0, 0]


def test_a_table_says_what_is_known_of_each_picture(server: Server, study: Path) -> None:
    row = {
        "url": server.picture("/a.png", picture(1)),
        "id": "my-cat",
        "query": "cat",
        "title": "Cat, asleep",
        "licence": "CC BY 4.0",
    }
    row |= {"creator": "somebody", "source": "my site", "date": "2024-03-01"}
    fs.collect(str(study), **group_options(fs.collect, {"urls": table(study, row), **FAST}))
    held = read_pictures(study)[row["url"]]
    assert {name: getattr(held, name) for name in row} == row
    assert kept(study) == ["my-cat.png"]


def test_a_hostile_table_does_no_harm(
    server: Server, study: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    url = server.picture("/a.png", picture(1))
    rows = [
        {"url": url, "id": "../../escape", "title": ""},
        {"url": f"{url}?1", "id": "a/b", "title": ""},
        {"url": f"{url}?2", "id": "+cmd", "title": ""},
        {"url": f"{url}?3", "id": "good", "title": '=HYPERLINK(1)\r\n\x1b[31m,"x"\x00\u202e'},
        {"url": f"{url}?4", "id": "good", "title": ""},
        {"url": "http://a\x07b/", "id": "", "title": ""},
    ]
    path = Path(table(study, *rows))
    path.write_bytes(path.read_bytes().replace(b"\x00", b""))
    assert main(["collect", str(study), "--urls", str(path), "--rate", "1000"]) == 0
    assert "1 new image" in capsys.readouterr().out
    assert kept(study) == ["good.png"]
    assert not list(study.parent.rglob("*escape*"))
    told = (study / "failures.csv").read_text()
    assert told.count("cannot name an image") + told.count("cannot be an image id") == 3
    assert "another URL in the list has the id 'good'" in told
    text = (study / "web" / "pictures.csv").read_text()
    assert "'=HYPERLINK(1)" in text
    assert all(c.isprintable() or c == "\n" for c in text)
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("x.csv", "address\nhttp://example.org\n", "has no column 'url'"),
        ("x.csv", b"url\n\xff\xfe\n", "cannot be read as CSV in UTF-8"),
        ("x.txt", "\n# nothing\n", "names no URLs; expected one per line"),
        ("x.json", "[]", "ending in .txt or .csv"),
        ("none.txt", None, "No such file"),
    ],
)
def test_a_list_that_is_none_is_told(study: Path, name: str, text: str | bytes | None, told: str) -> None:
    path = study.parent / name
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with refused(CorpusError, told):
        fs.collect(str(study), **group_options(fs.collect, {"urls": str(path), **FAST}))


def test_a_damaged_table_of_pictures_is_told(server: Server, study: Path) -> None:
    fs.collect(
        study,
        **group_options(fs.collect, {"urls": listed(study, server.picture("/a.png", picture(1))), **FAST}),
    )
    path = study / "web" / "pictures.csv"
    path.write_text(path.read_text().replace(",64,48,", ",many,48,"))
    with refused(StudyError, r"pictures\.csv is damaged"):
        fs.collect(study, **group_options(fs.collect, {"urls": listed(study, f"{server.url}/a.png"), **FAST}))


def test_the_same_list_makes_the_same_bytes(server: Server, study: Path, tmp_path: Path) -> None:
    urls = [server.picture(f"/{k % 4}.png?{k}", picture(k % 4)) for k in range(6)]
    fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls[:3]), **FAST}))
    fs.collect(str(study), **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}))
    (tmp_path / "elsewhere").mkdir()
    other = tmp_path / "elsewhere" / "study"
    fs.collect(
        other,
        classes=tmp_path / "classes.json",
        **group_options(fs.collect, {"urls": listed(study, *urls), **FAST}),
    )
    names = [
        p.relative_to(study)
        for p in sorted((study / "web").rglob("*"))
        if p.is_file() and p.name != "queries-offered.csv"
    ]
    assert len(names) == 4 * 2 + 2
    assert all((study / name).read_bytes() == (other / name).read_bytes() for name in names)


def test_where_nothing_came_the_line_says_why_and_sends_nobody_to_an_empty_page(
    server: Server, study: Path
) -> None:
    brought = fs.collect(
        study, **group_options(fs.collect, {"urls": listed(study, f"{server.url}/gone.png"), **FAST})
    )
    assert "0 new images, 1 could not be downloaded (failures.csv); the first: " in repr(brought)
    assert "gone.png: " in repr(brought)
    assert "404 Not Found" in repr(brought)
    assert "next:" not in repr(brought)
