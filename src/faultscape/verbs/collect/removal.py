"""Remove images from a study: they leave the corpus, and with it every pool, selection and count; their maps,
labels and answers stay on disk and come back with them.

Conventions: shards never change, and parts of maps cover all images that a shard was made with, so that no
map of another image is predicted again.
"""

from __future__ import annotations

from collections.abc import Sequence

from faultscape.corpus.id_lists import named_ids
from faultscape.corpus.shards import grouped
from faultscape.errors import CorpusError, OptionError, counted
from faultscape.reading.evidence import labelled_among
from faultscape.reading.sets import descendants, follow
from faultscape.reading.study import Study, opened
from faultscape.study.tables.corpus import write_corpus
from faultscape.study.tables.removed_images import note_removed
from faultscape.study.tables.stress_sets import drop_sets
from faultscape.verbs.options import CollectOptions
from faultscape.verbs.status.change_result import Changed
from faultscape.verbs.status.consequences import change


def remove_images(options: CollectOptions) -> Changed:
    """Remove the images that a command names from a study, or report what that would make stale. Errors:
    OptionError if the command asks for more, CorpusError for words that match no image.
    """
    study = opened(options.study)
    if options.images or options.given(but=("remove", "replace_classes", "dry_run")):
        raise OptionError(
            "--remove cannot be combined with images or settings; give those in a separate command"
        )
    words = list(options.remove)
    return change(study, lambda of: _removed(of, words), "collect", dry_run=options.dry_run, remove=words)


def _removed(study: Study, words: Sequence[str]) -> str:
    root = study.root
    held = {image.id: image for image in study.corpus.images()}
    named = named_ids(words, held, {image.source: image.id for image in held.values() if image.source})
    gone = named | descendants(held.values(), named)
    if len(gone) == len(held):
        raise CorpusError(
            f"{', '.join(words)}: matches all {len(held)} images of the study; keep at least one"
        )
    labelled = len(labelled_among(study, gone))
    note_removed(root, [held[id_] for id_ in sorted(gone)])
    stay = [image for image in held.values() if image.id not in gone]
    write_corpus(root, follow(grouped(stay, {image.id: image for image in stay})))
    drop_sets(root, {held[id_].set for id_ in gone} - {image.set for image in stay})
    made = f", {len(gone) - len(named):,} of them made from the others" if len(gone) > len(named) else ""
    kept = (
        f"; labels of {labelled} of them are kept, and count again once the images are collected again"
        if labelled
        else ""
    )
    return f"{counted(len(gone), 'image leaves', 'images leave')} the corpus{made}, {len(stay)} stay{kept}"
