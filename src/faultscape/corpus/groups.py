"""Groups of images that belong together (one drive, sequence, city or patient), from their ids or a file, and
the division of long groups into blocks.

Conventions: a group is a word; an image that no rule matches is a group by itself. A pattern is the whole id
with ``{group}`` for the part that names the group and ``*`` for anything; the shortest possible group counts,
so that ``{group}_*`` takes ``aachen`` from ``aachen_000001_000019``. Blocks follow the ids in natural order,
with frame 9 before frame 10.

``groups`` are {id: group}. ``ids`` are those of all images. ``asked`` is the pattern, the CSV file or the
dict.

Source: cluster bootstrap and block bootstrap: Davison and Hinkley 1997, 3.8 and 8.2.3; Kuensch 1989.
"""

from __future__ import annotations

import csv
import os
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from faultscape.corpus.id_lists import counting
from faultscape.errors import OptionError, counted

_IDS = ("id", "image")
OF_FEW_GROUPS = (  # of intervals
    "all images are of one group or sequence, or of runs of fewer than six, so intervals describe more images"
    " of the same, not of others"
)
_EXAMPLE = '"{group}_*"'
_LONG_RUN = 25  # images: about as far as frames of a drive are alike (docs/how-to/groups.md)


def group_names(asked: str | os.PathLike[str] | Mapping[str, str], ids: Sequence[str]) -> dict[str, str]:
    """Return {id: group} of the ``ids`` that a pattern, a CSV file (columns id and group) or a dict names.

    Errors: OptionError for a pattern without ``{group}``, a file that cannot be read, or if no image is
    named.

    >>> group_names("{group}_*", ["aachen_1_2", "aachen_1_3", "bonn_7_1", "x"])
    {'aachen_1_2': 'aachen', 'aachen_1_3': 'aachen', 'bonn_7_1': 'bonn'}
    """
    if isinstance(asked, Mapping):
        rows = {str(k): str(v).strip() for k, v in asked.items()}
        what = "--group"
    elif os.fspath(asked).lower().endswith(".csv"):
        rows = _rows(Path(asked))
        what = f"--group {os.fspath(asked)}"
    else:
        return _by_pattern(os.fspath(asked), ids)
    found = {id_: rows[id_] for id_ in ids if rows.get(id_)}
    if ids and not found:
        first = next(iter(rows), "no id")
        raise OptionError(
            f"{what}: names none of the {counted(len(ids), 'image')}; its first id is {first!r}, the"
            f" study's {ids[0]!r}"
        )
    return found


def cut_blocks(groups: Mapping[str, str], ids: Sequence[str], block: int) -> dict[str, str]:
    """Return {id: block}: each group cut into runs of about ``block`` consecutive images, of lengths as equal
    as possible; without any group, all images form one.

    Images outside all groups stay alone. Errors: OptionError for a block below 2.

    >>> cut_blocks({}, ["a9", "a10", "a11", "a12", "a13"], 2)
    {'a9': 'block:1', 'a10': 'block:1', 'a11': 'block:1', 'a12': 'block:2', 'a13': 'block:2'}
    """
    if block < 2:
        raise OptionError(
            f"--block {block}: a block has 2 images or more; leave --block out to treat each image, or"
            " group, on its own"
        )
    members: dict[str, list[str]] = {}
    for id_ in ids:
        if not groups or groups.get(id_):
            members.setdefault(groups.get(id_, "block"), []).append(id_)
    out: dict[str, str] = {}
    for group, mine in members.items():
        mine.sort(key=lambda id_: (counting(id_), id_))
        # round to nearest, halves down
        blocks = max(1, (2 * len(mine) + block - 1) // (2 * block))
        share, more = divmod(len(mine), blocks)
        ends = [0]
        for k in range(blocks):
            ends.append(ends[-1] + share + (k < more))
            out |= dict.fromkeys(mine[ends[-2] : ends[-1]], f"{group}:{k + 1}")
    return {id_: out[id_] for id_ in ids if id_ in out}


def join_blocks(groups: Mapping[str, str]) -> dict[str, str]:
    """Return {id: group} with the runs that ``cut_blocks`` made of a group joined again; empty if they were
    runs of all images.

    Group names that end in :1, :2, ... are runs only if all images of each come before those of the next.

    >>> join_blocks({"a_1": "a:1", "a_2": "a:1", "a_3": "a:2", "b": "b"})
    {'a_1': 'a', 'a_2': 'a', 'a_3': 'a', 'b': 'b'}
    >>> join_blocks({"x": "block:1", "y": "block:2"})
    {}
    """
    runs: dict[str, list[tuple[list[int | str], str, int]]] = {}
    for id_, group in groups.items():
        whole, _, number = group.rpartition(":")
        if whole and number.isascii() and number.isdigit():
            runs.setdefault(whole, []).append((counting(id_), id_, int(number)))
    joined = set()
    for whole, members in runs.items():
        numbers = [number for *_, number in sorted(members)]
        if numbers == sorted(numbers) and sorted(set(numbers)) == list(range(1, numbers[-1] + 1)):
            joined.add(whole)
    out = {
        id_: whole if (whole := group.rpartition(":")[0]) in joined else group
        for id_, group in groups.items()
    }
    return {} if set(out.values()) == {"block"} and "block" in joined else out


def of_few_groups(groups: Mapping[str, str], least: int) -> bool:
    """Whether all images ({id: group}, '' for one that is alone) belong to one group, to runs that
    ``cut_blocks`` made of all images, or to runs of fewer than the ``least`` groups that carry an interval:
    they tell little about other drives, cities or patients.

    >>> of_few_groups({"a_1": "a:1", "a_2": "a:2"}, 6), of_few_groups({"x": "block:1", "y": "block:2"}, 6)
    (True, True)
    >>> of_few_groups({"a_1": "a:1", "a_2": "a:2", "b_1": "b:1"}, 6)  # two drives, of which one was cut
    True
    >>> of_few_groups({"a_1": "a", "b_1": "b"}, 6), of_few_groups({"a_1": "a", "x": ""}, 6)
    (False, False)
    """
    if not groups or not all(groups.values()):
        return False
    whole = join_blocks(groups)
    number = len(set(whole.values()))
    return number <= 1 or (number < least and whole != groups)


def assign_groups(
    ids: Sequence[str], asked: str | os.PathLike[str] | Mapping[str, str] | None, block: int | None
) -> dict[str, str]:
    """Return {id: group} according to ``--group`` and ``--block``, without images that are alone.

    >>> assign_groups(["a_1", "a_2", "a_3", "a_4", "b"], "{group}_*", 2)
    {'a_1': 'a:1', 'a_2': 'a:1', 'a_3': 'a:2', 'a_4': 'a:2'}
    """
    groups = {} if asked is None else group_names(asked, ids)
    return groups if block is None else cut_blocks(groups, ids, block)


def suggested_options(ids: Sequence[str], least: int, labelled: Iterable[str] | None = None) -> str:
    """Return the options of `collect` that group images which are alike, as far as their ids tell: by folder
    or prefix, cut into runs where that gives fewer than ``least`` groups, or runs of all images; '' if the
    ``labelled`` images would lie in fewer groups, which carry no interval.

    >>> suggested_options([f"drive{k % 7}/{k:03d}" for k in range(70)], 6)
    "--group '{group}/*'"
    >>> suggested_options([f"Seq{k % 2}_f{k:03d}" for k in range(200)], 6)
    "--group '{group}_*' --block 25"
    >>> frames = [f"frame{k:03d}" for k in range(60)]
    >>> suggested_options(frames, 6, frames[::10]), suggested_options(frames, 6, frames[::12])
    ('--block 10', '')
    """
    # so that there are enough runs for an interval, and a run is longer than images are alike
    block: int | None = max(2, min(_LONG_RUN, len(ids) // least))
    pattern = None
    for separator in "/_-":
        if not all(separator in id_ for id_ in ids):
            continue
        number = len(set(_by_pattern(f"{{group}}{separator}*", ids).values()))
        if 1 < number <= len(ids) // 2:
            pattern = f"{{group}}{separator}*"
            block = None if number >= least else block
            break
    group = assign_groups(ids, pattern, block)
    if labelled is not None and len({group[id_] for id_ in labelled if id_ in group}) < least:
        return ""
    words = [f"--group {shlex.quote(pattern)}"] if pattern else []
    words += [f"--block {block}"] if block else []
    return " ".join(words)


def describe_groups(groups: Iterable[str] | Mapping[str, int]) -> str:
    """Return a text that says how many groups there are and how large, from the group of each image ('' for
    one that is alone), or from how many images each group has.

    >>> describe_groups(["a", "a", "b", "b", "b", ""]), describe_groups(["", ""])
    ('2 groups of 2 to 3 images, 1 image alone', '')
    """
    sizes = Counter(groups)
    alone = sizes.pop("", 0)
    if not sizes:
        return ""
    least = min(sizes.values())
    most = max(sizes.values())
    size = counted(most, "image") if least == most else f"{least} to {most} images"
    return f"{counted(len(sizes), 'group')} of {size}" + (
        f", {counted(alone, 'image')} alone" if alone else ""
    )


def _by_pattern(pattern: str, ids: Sequence[str]) -> dict[str, str]:
    if pattern.count("{group}") != 1:
        raise OptionError(
            f"--group {pattern!r}: a pattern must hold {{group}} once, with * for anything, for example"
            f" {_EXAMPLE}; a file ends in .csv"
        )
    before, after = (re.escape(side).replace(r"\*", ".*") for side in pattern.split("{group}"))
    matcher = re.compile(f"{before}(?P<group>.+?){after}", re.DOTALL)
    found = {id_: match["group"] for id_ in ids if (match := matcher.fullmatch(id_))}
    if ids and not found:
        raise OptionError(
            f"--group {pattern!r} matches none of the {counted(len(ids), 'image')}, the first is {ids[0]!r};"
            " {group} stands for the part of the id that names the group and * for anything, for example"
            f" {_EXAMPLE}"
        )
    return found


def _rows(path: Path) -> dict[str, str]:
    """Return {id: group} of a CSV file; OptionError for one that cannot be read, or names an image twice."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise OptionError(f"--group {path}: cannot be read: {why}") from None
    head = [word.strip().lower() for word in rows[0]] if rows else []
    column = next((head.index(name) for name in _IDS if name in head), None)
    if column is None or "group" not in head:
        raise OptionError(
            f"--group {path}: expected the columns id and group in its first line; got"
            f" {', '.join(head) or 'nothing'}"
        )
    of = head.index("group")
    out: dict[str, str] = {}
    for number, row in enumerate(rows[1:], 2):
        if not any(cell.strip() for cell in row):
            continue
        id_ = row[column].strip() if len(row) > column else ""
        if not id_ or len(row) <= of:
            raise OptionError(
                f"--group {path}, line {number}: expected an id and a group; got {','.join(row)!r}"
            )
        if out.setdefault(id_, row[of].strip()) != row[of].strip():
            raise OptionError(
                f"--group {path}, line {number}: {id_!r} is in the group {out[id_]!r} on an earlier line;"
                " give each image one group"
            )
    return out
