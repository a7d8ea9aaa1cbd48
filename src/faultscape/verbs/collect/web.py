"""Images from the web: search terms, downloads for review, and the images that a person accepts.

Conventions: the caller holds the study's lock. Everything stays in STUDY/queries.csv and STUDY/web until
`--accept`.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.arguments import place_text
from faultscape.corpus.web import harvest, hits, terms
from faultscape.corpus.web.addresses import names_private
from faultscape.corpus.web.http_client import Web, agent
from faultscape.errors import CorpusError, OptionError, counted
from faultscape.progress import progress
from faultscape.reading.study import Study
from faultscape.reporting.review import ReviewCard, review_pages
from faultscape.study.folder import put
from faultscape.study.settings import parse_size
from faultscape.study.tables.logs import Failure, log, read_failures, replace_failures
from faultscape.study.tables.web_pictures import (
    FOLDER,
    WebPicture,
    read_decisions,
    read_pictures,
    read_terms,
    write_decisions,
    write_terms,
)
from faultscape.verbs.collect.downloads import Downloads, from_searches
from faultscape.verbs.collect.options import WebImages
from faultscape.verbs.collect.result import Downloaded, Queries

if TYPE_CHECKING:
    from faultscape.corpus.web.hits import Wanted

_STEPS = {  # steps, and the options that apply to each
    "queries": ("wordnet", "hyponyms"),
    "urls": ("contact", "rate", "after", "before", "min_size", "transparent"),
    "api": ("contact", "rate", "after", "before", "min_size", "transparent", "per_query", "licence"),
    "accept": (),
}


def step_of(images: Sequence[str], asked: WebImages) -> Callable[[Study], Queries | Downloaded] | None:
    """Return the step that is asked for as a function of the study, or None for plain images and
    --accept; OptionError if options do not go together.
    """

    def spelled(name: str) -> str:
        return f"--{name.replace('_', '-')}"

    given = {name: value for name, value in asdict(asked).items() if value is not None and value is not False}
    steps = [name for name in _STEPS if name in given]
    if len(steps) > 1:
        raise OptionError(f"{spelled(steps[0])} and {spelled(steps[1])} are separate steps; give one of them")
    for name in given:
        homes = [home for home in _STEPS if name in _STEPS[home]]
        if homes and not set(homes) & set(steps):
            raise OptionError(f"{spelled(name)} needs {' or '.join(spelled(home) for home in homes)}")
    if not steps:
        return None
    step = steps[0]
    if images:
        raise OptionError(
            f"{spelled(step)} cannot be combined with folders of images; collect those in a separate command"
        )
    if step == "queries":
        if asked.hyponyms and asked.wordnet is None:
            raise OptionError("--hyponyms needs --wordnet FOLDER")
        return functools.partial(_queries, wordnet=place_text(asked.wordnet), hyponyms=asked.hyponyms)
    if step == "accept":
        return None
    rate = float(given.get("rate", 1.0))
    per_query = int(given.get("per_query", 50))
    if not 0.001 <= rate <= 1000:
        raise OptionError(f"--rate must be 0.001 to 1000 requests per second; got {rate:g}")
    if per_query < 1:
        raise OptionError(f"--per-query must be 1 or more; got {per_query}")
    kinds = hits.LICENCES
    if (licence := asked.licence or "open") not in kinds:
        raise OptionError(f"--licence {licence!r} is not known; use {', '.join(kinds)}")
    after = hits.option_day("after", asked.after)
    before = hits.option_day("before", asked.before)
    if after and before and after >= before:
        raise OptionError(f"--after {after} --before {before}: no day is between them")
    smallest = None if asked.min_size is None else parse_size(str(asked.min_size))
    wanted = hits.Wanted(after, before, smallest, asked.transparent, licence)
    contact = asked.contact or ""
    agent(contact)
    if asked.api is not None:
        harvest.address(asked.api)
        if not contact:
            raise OptionError(
                "--api sends requests to other people's servers; identify yourself with --contact, an e-mail"
                " address or a web page"
            )
    return functools.partial(
        _download,
        wanted=wanted,
        urls=place_text(asked.urls),
        api=asked.api,
        contact=contact,
        rate=rate,
        per_query=per_query,
    )


def _queries(study: Study, *, wordnet: str | None, hyponyms: bool) -> Queries:
    """Write STUDY/queries.csv."""
    root = study.root
    settings = study.settings
    classes = study.classes
    only = settings.only
    named = [
        n
        for n, id_ in zip(classes.names, classes.ids, strict=True)
        if id_ != classes.background and (not only or n in only)
    ]
    nouns = [terms.spoken(name) for name in named]
    known = terms.senses(Path(wordnet), nouns) if wordnet else {}
    held = read_terms(root / "queries.csv")
    offered = read_terms(root / FOLDER / "queries-offered.csv")
    lines, offered = terms.merge(
        held,
        offered,
        terms.terms(classes, known, hyponyms=hyponyms, only=only, pairs=not settings.classifies),
        classes.names,
    )
    write_terms(root / FOLDER / "queries-offered.csv", offered)
    write_terms(root / "queries.csv", lines)
    log(root, "collect", queries=len(lines), wordnet=wordnet, hyponyms=hyponyms)
    new = len({line.query for line in lines} - {line.query for line in held})
    unknown = tuple(noun for noun in nouns if noun not in known) if wordnet else ()
    return Queries(str(root), len(lines), new, dict(Counter(line.kind for line in lines)), unknown)


def _download(
    study: Study,
    *,
    wanted: Wanted,
    urls: str | None,
    api: str | None,
    contact: str,
    rate: float,
    per_query: int,
) -> Downloaded:
    """Download into STUDY/web, and write the review pages and failures.csv, even if interrupted."""
    root = study.root
    listed, bad = hits.read_list(Path(urls)) if urls is not None else ([], [])
    lines = read_terms(root / "queries.csv") if api is not None else []
    if api is not None and not lines:
        raise CorpusError(
            f"{root}/queries.csv has no search terms; write some with: faultscape collect {root} --queries"
        )
    web = Web(contact=contact, rate=rate)
    downloads = Downloads(
        root, web, wanted, [image for image in study.corpus.images() if image.set != FOLDER]
    )
    downloads.failures += [Failure("collect", FOLDER, url, reason) for url, reason in bad]
    downloads.counts.failed += len(bad)
    stopped = ""
    try:
        if api is not None:
            where = harvest.address(api)
            with progress("search", len(lines)) as tick:
                search = harvest.searching(api, web, where)
                stopped = from_searches(
                    downloads,
                    search,
                    lines,
                    wanted,
                    api=api,
                    per_query=per_query,
                    named=names_private(where),
                    tick=tick,
                )
        with progress("download", len(listed)) as tick:
            downloads.take_all([(hit, names_private(hit.url)) for hit in listed], tick)
    finally:
        shown = _written_down(root, downloads)
    log(root, "collect", urls=urls, api=api, came=downloads.counts.came, failed=downloads.counts.failed)
    c = downloads.counts
    wrong = downloads.failures
    first = f"{wrong[0].image}: {wrong[0].reason}" if wrong else ""
    return Downloaded(str(root), c.came, c.there, c.left_out, c.failed, shown, stopped, first)


def _written_down(root: Path, downloads: Downloads) -> int:
    """Write the failures of a download and the review pages; return how many images are ready for review."""
    web = ("http:", "https:", *(f"{api}:" for api in harvest.APIS))
    done = downloads.tried | downloads.pictures.keys()
    old = [f for f in read_failures(root) if (f.stage, f.name) == ("collect", FOLDER)]
    kept = [f for f in old if not f.image.startswith(web) or f.image not in done]
    out = [Failure("collect", FOLDER, p.url, p.left_out) for p in downloads.pictures.values() if p.left_out]
    replace_failures(root, "collect", FOLDER, [*kept, *downloads.failures, *out])
    return _review(root, downloads.pictures.values())


def _review(root: Path, pictures: Iterable[WebPicture]) -> int:
    """Write the review pages of the images that are ready for review, and delete pages that are no longer
    needed.
    """
    folder = root / FOLDER
    decisions = _decisions(root)
    cards = []
    for p in pictures:
        if p.left_out:
            continue
        small = f"thumbnails/{p.id}.webp"
        shown = small if (folder / small).is_file() else p.file
        words = (p.query, p.title, p.licence, p.creator, p.source, p.date, p.page)
        cards.append(
            ReviewCard(
                p.id, p.file, shown, p.width, p.height, *words, decisions.get(p.id, ""), p.transparent > 0
            )
        )
    pages = review_pages(root.resolve().name, cards)
    for name, text in pages.items():
        put(folder / name, text.encode("utf-8"))
    for left in folder.glob("review-*.html"):
        if left.name not in pages:
            left.unlink()
    return len(cards)


def _decisions(root: Path) -> dict[str, str]:
    path = root / FOLDER / "accept.csv"
    return {id_: word for id_, word in read_decisions(path).items() if word} if path.exists() else {}


def accept(study: Study, file: Path) -> tuple[str, ...]:
    """Merge the decisions of a file with earlier ones, print the counts, and return the files of all accepted
    images.
    """
    root = study.root
    if not file.is_file():
        raise CorpusError(
            f"--accept {file}: no such file; save it with the button in {root}/{FOLDER}/review.html"
        )
    fresh = read_decisions(file)
    pictures = {p.id: p for p in read_pictures(root).values() if not p.left_out}
    if strangers := [id_ for id_ in fresh if id_ not in pictures]:
        raise CorpusError(
            f"{file}: {len(strangers)} of its ids are not in {root}/{FOLDER}, the first: {strangers[0]!r};"
            " check that the file belongs to this study"
        )
    decisions = {id_: word for id_, word in (_decisions(root) | fresh).items() if id_ in pictures and word}
    accepted = [p for id_, p in pictures.items() if decisions.get(id_) == "accept"]
    if gone := [p for p in accepted if not (root / FOLDER / p.file).is_file()]:
        raise CorpusError(
            f"{root}/{FOLDER}/{gone[0].file} is missing ({len(gone)} such); download again, then accept"
        )
    rejected = {id_ for id_, word in decisions.items() if word == "reject"}
    if not accepted:
        raise CorpusError(
            f"{file}: accepts no image ({len(rejected)} rejected, {len(pictures) - len(rejected)}"
            " undecided); nothing is collected"
        )
    with study.writing():
        write_decisions(root, decisions)
        _review(root, read_pictures(root).values())
    print(
        f"{counted(len(accepted), 'image')} accepted, {len(rejected)} rejected,"
        f" {len(pictures) - len(decisions)} left undecided"
    )
    sources = {str((root / FOLDER / pictures[id_].file).absolute()) for id_ in rejected}
    if held := sum(image.source in sources for image in study.corpus.images()):
        print(
            f"{held} of the rejected images are already in the study and stay; discard them with `label"
            " import`"
        )
    return tuple(str(root / FOLDER / p.file) for p in accepted)
