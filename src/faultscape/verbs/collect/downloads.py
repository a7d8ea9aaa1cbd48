"""Download images into STUDY/web, one at a time: each is checked and recorded before the next.

Conventions: images that came, and images that were left out, are recorded and not requested again unless the
options now admit them. An image that did not come is a failure; the next run requests it again. An image is
left out as a duplicate of the first one that came, or of one in the study. Hosts of a list are queried in
parallel, each in the order of the list, so that a slow host delays only its own images.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from faultscape.corpus.duplicates import Groups
from faultscape.corpus.web.addresses import clean
from faultscape.corpus.web.hits import Hit, Wanted, line, too_early_or_late, too_small
from faultscape.corpus.web.http_client import ClosedError, Web
from faultscape.corpus.web.pictures import Look, look, not_transparent
from faultscape.errors import FaultscapeError, WebError
from faultscape.study.folder import TEMPORARY, check_name, make_folder, put
from faultscape.study.tables.corpus import Image
from faultscape.study.tables.logs import Failure
from faultscape.study.tables.web_pictures import FOLDER, Term, WebPicture, add_picture, read_pictures

PICTURE_BYTES = 64_000_000
HOSTS = 8  # queried in parallel
_SAME = "the same image as "
_NEAR = "near-duplicate of "


@dataclass
class Counts:
    """Counts of one download: images that came, were left out, failed, or were there before."""

    came: int = 0
    left_out: int = 0
    failed: int = 0
    there: int = 0


class Downloads:
    """One run of downloads into a study's web folder; ``failures`` are those of this run, ``tried`` the URLs
    it requested.
    """

    def __init__(self, root: Path, web: Web, wanted: Wanted, corpus: Iterable[Image] = ()) -> None:
        self._root = root
        self._web = web
        self._wanted = wanted
        self.pictures = read_pictures(root)
        self.counts = Counts()
        self.failures: list[Failure] = []
        self.tried: set[str] = set()
        self._lock = threading.Lock()
        self._ended = False
        self._ids = {picture.id: url for url, picture in self.pictures.items()}
        self._digests: dict[str, str] = {}
        self._groups = Groups()
        self._names = []
        kept = (p for p in self.pictures.values() if not p.left_out)
        for name, digest, dhash in [
            *((f"{i.id} of the study", i.digest, i.dhash) for i in corpus),
            *((p.id, p.sha256, p.dhash) for p in kept),
        ]:
            self._remember(name, digest, dhash)
        for folder in ("pictures", "thumbnails"):
            make_folder(root / FOLDER / folder)
            for left in (root / FOLDER / folder).glob(f"{TEMPORARY}*"):
                left.unlink()

    def take(self, hit: Hit, named: str = "") -> bool:
        """Download an image unless it is there, and return whether it is ready for review. ``named`` is the
        private server that the user named.
        """
        with self._lock:
            known = self._known(hit)
        if isinstance(known, bool):
            return known
        hit, held = known
        try:
            answer = self._web.get(hit.url, limit=PICTURE_BYTES, named=named)
            seen = look(answer.body, answer.headers.get("content-type", ""))
        except WebError as error:
            with self._lock:
                return self._fail(hit.url, str(error))
        with self._lock:
            return not self._ended and self._keep(hit, seen, answer.body, held)

    def take_all(self, hits: Iterable[tuple[Hit, str]], tick: Callable[[int], None] = lambda _: None) -> None:
        """Download a list of images, each with the private server that the user named, from several hosts in
        parallel. If interrupted, unfinished downloads are dropped.
        """
        hosts: dict[str, list[tuple[Hit, str]]] = {}
        for hit, named in hits:
            hosts.setdefault(urlsplit(hit.url).netloc, []).append((hit, named))

        def one_host(mine: list[tuple[Hit, str]]) -> None:
            for hit, named in mine:
                if self._ended:
                    return
                self.take(hit, named)
                with self._lock:
                    tick(1)

        pool = ThreadPoolExecutor(HOSTS)
        try:
            for done in as_completed([pool.submit(one_host, mine) for mine in hosts.values()]):
                done.result()
        finally:
            with self._lock:
                self._ended = True
            pool.shutdown(wait=False, cancel_futures=True)

    def _known(self, hit: Hit) -> bool | tuple[Hit, WebPicture | None]:
        """Return a hit to request, with what is known about it; or, if no request is needed, whether it is
        ready for review.
        """
        try:
            hit = replace(hit, url=clean(hit.url), id=check_name(hit.id, "image"))
        except FaultscapeError as error:
            return self._fail(line(hit.url, 500), str(error))
        if hit.url in self.tried:
            return False
        self.tried.add(hit.url)
        held = self.pictures.get(hit.url)
        if held and self._settled(held):
            self.counts.there += 1
            return not held.left_out
        if self._ids.get(hit.id, hit.url) != hit.url:
            return self._fail(hit.url, f"another URL has the id {hit.id!r}")
        early = too_early_or_late(hit, self._wanted)
        small = too_small(hit.width, hit.height, self._wanted) if hit.width and hit.height else ""
        return self._fail(hit.url, early or small) if early or small else (hit, held)

    def _keep(self, hit: Hit, seen: Look, data: bytes, held: WebPicture | None) -> bool:
        """Write a downloaded image, or the reason why it is left out."""
        about = seen.picture
        gone = bool(held and not held.left_out)  # it was up for review, and its file is gone
        reason = self._unfit(about.width, about.height, seen.transparent)
        reason = reason or ("" if gone else self._double(about.digest, about.dhash))
        name = f"{hit.id}{seen.ending}"
        if not reason:
            put(self._root / FOLDER / "thumbnails" / f"{hit.id}.webp", seen.thumbnail)
            put(self._root / FOLDER / "pictures" / name, data)
            if not gone:
                self._remember(hit.id, about.digest, about.dhash)
        words = (
            hit.id,
            hit.url,
            hit.query,
            hit.title,
            hit.licence,
            hit.creator,
            hit.source,
            hit.date,
            hit.page,
        )
        size = (about.digest, about.width, about.height, about.dhash or 0, seen.transparent)
        row = WebPicture(*words, *size, "" if reason else f"pictures/{name}", reason)
        add_picture(self._root, row)
        self.pictures[hit.url] = row
        self._ids[hit.id] = hit.url
        self.counts.left_out += bool(reason)
        self.counts.came += not reason
        return not reason

    def _settled(self, held: WebPicture) -> bool:
        """Return whether an image that came before need not be requested again."""
        if not held.left_out:
            return (self._root / FOLDER / held.file).is_file()
        return held.left_out.startswith((_SAME, _NEAR)) or bool(
            self._unfit(held.width, held.height, held.transparent)
        )

    def _unfit(self, width: int, height: int, transparent: float) -> str:
        """Return why an image's own properties exclude it, or ''."""
        return too_small(width, height, self._wanted) or (
            not_transparent(transparent) if self._wanted.transparent else ""
        )

    def _double(self, digest: str, dhash: int | None) -> str:
        """Return what an image duplicates, or '' for a new image."""
        if digest in self._digests:
            return f"{_SAME}{self._digests[digest]}"
        near = None if dhash is None else self._groups.nearest(dhash)
        return "" if near is None else f"{_NEAR}{self._names[near]}"

    def _remember(self, name: str, digest: str, dhash: int | None) -> None:
        self._digests.setdefault(digest, name)
        if dhash is not None and self._groups.nearest(dhash) is None:
            self._groups.add(dhash)
            self._names.append(name)

    def _fail(self, url: str, reason: str) -> bool:
        self.failures.append(Failure("collect", FOLDER, url, reason))
        self.counts.failed += 1
        return False


def from_searches(
    downloads: Downloads,
    search: Callable[[str, Wanted], Iterator[Hit]],
    terms: Iterable[Term],
    wanted: Wanted,
    *,
    api: str,
    per_query: int,
    named: str = "",
    tick: Callable[[int], None] = lambda _: None,
) -> str:
    """Search for each term until enough of its images are ready for review; return why the API was abandoned,
    or ''.
    """
    kept: dict[str, int] = {}
    for picture in downloads.pictures.values():
        if picture.source.partition("/")[0] == api and not picture.left_out:
            kept[picture.query] = kept.get(picture.query, 0) + 1
    for term in terms:
        place = f"{api}:{term.query}"
        if kept.get(term.query, 0) < per_query:
            downloads.tried.add(place)
            try:
                _search(downloads, search(term.query, wanted), per_query - kept.get(term.query, 0), named)
            except ClosedError as error:
                downloads.failures.append(Failure("collect", FOLDER, place, str(error)))
                return str(error)
            except WebError as error:
                downloads.failures.append(Failure("collect", FOLDER, place, str(error)))
                downloads.counts.failed += 1
        tick(1)
    return ""


def _search(downloads: Downloads, hits: Iterator[Hit], wanted: int, named: str) -> None:
    """Take hits until enough new ones are ready for review; hits of other queries do not count."""
    for hit in hits:
        there = downloads.counts.there
        if downloads.take(hit, named) and downloads.counts.there == there:
            wanted -= 1
        if wanted <= 0:
            return
