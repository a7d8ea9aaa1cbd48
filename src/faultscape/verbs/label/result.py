"""What `label export` and `label import` report.

Conventions: light, no heavy imports; ``then`` is the command that imports the labels.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from faultscape.errors import counted
from faultscape.terminal_lines import wrapped


def import_line(study: str, source: str, truth: str, format: str | None = None) -> str:
    """Return the command that imports labels, as a shell reads it, with your own ``format``, file.py:NAME, if
    any.

    >>> import_line("my study", "q.csv", "labels"), import_line("s", "to-label", "ann")
    ("faultscape label import 'my study' q.csv", 'faultscape label import s to-label --truth ann')
    """
    under = [] if truth == "labels" else ["--truth", truth]
    own = ["--format", format] if format and ":" in format else []
    return shlex.join(["faultscape", "label", "import", study, source, *under, *own])


def returned_to(out: str, returned: str) -> str:
    """Return where a tool's export of what was written to a folder goes: the folder itself for '', or
    something in it.

    >>> returned_to("to-label/", ""), returned_to("to-label/", "export.zip")
    ('to-label/', 'to-label/export.zip')
    """
    return f"{out.rstrip('/')}/{returned}" if returned else out


def steps_text(says: str, out: str, returned: str) -> str:
    """Return what to do with files that were written to a folder, with the names that a format's ``says``
    leaves open.
    """
    masks = str(Path(out) / "labels")
    return (
        says.replace("{folder}", masks).replace("{out}", out).replace("{export}", returned_to(out, returned))
    )


def next_lines(todo: str, then: str) -> list[str]:
    """Return what to do with the written files, and the command that imports them, on its own line.

    >>> next_lines("put each mask into out/labels", "faultscape label import study out")
    ['next: put each mask into out/labels, then run', '  faultscape label import study out']
    """
    return [*wrapped(f"next: {todo}, then run"), f"  {then}"]


def already_labelled(images: int) -> str:
    """Return how many images already have a label; '' if none has.

    >>> already_labelled(2)
    '; 2 images already labelled'
    """
    return f"; {counted(images, 'image')} already labelled" if images else ""


@dataclass(frozen=True)
class Exported:
    """What `label export` wrote."""

    folder: str  # where the files are
    images: int  # images to label that were written
    format: str  # name of the label format
    prefilled: str  # the model whose maps the labels begin with; '' for empty ones
    labelled: int  # images of the selection that have a label already
    then: str = ""  # the command that imports the labels
    says: str = ""  # what to do with the files
    differing: tuple[int, int] | None = None  # pixels of outlines that differ from the maps, and of how many
    listed: str = ""  # the list of the images, in the order of the selection
    first_alone: int = 0  # how many of the first draws can be ranked alone if they are labelled in order
    beside: int = 0  # images that lie in the folder and have a label in the study

    def __repr__(self) -> str:
        if not self.images:
            return f"no images to label; nothing was written{already_labelled(self.labelled)}"
        filled = f", filled in with the maps of {self.prefilled}" if self.prefilled else ""
        already = f"; {self.labelled} already labelled" if self.labelled else ""
        off = self.differing
        lines = wrapped(
            f"{counted(self.images, 'image')} to label in {self.folder} ({self.format}{filled}){already}"
        )
        if off is not None and off[0]:
            share = f"{100 * off[0] / max(off[1], 1):.2f} %"
            lines += wrapped(f"outlines differ from the maps on {off[0]:,} of {off[1]:,} pixels ({share})")
        if self.listed:
            first = f"the first {self.first_alone} of the selection can be ranked alone"
            order = f"; label in this order: {first}" if self.first_alone else ""
            lines += wrapped(f"{self.listed} lists them{order}")
        if self.beside:
            have = "other image in that folder has", "other images in that folder have"
            lines += wrapped(f"{counted(self.beside, *have)} a label already and need no new one")
        return "\n".join([*lines, *next_lines(self.says, self.then)])


@dataclass(frozen=True)
class MasksWritten:
    """What `label export --done` wrote: the masks of what is labelled."""

    folder: str  # where the masks are
    masks: int  # how many were written
    format: str  # name of the label format
    truth: str  # whose labels they are
    then: str  # the command that imports them into a study

    def __repr__(self) -> str:
        said = f"{self.folder}: {counted(self.masks, 'mask')} of truth {self.truth} ({self.format})"
        return f"{said}\nto import them: {self.then}"


@dataclass(frozen=True)
class Imported:
    """What `label import` stored.

    ``copies`` are sentences, one for each truth of which more than half of the labels are a model's maps,
    pixel by pixel.
    """

    truth: str  # name of these labels; with several annotators, what their names begin with; '' for discards
    new: int  # images that had no label there
    replaced: int  # images that had a different one, which is replaced
    discarded: int  # images that are discarded from now on
    failures: int  # labels that cannot be used
    several: tuple[tuple[str, int], ...] = ()  # (truth, labels) of each annotator, if a tool names some
    first: str = ""  # why the first unusable label was rejected
    copies: tuple[str, ...] = ()
    unchanged: int = 0  # images that had the same label already
    unusual: tuple[str, ...] = ()  # notes on much void, and on classes that only models have
    then: str = ""

    def __repr__(self) -> str:
        each = (
            f"\n{', '.join(f'{truth}: {number}' for truth, number in self.several)}" if self.several else ""
        )
        parts = [
            f"{counted(self.new, 'image')} added" if self.new else "",
            f"{self.replaced} replaced" if self.replaced else "",
            f"{self.unchanged} unchanged" if self.unchanged else "",
            f"{self.discarded} newly discarded" if self.discarded else "",
            f"{self.failures} not usable (failures.csv)" if self.failures else "",
        ]
        of = f"truth {self.truth}" if self.truth else "discards"
        of = f"{len(self.several)} annotators" if self.several else of
        why = f"; the first: {self.first}" if self.first else ""
        same = "".join(f"\n{line}" for line in (*self.copies, *self.unusual, *_next(self.then)))
        return f"{of}: {', '.join(filter(None, parts)) or 'nothing new'}{why}{each}{same}"


@dataclass(frozen=True)
class Asked:
    """What `label export` wrote for classifiers: a table of questions."""

    path: str  # the table
    questions: int  # how many were written; 0 without a file
    images: int  # how many images they are about
    answered: int  # questions left out: answered already, or the image has a label
    undecided: int = 0  # questions whose answers decide nothing: a tie, or all unsure
    again: bool = False  # whether undecided questions were written too
    then: str = ""  # the command that imports the answers
    says: str = "fill in annotator and answer (yes, no, unsure)"

    def __repr__(self) -> str:
        rest = f"; {counted(self.answered, 'question')} already answered, or the image is labelled"
        words = f"{counted(self.questions, 'question')} about {counted(self.images, 'image')}"
        how = "asked again" if self.again else "--again asks them again"
        written = f"{self.path}: {words}" if self.questions else "no questions are open; no file was written"
        lines = wrapped(f"{written}{rest if self.answered else ''}")
        if self.undecided:
            undecided = counted(self.undecided, "question")
            lines += wrapped(f"{undecided} undecided (a tie, or everyone was unsure): {how}")
        return "\n".join([*lines, *(next_lines(self.says, self.then) if self.questions else [])])


@dataclass(frozen=True)
class Answered:
    """What `label import` stored: images with labels added and replaced, new answers, undecided questions,
    newly discarded images, unusable lines.
    """

    truth: str  # name under which labels and answers are stored
    new: int  # images that had no label there
    replaced: int  # images whose label is replaced
    answers: int  # new or changed answers
    ties: int  # questions whose answers decide nothing, those of earlier imports included
    discarded: int  # images that are discarded from now on
    failures: int  # lines that cannot be used
    first: str = ""  # why the first unusable line was rejected
    then: str = ""

    def __repr__(self) -> str:
        parts = [
            f"{counted(self.new, 'image')} labelled" if self.new else "",
            f"{self.replaced} replaced" if self.replaced else "",
            counted(self.answers, "new answer") if self.answers else "",
            (
                f"{counted(self.ties, 'question')} undecided (`label export --again` asks again)"
                if self.ties
                else ""
            ),
            f"{self.discarded} newly discarded" if self.discarded else "",
            f"{counted(self.failures, 'line')} not usable (failures.csv)" if self.failures else "",
        ]
        more = f"; the first: {self.first}" if self.first else ""
        found = f"truth {self.truth}: {', '.join(filter(None, parts)) or 'nothing new'}{more}"
        return "\n".join([found, *_next(self.then)])


_SHOWN = 20  # problems that are printed


@dataclass(frozen=True)
class Checked:
    """What `label check` found: the file's format, and the problems that the tool would have with it, if
    any.
    """

    path: str  # the file or folder that was checked
    format: str  # title of the label format that was given or recognised
    problems: tuple[str, ...]  # a sentence each; () if the tool will accept it

    @property
    def exit_status(self) -> int:
        """The exit status of the command: 1 if there are problems."""
        return 1 if self.problems else 0

    def __repr__(self) -> str:
        if not self.problems:
            return f"{self.path}: {self.format} will accept it"
        more = len(self.problems) - _SHOWN
        lines = [
            (
                f"{self.path}: {counted(len(self.problems), 'problem')} that {self.format} will reject or"
                " show differently:"
            )
        ]
        lines += [f"  {problem}" for problem in self.problems[:_SHOWN]]
        return "\n".join([*lines, f"  and {more} more"] if more > 0 else lines)


@dataclass(frozen=True)
class AnswersWritten:
    """What `label answers` wrote: how many of each kind; nothing if no one has answered."""

    path: str  # the file of JSON lines
    kinds: tuple[tuple[str, int], ...]  # (kind, lines) of each kind, such as answer or discard

    def __repr__(self) -> str:
        return f"{self.path}: {_counts(self.kinds) or 'no one has answered yet, so no file was written'}"


@dataclass(frozen=True)
class AnswersTaken:
    """What `label import` read from JSON lines: how many rows of each kind are new, how many lines could not
    be used and why the first, and how many repeat an earlier line's key.
    """

    kinds: tuple[tuple[str, int], ...]  # (kind, new rows) of each kind that has some
    failures: int  # lines that cannot be used
    first: str = ""  # why the first unusable line was rejected
    repeated: int = 0  # lines that have the key of an earlier one, and are skipped

    def __repr__(self) -> str:
        parts = [_counts(self.kinds) or "nothing new"]
        parts += (
            [f"{counted(self.repeated, 'line')} skipped because an earlier line has the same key"]
            if self.repeated
            else []
        )
        parts += (
            [f"{counted(self.failures, 'line')} not usable (failures.csv); the first: {self.first}"]
            if self.failures
            else []
        )
        return ", ".join(parts)


@dataclass(frozen=True)
class Invited:
    """The person whom `label invite` invited, and the token of the link, which is shown only once."""

    name: str  # the person's name, as given
    pseudonym: str
    token: str  # the secret last part of the link
    again: bool = False  # whether the link replaces an earlier one, which no longer works

    def __repr__(self) -> str:
        earlier = ", and the earlier link no longer works" if self.again else ""
        return (
            f"{self.name} ({self.pseudonym}): send the link ADDRESS/join/{self.token}, where ADDRESS is what"
            " `faultscape label serve` prints (127.0.0.1 works on this computer only: start it with --host or"
            f" --address); it is shown only once{earlier}"
        )


@dataclass(frozen=True)
class Forgotten:
    """The person whom `label forget` forgot, and how many answers were taken back; None if they stay."""

    pseudonym: str
    taken_back: int | None  # how many answers were taken back; None if all stay

    def __repr__(self) -> str:
        rest = (
            "all answers stay"
            if self.taken_back is None
            else f"{counted(self.taken_back, 'answer')} taken back"
        )
        return f"{self.pseudonym} no longer belongs to anyone; {rest}"


def _counts(kinds: tuple[tuple[str, int], ...]) -> str:
    named = {"boxes": ("image with boxes", "images with boxes")}
    return ", ".join(counted(number, *named.get(kind, (kind,))) for kind, number in kinds)


def _next(line: str) -> list[str]:
    return [f"next: {line}"] if line else []
