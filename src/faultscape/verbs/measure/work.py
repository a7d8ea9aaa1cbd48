"""Run `measure`: find its data sets, compute their statistics and scores, and write the results.

Conventions: results that are up to date are not recomputed. The output folder, or the study if one is
measured, stays locked meanwhile.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, cast

from faultscape import __version__, plug
from faultscape.errors import MetricError, OptionError
from faultscape.metrics.definitions import define
from faultscape.metrics.overlaps.region_counts import WHOLE
from faultscape.nouns import Json, JsonObject
from faultscape.reading import evidence, fill
from faultscape.reporting.measure import document as measure_document
from faultscape.study.array_jobs import Share, share
from faultscape.study.folder import make_folder, put
from faultscape.study.json_text import read_object
from faultscape.study.lock import changing, writing
from faultscape.study.parts import Part, read_manifest, write_manifest
from faultscape.study.tables.corpus import part_name
from faultscape.study.tables.logs import Failure, log, replace_failures
from faultscape.study.tables.measures import ModelRows, put_per_image
from faultscape.verbs.in_memory.folders import as_folders, without_folder
from faultscape.verbs.measure import instances, lists, notes, pictures
from faultscape.verbs.measure.artefact import MEASURES
from faultscape.verbs.measure.boxes.work import measure_boxes
from faultscape.verbs.measure.gather import MeasuredSet, gather
from faultscape.verbs.measure.jobs import MeasuredPart
from faultscape.verbs.measure.measurement import Measurement
from faultscape.verbs.measure.options import definitions_given
from faultscape.verbs.measure.points import measure_points
from faultscape.verbs.measure.present.work import measure_present
from faultscape.verbs.measure.scores import jobs as score_jobs
from faultscape.verbs.measure.sets import SCORES, DataSet, SetPart, inputs, shard_jobs
from faultscape.verbs.measure.shard import asked_metrics
from faultscape.verbs.measure.signature import Measured, MeasuredShare
from faultscape.verbs.predict.statistics import TRAINED

if TYPE_CHECKING:
    from faultscape.verbs.options import MeasureOptions

COUNTS = ("both", "truth_pixels", "predicted_pixels", *WHOLE)  # per class, in per_image.parquet


def measure_models(options: MeasureOptions) -> Measured:
    """Measure what the options ask for; of a share of an array the document is a summary of the work."""
    with as_folders(options.source, options.models) as (source, models):
        return _measure_folders(replace(options, source=source, models=models))


def _measure_folders(options: MeasureOptions) -> Measured:
    """Measure a study, or folders."""
    if options.part.boxes:
        return measure_boxes(options)
    if options.part.present:
        return measure_present(options)
    if options.part.selection is not None:
        return measure_points(options)
    definitions = define(options.preset, **definitions_given(options.definitions))
    mine = share(options.shard)
    of_instances, others = instances.split(options.metric)
    options = replace(options, metric=tuple(plug.absolute(word) for word in others))
    needs = [metric.needs for _, metric in asked_metrics(options.metric) if not metric.of_scores]
    if definitions.regions == "given" and any("given" not in of for of in needs):
        raise OptionError(
            "--metric needs maps of classes, and --regions given means maps of region ids; leave one of "
            "them out"
        )
    if options.part.given and options.output is None and options.source is None:
        raise OptionError("--set and --holdout select a part of a study; give the study")
    study = lists.study_of(options.source)
    instances.refuse_elsewhere(
        of_instances,
        options.source,
        study=study is not None,
        part=options.part.given,
        array=bool(options.shard),
    )
    array = "measure" if options.shard else ""
    with study.writing(array=array) if study else nullcontext():
        # locked before the first read, so that the numbers describe a fixed state
        # separate from the measures of all collected images
        of_part = "measures-sets" if options.part.given else "measures"
        place = study.root / of_part if study else Path("measured")
        out = Path(options.output) if options.output else place
        asked = Measurement(options, definitions, out, study, of_instances)
        sets = _data_sets(asked)
        _refuse_idle_metrics(options.metric, sets)
        if out.exists() and not out.is_dir():
            raise OptionError(f"--output {out}: is a file; name a folder")
        make_folder(out)
        with nullcontext() if study else writing(out, array=array):
            if array:
                return MeasuredShare(str(out), _make_share(asked, sets, mine))
            return Measured(str(out), _make_document(asked, sets))


def _parts_before(out: Path) -> list[SetPart]:
    """Return the parts of the study that earlier commands measured into the same folder: results accumulate,
    for example one edition after the other.
    """
    file = out / "measure.json"
    try:
        provenance = read_object(file.read_bytes()).get("provenance")
        parts = provenance.get("parts", []) if isinstance(provenance, dict) else None
        return [(_word(set_), _word(holdout)) for set_, holdout in cast("list[list[object]]", parts)]
    except FileNotFoundError:
        return []
    except (OSError, ValueError, TypeError):
        print(
            f"note: {file} cannot be read, so results of earlier runs are left out; measure those sets again"
        )
        return []


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected a name; got {value!r}")
    return value


def _refuse_idle_metrics(words: tuple[str, ...], sets: Sequence[DataSet]) -> None:
    """Raise OptionError for requested metrics whose input, maps or a kind of scores, is not measured here."""
    sources = [source for data in sets for source in data.models.values()]
    for _, metric in asked_metrics(words):
        if not metric.of_scores and not any(source.has_maps for source in sources):
            raise OptionError(
                "--metric needs label maps of classes, and only scores were given; give NAME=FOLDER of "
                "maps, or leave it out"
            )
        if metric.of_scores and not any(kind in metric.needs for source in sources for kind in source.scores):
            kinds = " or ".join(f"--{kind}" for kind in SCORES if kind in metric.needs)
            raise OptionError(
                f"--metric {metric.name} needs scores, and none were given; give {kinds} NAME=FOLDER, or "
                "leave it out"
            )


def _make_share(asked: Measurement, sets: Sequence[DataSet], mine: Share) -> measure_document.Document:
    """Make the statistics of a share of the shards and models, and return a summary of the work done."""
    made = [make_statistics(asked, data, mine) for data in sets]
    options = asked.options
    with changing(asked.held):
        log(
            asked.held,
            "measure",
            source=without_folder(options.source),
            output=str(asked.out),
            shard=options.shard,
        )
    jobs, failures = (sum(column) for column in zip(*made, strict=True))
    return cast("measure_document.Document", {"shard": options.shard, "jobs": jobs, "failures": failures})


def _tell_replaced(file: Path, data: bytes) -> None:
    """Print that a different measurement in the folder is replaced; print nothing if it is the same."""
    if file.exists() and file.read_bytes() != data:
        day = datetime.fromtimestamp(file.stat().st_mtime, UTC).date()
        print(f"note: replaces the measurement of {day} in {file.parent}; --output FOLDER keeps both")


def _make_document(asked: Measurement, sets: Sequence[DataSet]) -> measure_document.Document:
    """Make all missing statistics, write the document, the table and the page, and return the document."""
    out = asked.out
    options = asked.options
    found = {}
    for data in sets:
        make_statistics(asked, data, Share())
        found[data.name] = _summarise(asked, data)
        if asked.instances:
            instances.add(asked, data, found[data.name].document)
    document = _document(asked, sets, found)
    text = json.dumps(document, indent=1, ensure_ascii=False, allow_nan=False) + "\n"
    written = text.encode("utf-8", "surrogateescape")
    if asked.study is None:  # a study is expected to be measured again
        _tell_replaced(out / "measure.json", written)
    put(out / "measure.json", written)
    metrics = sorted({metric for one in found.values() for of in one.images.values() for metric in of})
    put_per_image(out / "per_image.parquet", _per_image(asked, sets, found), metrics, COUNTS)
    page = pictures.page(out, sets, found, document, asked.definitions, options.worst)
    put(out / "report.html", page.encode("utf-8", "xmlcharrefreplace"))
    log(asked.held, "measure", source=without_folder(options.source), output=str(out))
    return document


def make_statistics(asked: Measurement, data: DataSet, mine: Share) -> tuple[int, int]:
    """Make the missing or stale statistics for a share of a data set's shards and models; return (number
    made, failures so far).
    """
    where = {name: asked.folder(data.name, name) for name in data.models}
    todo = [job for job in shard_jobs(asked, data) if mine.has(job.number)]
    task = "faultscape.verbs.measure.shard:measure_shard"
    items = sum(len(job.images.ids) * len(job.models) for job in todo)

    def enter(results: list[tuple[int, dict[str, MeasuredPart]]]) -> None:
        new: dict[str, dict[str, Part]] = {}
        for number, made in results:
            for name, of in made.items():
                new.setdefault(name, {})[part_name(todo[number].number)] = Part(
                    of.sha256, of.rows, of.key, of.failures
                )
        with changing(asked.held):
            for name, parts in new.items():
                write_manifest(where[name], read_manifest(where[name]) | parts)

    with fill.Entry(enter) as entry:
        done_now = fill.do(
            task,
            todo,
            dict[str, MeasuredPart],
            title=f"measure {data.name}",
            items=items,
            engine=asked.options.engine,
            workers=asked.options.workers,
            ticked=entry.if_due,
        )
        for result in done_now:
            entry.add(result)
            entry.if_due()
    if todo and asked.study is not None:
        asked.study.reread()
    scored = score_jobs.make(asked, data, mine)
    failures = sum(len(part.failures) for name in where for part in asked.parts(data.name, name).values())
    return len(todo) + scored, failures


def _data_sets(asked: Measurement) -> list[DataSet]:
    """Return the data sets to measure, and print notes about them and about options without effect."""
    options = asked.options
    remarks: list[str] = []
    if options.datasets:
        sets = lists.of_list(Path(options.datasets), asked, remarks.append)
    else:
        earlier = _parts_before(asked.out) if options.part.given else []
        sets = lists.of_line(asked, earlier, remarks.append)
    given = definitions_given(options.definitions)
    idle = notes.idle_options(given, options.preset, sets, asked.definitions, asked.reading.boundaries)
    for line in dict.fromkeys([*remarks, *idle]):
        print(line)
    return sets


def _summarise(asked: Measurement, data: DataSet) -> MeasuredSet:
    """Return the numbers of one data set from its finished statistics and scores; MetricError if images
    cannot be measured and --skip is not given.
    """
    failures = dict[str, list[tuple[str, str]]]()
    for name, source in data.models.items():
        parts = asked.parts(data.name, name)
        # shards that no longer exist, and maps of a name that now has only scores, do not count
        wanted = {part_name(shard) for shard in data.shards if source.has_maps}
        kept = {part: entry for part, entry in parts.items() if part in wanted}
        if len(kept) < len(parts):
            write_manifest(asked.folder(data.name, name), kept)
            if asked.study is not None:
                asked.study.reread()
        failures[name] = [
            failure for part in kept.values() for failure in part.failures if failure[1] != TRAINED
        ]
    scored = score_jobs.scores(asked, data)
    # an image counts as one failure, whichever of its files is wrong
    for name, found in scored.failures.items():
        failures[name] += of_other_images(found, failures[name])
    of_truth = notes.of_truth(failures)
    own = {name: of_other_images(found, [*of_truth.items()]) for name, found in failures.items()}
    wrong: dict[str, str] = {}
    for name, found in {"": [*of_truth.items()], **own}.items():
        part = f"{data.name}/{name}" if name else data.name
        replace_failures(
            asked.out, "measure", part, [Failure("measure", part, *failure) for failure in found]
        )
        of = f" ({name})" if name and len(failures) > 1 else ""
        for image, why in found:
            if why not in notes.MISSING:
                wrong.setdefault(image, f"{image}{of}: {why}")
    if wrong and not asked.options.skip:
        more = f" ({len(wrong)} images in all, see {asked.out / 'failures.csv'})" if len(wrong) > 1 else ""
        raise MetricError(
            f"{next(iter(wrong.values()))}{more}; fix the file, or leave such images out with --skip"
        )
    chosen = 0
    if (study := data.study) is not None and not data.part[0]:
        chosen = evidence.measured_by_choice(study, data.truth.name, study.drawn, study.discarded)
    return gather(asked, data, scored, failures, chosen)


def of_other_images(
    failures: Sequence[tuple[str, str]], known: Sequence[tuple[str, str]]
) -> list[tuple[str, str]]:
    """Return the failures, (image, reason), whose images are not among the ``known`` failures.

    >>> of_other_images([("a", "no score"), ("b", "no score")], [("a", "no map")])
    [('b', 'no score')]
    """
    failed = {image for image, _ in known}
    return [failure for failure in failures if failure[0] not in failed]


def _document(
    asked: Measurement, sets: Sequence[DataSet], found: Mapping[str, MeasuredSet]
) -> measure_document.Document:
    """Return the document of measure.json."""
    options = asked.options
    plain = {name: one.document for name, one in found.items()}
    document = cast(
        "measure_document.Document",
        ({"datasets": plain} if options.datasets or options.part.given else {**next(iter(plain.values()))}),
    )
    provenance = {
        "faultscape": __version__,
        "definitions": measure_document.recorded(asked.definitions),
        "resamples": options.resamples,
        "seed": options.seed,
    }
    provenance |= {name: value for name, value in asdict(asked.reading).items() if value is not None}
    if asked.study is not None and not options.part.given:
        truth = sets[0].name
        arguments = arguments_of(replace(options, metric=(*options.metric, *asked.instances)))
        made_from = MEASURES.inputs(asked.study, "", {"truth": truth, "arguments": arguments})
        provenance |= {"truth": truth, "inputs": made_from, "arguments": arguments}
    else:
        provenance |= {"inputs": {data.name: inputs(data) for data in sets}}
    if options.part.given:
        earlier = [data.name for data in sets if data.earlier]
        provenance |= {"parts": [list(data.part) for data in sets], "earlier": earlier}
    document["provenance"] = provenance
    return document


def _per_image(
    asked: Measurement, sets: Sequence[DataSet], found: Mapping[str, MeasuredSet]
) -> Iterator[ModelRows]:
    """Yield the rows model by model; the counts of all models at once would not fit in memory."""
    for data in sets:
        for name, values in found[data.name].images.items():
            yield ModelRows(data.name, name, data.ids, values, asked.statistics(data, name, COUNTS))


def arguments_of(options: MeasureOptions) -> JsonObject:
    """Return {option: value} of the given options that can change measures of a study, as JSON values;
    without the truth, which the measures name anyway.
    """
    elsewhere = ("classes", "truth", "datasets", "set_", "holdout")
    given = options.given(but=elsewhere)
    return {name: _as_words(value) for name, value in given.items()}


def _as_words(value: Json) -> Json:
    """Return a value as the command line would write it: {name: folder} as NAME=FOLDER arguments."""
    return [f"{name}={folder}" for name, folder in value.items()] if isinstance(value, Mapping) else value
