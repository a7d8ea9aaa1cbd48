"""Split images among people who draw masks: one folder per person, with one folder per session; the first may
hold training images with a known label.

Conventions: OUT/sessions.csv (annotator, session, image) lists who has what, and is written last: if it
exists, everything does. No folder contains a label. Training images are chosen from outside the selection
first, in the order of the seed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from faultscape.errors import LabellingError, OptionError, counted
from faultscape.labelling.catalogue import Format
from faultscape.labelling.people.mask_consensus import by_chance, share_images
from faultscape.progress import progress
from faultscape.reading.study import LABELS, Study
from faultscape.study.folder import check_name, put, refuse_twin
from faultscape.study.tables import label_maps
from faultscape.study.tables.logs import csv_text, guarded
from faultscape.verbs.label.crowd.result import SessionsExported
from faultscape.verbs.label.mask_export import Export, refuse_odd, steps_of, to_label
from faultscape.verbs.label.options import SessionRules
from faultscape.verbs.label.result import import_line

if TYPE_CHECKING:
    from faultscape.verbs.options import LabelExportOptions

FILE = "sessions.csv"
TRAINING = "training"
COLUMNS = ("annotator", "session", "image")


def export(study: Study, options: LabelExportOptions, form: Format) -> SessionsExported:
    """Write the images of a selection that have no label yet, split among people; OptionError for options
    that do not fit, LabellingError if another split exists already, or there are too few labels for training.
    """
    folder = Path(options.out)
    rules = options.sessions
    truth = options.truth or LABELS
    refuse_odd(study, options, form)
    _check_people(rules.people, truth, study.models)
    chosen, todo = to_label(study, options.selection, truth)
    shared = share_images(
        [image.id for image in todo],
        rules.people,
        overlap=rules.overlap,
        session=rules.session,
        seed=rules.seed,
    )
    then = import_line(options.study, options.out, truth, options.format)
    people = tuple((who, sum(map(len, mine)), len(mine)) for who, mine in shared.items())
    written = SessionsExported(
        options.out,
        people,
        len(todo),
        rules.overlap,
        0,
        form.name,
        len(chosen) - len(todo),
        then,
        _steps(form, options.prefill),
    )
    if not todo:
        return written
    known = _training(study, truth, rules, {image.id for image in chosen})
    folders = _folders(shared, known)
    text = csv_text(
        [COLUMNS, *((who, name, guarded(id_)) for (who, name), ids in folders.items() for id_ in ids)]
    ).encode()
    if (folder / FILE).exists() and (folder / FILE).read_bytes() != text:
        raise LabellingError(
            f"{folder / FILE}: already splits the images differently and is never overwritten; give another"
            " folder"
        )
    by_id = study.corpus.by_id({id_ for ids in folders.values() for id_ in ids})
    with progress("export", sum(map(len, folders.values()))) as tick:
        for (who, name), ids in folders.items():
            work = Export(
                study,
                folder / who / name,
                form,
                options if name != TRAINING else replace(options, prefill=None, outlines=False),
            )
            work.images([by_id[id_] for id_ in ids], tick)
    put(folder / FILE, text)
    return replace(written, training=len(known))


def _steps(form: Format, prefill: str | None) -> str:
    """Return what people do with their folders, which are imported together."""
    where = "the folder of each session"
    file = form.returned
    to = where if not file or file.endswith("/") else f"{file}, in {where}"
    steps = steps_of(form, prefill).replace("{folder}", f"labels, in {where}")
    return steps.replace("{out}", where).replace("{export}", to)


def _check_people(people: Sequence[str], truth: str, models: Collection[str]) -> None:
    """Raise OptionError or StudyError for names that cannot be names of folders and truths."""
    for place, who in enumerate(people):
        check_name(who, "person")
        check_name(f"{truth}-{who}", "truth")
        refuse_twin(who, people[:place], "annotator")
        if f"{truth}-{who}" in models:
            raise OptionError(
                f"--annotators {who}: {truth}-{who} is the name of a model; use another name for the"
                " annotator"
            )


def _training(study: Study, truth: str, rules: SessionRules, chosen: set[str]) -> list[str]:
    """Return the labelled images that everyone labels first: those outside the selection before others."""
    if not rules.training:
        return []
    where = label_maps.truth(study.root, truth)
    ids = [
        id_
        for name, part in sorted(study.manifest(where).items())
        for id_ in label_maps.read_ids(where, int(name), part)
    ]
    known = study.ids - study.discarded.keys()
    fit = sorted(
        (id_ for id_ in ids if id_ in known),
        key=lambda id_: (id_ in chosen, by_chance(rules.seed, "training", id_)),
    )
    if len(fit) < rules.training:
        raise LabellingError(
            f"--training {rules.training}: truth {truth!r} has only {counted(len(fit), 'label')}; import more"
            " with `label import`, or ask for fewer"
        )
    return fit[: rules.training]


def _folders(
    shared: Mapping[str, Sequence[Sequence[str]]], known: Sequence[str]
) -> dict[tuple[str, str], Sequence[str]]:
    """Return {(annotator, folder): images} in the order of labelling."""
    out: dict[tuple[str, str], Sequence[str]] = {}
    for who, sessions in shared.items():
        if known:
            out[who, TRAINING] = known
        wide = max(2, len(str(len(sessions))))
        for number, ids in enumerate(sessions, 1):
            out[who, f"session-{number:0{wide}}"] = ids
    return out
