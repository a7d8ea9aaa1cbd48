"""Masks that people send in from the browser become their truth; what was made to do harm is refused in a
sentence, and nothing of it stays.
"""

from __future__ import annotations

import io
import json
import re
import struct
import tempfile
import threading
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("fastapi", reason="no fastapi: the extra app is not installed")

import made
import made_entrance
from faultscape.formats import labelme
from faultscape.formats.label_tools.tool_labels import DrawnImage
from faultscape.labelling.catalogue import find_format
from faultscape.maps import runs
from faultscape.reading.study import Study
from faultscape.study.answers.annotators import ORGANISER
from faultscape.study.lock import writing
from faultscape.study.settings import read_settings
from faultscape.study.tables import label_maps
from faultscape.study.tables.corpus import read_corpus
from faultscape.study.tables.logs import read_failures
from faultscape.verbs.serve.pages import masks as mask_pages
from made_entrance import IDS, Entrance, Person

PLAIN = IDS[5:]  # the ids that no tool has trouble with


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where files are kept meanwhile: in the end nothing is."""
    made_entrance.whole()
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    yield folder
    assert list(folder.rglob("*")) == []


@pytest.fixture
def entrance(tmp_path: Path, temporary: Path) -> Iterator[Entrance]:  # noqa: ARG001 - before the study is open
    with made_entrance.entrance(made_entrance.study(tmp_path)) as held:
        yield held


@pytest.fixture
def ann(entrance: Entrance) -> Person:
    return entrance.invited("ann")


def zipped(files: Mapping[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", kind) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return out.getvalue()


def png(values: np.ndarray) -> bytes:
    out = io.BytesIO()
    Image.fromarray(values).save(out, "PNG")
    return out.getvalue()


def drawn(count: int = 3) -> dict[str, np.ndarray]:
    """What somebody drew: {id: (36, 48) ids}."""
    rng = np.random.default_rng(11)
    return {id_: made.blobs(rng, (36, 48)) for id_ in PLAIN[:count]}


def sent(person: Person, data: Any, **headers: str) -> tuple[int, list[str]]:
    """Send a file, and return the status and what is said."""
    answer = person.client.post("/masks", content=data, headers={"x-faultscape": person.token, **headers})
    assert set(answer.json()) - {"partly"} == {"words"}
    return answer.status_code, answer.json()["words"]


def kept(entrance: Entrance, truth: str) -> dict[str, np.ndarray]:
    """The masks of a truth, as places."""
    found: dict[str, bytes] = {}
    for number in {image.shard for image in read_corpus(entrance.root)}:
        found |= label_maps.read_maps(label_maps.truth(entrance.root, truth), number)
    return {id_: runs.decode(code, np.arange(len(made_entrance.CLASSES))) for id_, code in found.items()}


def bundle(entrance: Entrance, name: str, masks: Mapping[str, np.ndarray], folder: Path) -> dict[str, bytes]:
    """The files that a tool would write of some masks, {path: bytes}."""
    form, classes = find_format(name, "segmentation"), read_settings(entrance.root).class_list
    assert form.kind == "bundle"
    images = [DrawnImage(id_, f"images/{id_}.png", (48, 36), mask) for id_, mask in masks.items()]
    return {str(path.relative_to(folder)): data for path, data in form.write(folder, images, classes)}


def tool(entrance: Entrance, name: str, masks: Mapping[str, np.ndarray], folder: Path) -> bytes:
    """What somebody uploads of a tool."""
    if name == "labelme":
        classes = read_settings(entrance.root).class_list
        return zipped(
            {
                f"mine/{id_}.json": labelme.encode("x.png", (48, 36), mask, classes)
                for id_, mask in masks.items()
            }
        )
    if name == "png":
        return zipped({f"labels/{id_}.png": png(mask) for id_, mask in masks.items()})
    files = bundle(entrance, name, masks, folder)
    if name == "cvat xml":
        return files["annotations.xml"]
    (archive,) = [data for path, data in files.items() if path.endswith(".zip")] or [zipped(files)]
    return archive


@pytest.mark.parametrize("name", ["cvat", "cvat-masks", "labelme", "png"])
@pytest.mark.parametrize("role", ["annotator", ORGANISER])
def test_what_a_tool_exports_becomes_the_truth_of_who_sends_it(
    entrance: Entrance, tmp_path: Path, name: str, role: str
) -> None:
    person, masks = entrance.invited("pat", role), drawn()
    answer = person.client.post(
        "/masks", content=tool(entrance, name, masks, tmp_path), headers={"x-faultscape": person.token}
    )
    status, said = answer.status_code, answer.json()["words"]
    truth = f"labels-{person.pseudonym}"
    assert (status, answer.json().get("partly")) == (200, False), said
    assert said[-1] == f"truth {truth}: 3 images added"
    found = kept(entrance, truth)
    assert found.keys() == masks.keys()
    assert all((found[id_] == mask).all() for id_, mask in masks.items())
    assert "You have sent 3 so far" in person.get("/masks").text
    assert truth in entrance.invited("ben").get("/checks").text  # others check them
    assert f'<td class="words">{truth}</td>' not in person.get("/checks").text
    assert (
        sent(person, tool(entrance, name, drawn(4), tmp_path))[1][-1]
        == f"truth {truth}: 1 image added, 3 unchanged"
    )


def test_whoever_a_file_names_the_labels_are_of_who_sends_them(
    entrance: Entrance, ann: Person, tmp_path: Path
) -> None:
    text = bundle(entrance, "cvat", drawn(), tmp_path)["annotations.xml"].decode()
    named = re.sub(
        r"<meta>", "<meta><task><assignee><username>eve</username></assignee></task>", text, count=1
    )
    if "<task>" in text:
        named = text.replace("<task>", "<task><assignee><username>eve</username></assignee>", 1)
    before = set(label_maps.truths(entrance.root))
    status, said = sent(ann, named.encode())
    assert (status, said[-1]) == (200, f"truth labels-{ann.pseudonym}: 3 images added")
    assert set(label_maps.truths(entrance.root)) - before == {f"labels-{ann.pseudonym}"}


def test_one_bad_label_is_said_without_paths_and_the_others_are_taken(ann: Person, tmp_path: Path) -> None:
    masks = drawn()
    files = {f"{id_}.png": png(mask) for id_, mask in masks.items()}
    files[f"{PLAIN[0]}.png"] = png(np.zeros((5, 5), np.uint8))
    files["part1/of no image.png"] = files[f"{PLAIN[1]}.png"]
    answer = ann.client.post("/masks", content=zipped(files), headers={"x-faultscape": ann.token})
    said = answer.json()["words"]
    assert (answer.status_code, answer.json()["partly"]) == (200, True), said
    assert f"truth labels-{ann.pseudonym}: 2 images added, 1 not usable (failures.csv)" in said
    assert any(
        line.startswith(f"{PLAIN[0]}: ") and "is 5 x 5 pixels, its image 48 x 36" in line for line in said
    )
    assert any("1 file matches no image of the study and is skipped" in line for line in said)
    assert not any(str(tmp_path) in line or "faultscape-masks-" in line for line in said)


@pytest.mark.parametrize("above", ["", "mine/"])
def test_the_study_names_a_file_after_who_sent_it_and_not_where_it_lay_meanwhile(
    entrance: Entrance, ann: Person, above: str
) -> None:
    good, bad = (f"{above}{PLAIN[k]}.png" for k in (0, 1))
    status, said = sent(ann, zipped({good: png(drawn()[PLAIN[0]]), bad: png(np.zeros((5, 5), np.uint8))}))
    assert status == 200
    why = f"{bad}: is 5 x 5 pixels, its image 48 x 36; both must have the same size"
    assert f"{PLAIN[1]}: {why}" in said
    (row,) = [row for row in read_failures(entrance.root) if row.name == f"labels-{ann.pseudonym}"]
    assert (row.image, row.reason) == (PLAIN[1], f"sent by {ann.pseudonym}/{why}")
    line = json.loads((entrance.root / "log.jsonl").read_text().splitlines()[-1])
    assert (line["verb"], line["source"]) == ("label import", f"sent by {ann.pseudonym}")
    for file in ("failures.csv", "log.jsonl"):
        assert "faultscape-masks-" not in (entrance.root / file).read_text()


def test_a_file_of_a_tool_is_named_after_who_sent_it_too(
    entrance: Entrance, ann: Person, tmp_path: Path
) -> None:
    text = bundle(entrance, "cvat", drawn(), tmp_path)["annotations.xml"].decode()
    assert sent(ann, text.replace('width="48"', 'width="47"', 1).encode())[0] == 200
    (row,) = [row for row in read_failures(entrance.root) if row.name == f"labels-{ann.pseudonym}"]
    assert row.reason.startswith(f"sent by {ann.pseudonym}: image ")
    assert f'"source": "sent by {ann.pseudonym}"' in (entrance.root / "log.jsonl").read_text()


def test_nobody_discards_an_image_by_a_file_in_a_zip(entrance: Entrance, ann: Person) -> None:
    files = {
        f"{PLAIN[0]}.png": png(drawn()[PLAIN[0]]),
        "discard.csv": f"image,reason\n{PLAIN[1]},mine\n".encode(),
        "study.toml": b"x",
    }
    assert sent(ann, zipped(files))[0] == 200
    assert not entrance.campaign.database.read("discards", "number")


def bomb() -> bytes:
    """A zip of 80 MB of nothing in 82 kB."""
    return zipped({f"{PLAIN[0]}.png": b"\0" * (80 << 20)})


def empty_masks(count: int, **more: bytes) -> bytes:
    """A zip of empty files that are called masks."""
    return zipped({f"SegmentationClass/{k}.png": b"" for k in range(count)} | more, zipfile.ZIP_STORED)


def swollen() -> bytes:
    """A zip whose file says that it has 10 bytes and has 8 MB."""
    data = bytearray(zipped({f"{PLAIN[0]}.png": b"\0" * (8 << 20)}))
    for mark, at in ((b"PK\x01\x02", 24), (b"PK\x03\x04", 22)):
        place = data.index(mark) + at
        data[place : place + 4] = (10).to_bytes(4, "little")
    return bytes(data)


def huge() -> bytes:
    """A PNG that says that it is 100,000 x 100,000."""
    data = bytearray(png(np.zeros((4, 4), np.uint8)))
    data[16:24] = struct.pack(">II", 100_000, 100_000)
    data[29:33] = struct.pack(">I", zlib.crc32(data[12:29]))
    return bytes(data)


def locked() -> bytes:
    data = bytearray(zipped({"a.png": b"x"}))
    for mark, at in ((b"PK\x01\x02", 8), (b"PK\x03\x04", 6)):
        data[data.index(mark) + at] |= 1
    return bytes(data)


def entities(kind: str) -> bytes:
    inside = {
        "file": '<!ENTITY x SYSTEM "file:///etc/passwd">',
        "many": '<!ENTITY a "aaaaaaaaaa"><!ENTITY x "&a;&a;&a;&a;&a;&a;&a;">',
    }[kind]
    return (
        f'<?xml version="1.0"?><!DOCTYPE annotations [{inside}]><annotations><version>1.1</version><image'
        ' id="0" name="&x;" width="48" height="36"></image></annotations>'.encode()
    )


MASK = png(np.zeros((36, 48), np.uint8))
HOSTILE: tuple[tuple[str, Callable[[], bytes], str], ...] = (
    ("nothing", lambda: b"", "not a zip, XML or JSON file"),
    ("garbage", lambda: bytes(range(256)) * 100, "not a zip, XML or JSON file"),
    ("a PNG", lambda: MASK, "not a zip, XML or JSON file"),
    ("a program", lambda: b"\x7fELF" + b"\0" * 1000, "not a zip, XML or JSON file"),
    ("a zip that is its beginning", lambda: b"PK\x03\x04", "is not a zip file, or is truncated"),
    ("a zip that is cut", lambda: zipped({"a.png": MASK})[:-30], "is not a zip file, or is truncated"),
    ("an empty zip", lambda: zipped({}), "contains neither masks"),
    ("masks without pixels, too many", lambda: empty_masks(10_001), "lists 10,001 files, and at most 10,000"),
    (
        "a tool's masks without pixels, too many",
        lambda: empty_masks(10_000, **{"labelmap.txt": b"# label:color_rgb:parts:actions\na:1,2,3::\n"}),
        "lists 10,001 files, and at most 10,000",
    ),
    (
        "a zip of other files",
        lambda: zipped({"a.exe": b"x", "b.html": b"x", "c.jsonl": b"x", "d.zip": b"x"}),
        "contains neither masks",
    ),
    ("a bomb", bomb, "would unpack to 83,886,080 bytes"),
    ("a file that says less than it has", swollen, "the file: .*part1/photo 0"),
    ("a name that leaves the folder", lambda: zipped({"../../escaped.png": MASK}), "leads out of the folder"),
    ("a name that leaves it later", lambda: zipped({"a/../../escaped.png": MASK}), "leads out of the folder"),
    ("a whole path", lambda: zipped({"/tmp/escaped.png": MASK}), "leads out of the folder"),
    ("a path of Windows", lambda: zipped({"C:\\escaped.png": MASK}), "leads out of the folder"),
    ("a file that is a folder", lambda: zipped({"a.png": MASK, "a.png/b.png": MASK}), "a.png/b.png"),
    ("a name of 5,000 letters", lambda: zipped({"x" * 5000 + ".png": MASK}), "name too long"),
    ("a password", locked, "is password-protected"),
    ("a document type of a file", lambda: entities("file"), "has a document type"),
    ("a document type that grows", lambda: entities("many"), "has a document type"),
    (
        "a document type in a zip",
        lambda: zipped({"annotations.xml": entities("file")}),
        "has a document type",
    ),
    (
        "XML of 100,000 elements deep",
        lambda: b"<annotations><version>1.1</version>" + b"<a>" * 100_000,
        "deep|not XML",
    ),
    ("XML of something else", lambda: b"<svg></svg>", "neither a file of a known labelling tool"),
    ("JSON of something else", lambda: b'{"a": 1}', "neither a file of a known labelling tool"),
    ("JSON lists within lists", lambda: b"[" * 1_000_000, "neither a file of a known labelling tool"),
    (
        "a huge PNG",
        lambda: zipped({f"{PLAIN[0]}.png": huge()}),
        "no label could be used; the first: .*(pixels|178956970)",
    ),
    (
        "a PNG that is none",
        lambda: zipped({f"{PLAIN[0]}.png": b"%!PS-Adobe-3.0 EPSF-3.0\n"}),
        "no label could be used",
    ),
    (
        "LabelMe that is none",
        lambda: zipped({f"{PLAIN[0]}.json": b"[" * 100_000}),
        "contains neither masks|no label could be used",
    ),
    (
        "masks of other images",
        lambda: zipped({"nobody.png": MASK}),
        "none of its 1 labels is named as an image",
    ),
)


@pytest.mark.parametrize(("name", "make", "says"), HOSTILE, ids=[case[0] for case in HOSTILE])
def test_a_file_that_does_harm_is_refused_in_a_sentence(
    entrance: Entrance, ann: Person, tmp_path: Path, name: str, make: Callable[[], bytes], says: str
) -> None:
    before = {path for path in tmp_path.rglob("*") if ".lock" not in path.name}
    status, said = sent(ann, make())
    assert status == 422, (name, said)
    assert len(said) == 1
    assert re.search(says, said[0]), said
    assert str(tmp_path) not in said[0]
    assert "faultscape-masks-" not in said[0]
    assert f"labels-{ann.pseudonym}" not in label_maps.truths(entrance.root)
    after = {path for path in tmp_path.rglob("*") if ".lock" not in path.name}
    assert {path.name for path in after - before} <= {"failures.csv", "log.jsonl", f"labels-{ann.pseudonym}"}
    assert not Path("/tmp/escaped.png").exists()


def test_more_than_is_taken_is_refused_whether_it_is_said_or_not(
    ann: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_pages, "MOST_BYTES", 1 << 20)
    status, said = sent(ann, b"PK" + b"x" * (1 << 20))
    assert (status, said) == (413, ["the limit is 1 MB per upload; send fewer images at once"])
    read = []

    def endless() -> Iterator[bytes]:
        for _ in range(1000):
            read.append(1)
            yield b"PK" + b"x" * 65_534

    assert sent(ann, endless())[0] == 413
    for announced in ("9" * 400, "1048577"):
        assert sent(ann, b"PK", **{"content-length": announced})[0] == 413


def test_a_zip_may_unpack_to_so_much_and_no_more(ann: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mask_pages, "MOST_UNPACKED", 100_000)
    status, said = sent(ann, zipped({f"{PLAIN[k]}.png": b"\0" * 60_000 for k in range(2)}))
    assert (status, said) == (
        422,
        ["the file: would unpack to more than 100,000 bytes; export fewer images at once"],
    )


def test_masks_are_sent_by_pages_of_ours_alone(entrance: Entrance, ann: Person) -> None:
    data = zipped({f"{PLAIN[0]}.png": MASK})
    for headers in ({}, {"x-faultscape": "x"}, {"x-faultscape": ann.token, "origin": "https://evil.example"}):
        assert ann.client.post("/masks", content=data, headers=headers).status_code == 403
    assert entrance.client().post("/masks", content=data).status_code == 401
    assert f"labels-{ann.pseudonym}" not in label_maps.truths(entrance.root)


def test_while_another_program_writes_to_the_study_that_is_said(entrance: Entrance, ann: Person) -> None:
    with writing(entrance.root):
        status, said = sent(ann, zipped({f"{PLAIN[0]}.png": MASK}))
    assert (status, said) == (409, ["another faultscape is writing to the study; wait until it has finished"])
    assert sent(ann, zipped({f"{PLAIN[0]}.png": MASK}))[0] == 200


class Held:
    """Takes masks in once it is let, and says what others print."""

    def __init__(self) -> None:
        self.begun, self.go = threading.Event(), threading.Event()

    def __call__(self, _: Study, __: Path, truth: str, *___: object) -> object:
        print(f"mine of {truth}")
        self.begun.set()
        assert self.go.wait(20)
        return truth


def test_one_person_sends_one_file_at_a_time_and_is_told_what_their_own_says(
    entrance: Entrance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    held = Held()
    monkeypatch.setattr(mask_pages, "import_masks", held)
    first, second = entrance.invited("ann"), entrance.invited("ben")
    data, said = zipped({f"{PLAIN[0]}.png": MASK}), {}
    work = [
        threading.Thread(target=lambda p=p: said.update({p.pseudonym: sent(p, data)}))
        for p in (first, second)
    ]
    work[0].start()
    assert held.begun.wait(20)
    assert sent(first, data) == (429, ["your previous file is still being read; wait until it is done"])
    work[1].start()
    print("of others")
    held.go.set()
    for thread in work:
        thread.join(20)
    for person in (first, second):
        assert said[person.pseudonym] == (
            200,
            [f"mine of labels-{person.pseudonym}", f"'labels-{person.pseudonym}'"],
        )
    assert capsys.readouterr().out.endswith("of others\n")


def test_two_files_are_never_read_at_once(entrance: Entrance, monkeypatch: pytest.MonkeyPatch) -> None:
    both, met = threading.Barrier(2), []

    def take(_: Study, __: Path, truth: str, *___: object) -> object:
        with suppress(threading.BrokenBarrierError):  # nobody else came in time
            both.wait(0.3)
            met.append(truth)
        return truth

    monkeypatch.setattr(mask_pages, "import_masks", take)
    data, said = zipped({f"{PLAIN[0]}.png": MASK}), []
    people = [entrance.invited(name) for name in ("ann", "ben")]
    work = [threading.Thread(target=lambda p=p: said.append(sent(p, data)[0])) for p in people]
    for thread in work:
        thread.start()
    for thread in work:
        thread.join(20)
    assert said == [200, 200]
    assert met == []


def test_more_senders_than_are_taken_at_once_are_told_to_wait(
    entrance: Entrance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mask_pages, "AT_ONCE", 1)
    held = Held()
    monkeypatch.setattr(mask_pages, "import_masks", held)
    first, second = entrance.invited("ann"), entrance.invited("ben")
    data = zipped({f"{PLAIN[0]}.png": MASK})
    thread = threading.Thread(target=sent, args=(first, data))
    thread.start()
    assert held.begun.wait(20)
    assert sent(second, data) == (429, ["others are sending masks; try again in a minute"])
    held.go.set()
    thread.join(20)
    assert sent(second, data)[0] == 200


def test_a_defect_of_the_reader_leaves_nothing_and_the_next_file_is_read(
    entrance: Entrance, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> object:
        raise RuntimeError("broken on purpose")

    monkeypatch.setattr(mask_pages, "import_masks", broken)
    ann = entrance.invited("ann")
    answer = ann.client.post(
        "/masks", content=zipped({f"{PLAIN[0]}.png": MASK}), headers={"x-faultscape": ann.token}
    )
    assert answer.status_code == 500
    assert "broken on purpose" in capsys.readouterr().err
    again = ann.client.post(
        "/masks", content=zipped({f"{PLAIN[0]}.png": MASK}), headers={"x-faultscape": ann.token}
    )
    assert again.status_code == 500


def test_who_goes_away_while_sending_leaves_nothing_and_no_defect(
    entrance: Entrance, ann: Person, capsys: pytest.CaptureFixture[str]
) -> None:
    import asyncio

    async def went(path: str) -> list[Any]:
        told: list[Any] = []
        coming = iter(
            [{"type": "http.request", "body": b"PK\x03\x04", "more_body": True}, {"type": "http.disconnect"}]
        )

        async def receive() -> Any:
            return next(coming)

        async def send(message: Any) -> None:
            told.append(message)

        cookie = "; ".join(f"{name}={value}" for name, value in ann.client.cookies.items())
        headers = [
            (b"host", b"127.0.0.1:8760"),
            (b"cookie", cookie.encode()),
            (b"x-faultscape", ann.token.encode()),
        ]
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": headers,
            "scheme": "http",
            "server": ("127.0.0.1", 8760),
            "client": ("127.0.0.1", 5),
            "http_version": "1.1",
            "root_path": "",
        }
        await entrance.app(scope, receive, send)
        return told

    for path in ("/masks", "/api/answers", "/leave"):
        assert asyncio.run(went(path))[0]["status"] == 400
    assert capsys.readouterr().err == ""
    assert sent(ann, zipped({f"{PLAIN[0]}.png": MASK}))[0] == 200
