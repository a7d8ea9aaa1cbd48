"""The part of label that asks about classes: a table of yes/no questions out, and labels, answers and discards back in as CSV.

Conventions: called by `label export` and `label import` of a study of classifiers alone. What a CSV file holds is seen from its first line: image, label (several labels
joined by |, ``none`` for none of the classes); image, class, annotator, answer; or image, reason.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from faultscape.errors import FaultscapeError, LabellingError, OptionError
from faultscape.labelling import answers as said

NONE = "none"


@dataclass(frozen=True)
class Asked:
    """What `label export --format csv` wrote."""

    path: str
    questions: int
    images: int
    answered: int

    def __repr__(self) -> str:
        rest = f"; {self.answered} questions have an answer already, or their image a label" if self.answered else ""
        return f"{self.path}: {self.questions} questions about {self.images} images; fill in annotator and answer (yes, no, unsure){rest}"


@dataclass(frozen=True)
class Answered:
    """What `label import` took in: images with labels added and replaced, new answers, questions that stand at a tie, images newly discarded, lines not usable."""

    truth: str
    new: int
    replaced: int
    answers: int
    ties: int
    discarded: int
    failures: int

    def __repr__(self) -> str:
        parts = [f"{self.new} images labelled, {self.replaced} replaced"] if self.new or self.replaced or not self.answers else []
        parts += [f"{self.answers} new answers"] if self.answers else []
        parts += [f"{self.ties} questions at a tie"] if self.ties else []
        return f"truth {self.truth}: {', '.join(parts)}, {self.discarded} newly discarded, {self.failures} lines not usable (failures.csv)"


def export(root: Path, out: str, selection: str, truth: str) -> Asked:
    """Write the questions of a selection that nobody has answered yet: of a pair's image its two labels, of an image drawn for all models each label that one says."""
    from faultscape.comparison.class_stored import read_label_sets, read_predictions
    from faultscape.nouns import PairSlot
    from faultscape.study.answers import Answers
    from faultscape.study.folder import local, put
    from faultscape.study.settings import read_settings
    from faultscape.verbs.label import current

    settings, held = read_settings(root), Answers(root)
    slots = current(root, selection, held.discarded())
    wanted: dict[tuple[str, str], None] = {}
    pairs = [row for row in slots.chosen if isinstance(row, PairSlot)]
    for row in pairs:
        wanted |= dict.fromkeys([(row.image, row.label_a), (row.image, row.label_b)])
    if not pairs:
        found = read_predictions(root, settings, slots.models, list(slots.images))
        for k, image in enumerate(found.images):
            labels = dict.fromkeys(place for place in found.labels[:, k].tolist() if place >= 0)
            wanted |= dict.fromkeys((image, found.classes.names[place]) for place in labels)
    done = {answer[:2] for answer in held.answers()}
    sets = dict(zip(slots.images, read_label_sets(root, settings, truth, slots.images), strict=True))
    todo = [question for question in wanted if question not in done and sets[question[0]] is None]
    path = local(out, "what is written for people")
    path = path if path.suffix.lower() == ".csv" else path / "questions.csv"
    _keep_answers(path, held.answers())
    put(path, said.question_table(todo, _glosses(settings)).encode())
    return Asked(str(path), len(todo), len({image for image, _ in todo}), len(wanted) - len(todo))


def _keep_answers(path: Path, known: list[said.Answer]) -> None:
    """LabellingError where a file that is to be written holds answers that were not taken in."""
    if path.is_file() and set(said.ANSWERS) <= set(said.columns(path)):
        here, latest = {answer for _, answer in said.read(path)}, {row[:3] for row in known}
        if new := sum(answer[:3] not in latest for answer in here):
            raise LabellingError(
                f"{path}: holds {new} answers that were not taken in; `label import` it first, or write elsewhere"
            )


def import_(root: Path, source: str, truth: str) -> Answered:
    """Take in a CSV file, or all CSV files of a folder."""
    from faultscape.study.answers import Answers
    from faultscape.study.corpus import read_corpus
    from faultscape.study.lock import writing
    from faultscape.study.settings import read_settings
    from faultscape.study.tables import Failure, log, read_failures, replace_failures

    files = [Path(source)] if Path(source).is_file() else sorted(Path(source).glob("*.csv"))
    if not files:
        raise LabellingError(
            f"{source}: there is no such file; labels of classifiers are a CSV file (image, label), or answers (image, class, annotator, answer)"
        )
    with writing(root):
        settings, held = read_settings(root), Answers(root)
        if truth in settings.models:
            raise OptionError(f"{truth!r} is the name of a model; give the truth another with --truth NAME")
        images = {image.id: image for image in read_corpus(root)}
        before = {row[:3]: row[3] for row in held.answers()}
        failures: list[Failure] = []
        labels: dict[str, list[int]] = {}
        answers: list[said.Answer] = []
        thrown: list[tuple[str, str]] = []
        for file in files:
            head = said.columns(file)
            if {"annotator", "answer"} <= set(head):
                for line, answer in said.read(file):
                    problem, class_ = _known(answer[0], answer[1], images, settings)
                    failures += [Failure("label", truth, answer[0], f"{file.name}, line {line}: {problem}")] if problem else []
                    answers += [] if problem else [(answer[0], class_, answer[2], answer[3])]
            elif "label" in head:
                mine: dict[str, list[int]] = {}
                for line, (image, words) in said.rows(file, ("image", "label")):
                    problem, ids = _labels(image, words, images, settings)
                    if not problem and mine.get(image, ids) != ids:
                        raise LabellingError(
                            f"{file}, line {line}: {image!r} has another label above; join several by |, or give each image one line"
                        )
                    failures += [Failure("label", truth, image, f"{file.name}, line {line}: {problem}")] if problem else []
                    mine |= {} if problem else {image: ids}
                labels |= mine
            elif "reason" in head:
                thrown += [row for _, row in said.rows(file, ("image", "reason"))]  # type: ignore[misc]
            else:
                raise LabellingError(
                    f"{file}: expected the columns image, label, or image, class, annotator, answer, or image, reason; got {', '.join(head[:8]) or 'nothing'}{' ...' if len(head) > 8 else ''}"
                )
        if unknown := next((image for image, _ in thrown if image not in images), None):
            raise LabellingError(f"{source}: {unknown!r} is discarded and no image of the study")
        if not labels and not answers and not thrown:
            raise LabellingError(
                f"{source}: nothing could be used; {f'the first: {failures[0].reason}' if failures else 'no line has an answer'}"
            )
        new, replaced = _store(root, truth, labels, images)
        held.answer(answers, source)
        everything = held.answers()
        touched = {answer[0] for answer in answers}
        discarded = held.discard([*thrown, *said.difficult(row for row in everything if row[0] in touched).items()], source)
        verdicts = said.majority(everything)
        rest = [
            f for f in read_failures(root) if (f.stage, f.name) == ("label", truth) and f.image not in labels.keys() | touched
        ]
        replace_failures(root, "label", truth, rest + failures)
        log(root, "label import", source=source, truth=truth)
    ties = sum(verdict is None for verdict in verdicts.values())
    fresh = sum(before.get(row[:3]) != row[3] for row in said.latest(answers))
    return Answered(truth, new, replaced, fresh, ties, discarded, len(failures))


def _store(root: Path, truth: str, labels: dict[str, list[int]], images: dict[str, Any]) -> tuple[int, int]:
    """Put label sets, image by image; returns how many are new and how many replace others."""
    from faultscape.maps import class_answers
    from faultscape.study import label_maps
    from faultscape.study.corpus import part_name
    from faultscape.study.parts import Part, read_manifest, write_manifest

    where, new, replaced = label_maps.truth(root, truth), 0, 0
    parts = {}
    for number in sorted({images[id_].shard for id_ in labels}):
        mine = {
            id_: class_answers.encode(ids or [class_answers.NONE]) for id_, ids in labels.items() if images[id_].shard == number
        }
        there = {m.id: m for m in label_maps.read_stored(where, number)}
        replaced += sum(id_ in there and there[id_].runs != code for id_, code in mine.items())
        new += sum(id_ not in there for id_ in mine)
        whole = there | {id_: label_maps.StoredMap(id_, code) for id_, code in mine.items()}
        sha = label_maps.put_maps(where, number, [whole[id_] for id_ in sorted(whole)])
        parts[part_name(number)] = Part(sha, len(whole), "classes")
    if parts:
        write_manifest(where, read_manifest(where) | parts)
    return new, replaced


def _labels(image: str, words: str, images: Iterable[str], settings: Any) -> tuple[str, list[int]]:
    """Return what is wrong with a line of labels, or nothing and the ids that it names, sorted."""
    ids = dict(zip(settings.classes.names, settings.classes.ids, strict=True))
    if words.strip() == NONE and NONE not in ids:
        return ("", []) if image in images else (f"{image!r} is no image of the study", [])
    out = set()
    for word in words.split("|"):
        problem, class_ = _known(image, word.strip(), images, settings)
        if problem:
            return problem, []
        out.add(ids[class_])
    return "", sorted(out)


def _known(image: str, word: str, images: Iterable[str], settings: Any) -> tuple[str, str]:
    """Return what is wrong with an image or a class, or nothing and the name of the class."""
    from faultscape.corpus.id_lists import class_place
    from faultscape.prediction.label_names import by_name

    if image not in images:
        return f"{image!r} is no image of the study", ""
    if not word:
        return "it names no class", ""
    classes = settings.class_list
    try:
        return "", classes.names[class_place(word, classes, "the answer")]
    except FaultscapeError as error:
        name = by_name(word, settings)
        return ("", name) if name and name != "void" else (str(error).removeprefix("the answer: "), "")


def _glosses(settings: Any) -> dict[str, str]:
    """Return what each class is in words, where that is known."""
    if not settings.classes.wnids:
        return settings.glosses
    from faultscape.corpus.imagenet1k import imagenet_classes

    found = imagenet_classes()
    of = dict(zip(found.wnids, found.glosses, strict=True))
    return {name: of[wnid] for name, wnid in zip(settings.classes.names, settings.classes.wnids, strict=True) if wnid in of}
