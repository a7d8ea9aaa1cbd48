"""Count the missing pair parts of a study: every pair of models, and every model against each truth, in one pass over a shard."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from faultscape.errors import ModelError, StudyError
from faultscape.study.array_jobs import Share


def count(
    root: Path,
    known: list[str],
    *,
    engine: str,
    workers: int | None = None,
    mine: Share = Share(),  # noqa: B008 - a frozen default
) -> tuple[int, int]:
    """Make the missing pair parts of a study that is held for writing; returns (shards, parts) made."""
    from faultscape import engine as engines
    from faultscape.progress import progress
    from faultscape.stages.pairs import missing, wanted
    from faultscape.study.lock import changing
    from faultscape.study.parts import Part, read_manifest, write_manifest
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.corpus import part_name, read_corpus, shard_sizes
    from faultscape.study.tables.label_maps import outdated, predictions
    from faultscape.study.tables.logs import Timings
    from faultscape.study.tables.pairs import folder

    settings = read_settings(root)
    sizes = {number: size for number, size in shard_sizes(root).items() if mine.has(number)}
    if empty := [name for name in settings.models if not read_manifest(predictions(root, name))]:
        raise ModelError(
            f"{', '.join(empty)}: no maps yet; run `faultscape predict {root} NAME=SOURCE` first, or take them out of study.toml"
        )
    if any(model.kind != "folder" for model in settings.models.values()):
        for name in outdated(root, settings, ((number, read_corpus(root, number)) for number in sorted(sizes))):
            raise StudyError(
                f"the maps of {name} were made at another working size, from photos that changed since, or of some shards by another network; "
                f"run `faultscape predict {root} {name}={settings.models[name].source}` first"
            )
    for name in settings.models:
        done = read_manifest(predictions(root, name))
        if waiting := sum(part_name(number) not in done for number in sizes):
            print(
                f"note: {name} has no maps of {waiting} of {len(sizes)} shards yet; pairs with them are counted once `predict` has made them"
            )
    lacking = missing(root, wanted(root, settings, sorted(sizes), known))
    todo = sorted({part.shard for part in lacking})
    calls = [{"study": str(root), "number": s, "truths": known} for s in todo]
    differing: list[tuple[str, str, str]] = []
    timings = Timings(root)
    try:
        with progress("compare", sum(sizes[s] for s in todo)) as tick:
            for number, made in engines.run("faultscape.stages.count:shard", calls, engine=engine, workers=workers, tick=tick):
                differing += [tuple(said) for said in made["differing"]]
                s = todo[number]
                with changing(root):
                    for name in dict.fromkeys(entry["name"] for entry in made["parts"]):
                        new = {e["part"]: Part(e["sha256"], e["rows"], e["key"]) for e in made["parts"] if e["name"] == name}
                        write_manifest(folder(root, name), read_manifest(folder(root, name)) | new)
                    timings.add([{"stage": "compare", "name": "", "shard": s, "items": sizes[s], "seconds": made["seconds"]}])
    finally:
        with changing(root):
            timings.write()
    for image, one, other in sorted(differing)[:5]:
        print(f"{image}: {one} and {other} saw different bytes of this picture; collect again, then predict those models again")
    if len(differing) > 5:
        print(f"... and so it is with {len(differing) - 5} more")
    return len(todo), len(lacking)


def shard(study: str, number: int, truths: list[str], tick: Any, attempt: int = 0) -> dict[str, Any]:
    """Count what is missing of one shard, in one pass over its images; StudyError names the image over which workers die."""
    from faultscape.stages.pairs import count_shard, missing, wanted
    from faultscape.stages.stored_maps import differing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables.corpus import part_name, read_corpus
    from faultscape.study.watch import Watch

    start = time.perf_counter()
    root = Path(study)
    settings = read_settings(root)
    lacking, images = missing(root, wanted(root, settings, [number], truths)), read_corpus(root, number)
    watch = Watch(root, f"compare-{part_name(number)}", attempt)

    def begin(image: str) -> None:
        if not watch.begin(image):
            maps = ", ".join(sorted({part.name for part in lacking}))
            raise StudyError(
                f"{image}: workers died each time its maps of {maps} were counted: out of memory, or a crash in native code; "
                "give the maps of this image anew to `predict`, or choose a smaller --size"
            )

    made = count_shard(root, settings, images, lacking, tick, begin) if lacking else {}
    watch.end()
    parts = [{"name": name, "part": part, "sha256": e.sha256, "rows": e.rows, "key": e.key} for (name, part), e in made.items()]
    return {"parts": parts, "differing": differing(root, settings, images), "seconds": time.perf_counter() - start}
