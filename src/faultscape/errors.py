"""Everything a user can get wrong, as one tree of exceptions.

Conventions: a message is one line for a person: what was given, what was expected, what to do. The command
line prints it after ``faultscape: `` and ends with exit status 2, without a traceback. A bug of ours never
raises one of these. Messages of other libraries pass through `library_text`, so that we never repeat advice
to run what a file holds.

``known`` are the words to choose from. ``number`` is how many there are of ``one``, or of ``many`` where the
plural is not formed with s. ``noun`` is a word without an article. ``error`` is the exception raised.
``first_line`` keeps only the first line. ``most`` is the maximum number of characters.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Sequence
from pathlib import Path

# torch has its own exception for GPU memory, but not for CPU memory or for GPU libraries
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "STATUS_ALLOC_FAILED")
# phrases with which NumPy, torch and transformers advise to trust a file, and our replacements
_ADVICE = (
    (
        r"trust_remote_code|remote code",
        (
            "it needs its own code, which is never run; write a function that builds the network, and pass"
            " it as file.py:function"
        ),
    ),
    (r"max_header_size", "its header is too long for an array of numbers; write it again with numpy.save"),
    (
        r"weights[ _]only|WeightsUnpickler|safe_globals|vulnerability issue in `torch\.load`|use_safetensors",
        (
            "it contains more than weights, or weights that only unpickling could read, and nothing is"
            " unpickled; save them as safetensors"
        ),
    ),
    (
        r"allow_pickle|pickle\.load|pickled",
        "it contains Python objects, and nothing is unpickled; save plain numbers or strings",
    ),
)
_OTHER_FOLDER = "choose a folder you may write to"
_CURES = {
    errno.ENOSPC: "free some space on that disk",
    errno.EDQUOT: "your quota on that disk is used up: delete files, or ask for a larger quota",
    errno.EFBIG: (
        "the file is too large for that disk or for your limit, even if space is free: raise the limit"
        " (`ulimit -f`), or"
        " choose a folder on a disk that takes larger files (FAT takes 4 GB)"
    ),
    errno.EROFS: "that disk is read-only; choose a folder on another",
    errno.EACCES: _OTHER_FOLDER,
    errno.EPERM: _OTHER_FOLDER,
}


class FaultscapeError(Exception):
    """The root: catch this to catch every mistake that a user can fix."""


class StudyError(FaultscapeError):
    """The study folder is missing, damaged, busy, read-only or in another state than the verb needs."""


class StudyChangedError(StudyError):
    """Another faultscape process changed the study while this one was reading it, so what was read is
    inconsistent.
    """


class CorpusError(FaultscapeError):
    """The images given cannot form a corpus: none found, duplicate ids, or an unreadable list."""


class ClassesError(FaultscapeError):
    """A class list, a label mapping or a scale file is wrong, or does not fit the maps."""


class ModelError(FaultscapeError):
    """A model's source cannot be read or run, or its name is not allowed."""


class RefusedError(ModelError):
    """A submission's output is not valid; none of it counts."""


class LabelMapError(FaultscapeError):
    """A label map has a wrong size, a wrong kind of pixels, or values out of range."""


class ImageError(FaultscapeError):
    """An image cannot be read: truncated, not an image, or too large to be safe."""


class SelectionError(FaultscapeError):
    """A selection cannot be made, extended or found."""


class FixedSelectionError(SelectionError):
    """A selection exists, and what a line asks for would change which images it holds."""


class DamagedSelectionError(SelectionError):
    """The files of a selection are not as `select` writes them."""


class LabellingError(FaultscapeError):
    """Labels from people cannot be exported or read in."""


class RankingError(FaultscapeError):
    """There is nothing to rank, or the question does not fit the study."""


class MetricError(FaultscapeError):
    """A metric cannot be computed: scores are masked, not finite, or differ in size from their truth."""


class ResultError(FaultscapeError):
    """A result cannot be saved, loaded or drawn: a damaged file, or a library that is not installed."""


class WebError(FaultscapeError):
    """Something on the web cannot be fetched: gone, refused, too slow, too large, or at an address that is
    not allowed.
    """


class OptionError(FaultscapeError):
    """An option has an invalid value."""


def closest(word: str, known: list[str] | tuple[str, ...]) -> str:
    """Return `` Did you mean 'x'?`` for the known word nearest to ``word``, or nothing; one of the same
    letters is nearest.

    >>> closest("miuo", ["miou", "fwiou"])
    " Did you mean 'miou'?"
    >>> closest("mian", ["mine", "main"])
    " Did you mean 'main'?"
    >>> closest("mIoU", ["miou", "fwiou"])
    " Did you mean 'miou'?"
    >>> closest("zebra", ["miou", "fwiou"])
    ''
    """
    near = _nearest(word, known)
    return f" Did you mean {near[0]!r}?" if near else ""


def closest_place(place: str) -> str:
    """Return the end of a message that asks whether the existing file or folder nearest to a ``place`` that
    is not there was meant, or nothing.
    """
    path = Path(place)
    gone = next((one for one in (path, *path.parents) if one.parent.is_dir()), path)
    near = _nearest(gone.name, [one.name for one in gone.parent.iterdir()]) if gone.parent.is_dir() else []
    return f". Did you mean {str(gone.parent / near[0] / path.relative_to(gone))!r}?" if near else ""


def shortened(known: Sequence[str], word: str = "", most: int = 12) -> str:
    """Return the first names of a list, with the one nearest to ``word``, and ``...`` where others are left
    out.

    >>> shortened(["sky", "road", "pole", "person"], "persn", 2)
    'sky, road, person, ...'
    >>> shortened(["sky", "road"], "persn", 2)
    'sky, road'
    """
    shown = list(known[:most])
    near = [name for name in _nearest(word, list(known)) if word and name not in shown]
    left_out = len(known) > len(shown) + len(near)
    return ", ".join([*shown, *near, *(["..."] if left_out else [])])


def in_shards(number: int) -> str:
    """Return in how many shards something lies; '' for one, because that goes without saying.

    >>> in_shards(1), in_shards(3)
    ('', ' in 3 shards')
    """
    return f" in {number:,} shards" if number > 1 else ""


def _nearest(word: str, known: list[str] | tuple[str, ...]) -> list[str]:
    import difflib

    same_letters = [one for one in known if sorted(one) == sorted(word)]
    if same_letters:
        return same_letters
    small = {one.casefold(): one for one in reversed(known)}  # nobody remembers what is a capital letter
    return [small[one] for one in difflib.get_close_matches(word.casefold(), [*small], n=1)]


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and what it counts, in the singular for one.

    >>> (
    ...     counted(1, "image"),
    ...     counted(2, "image"),
    ...     counted(0, "answer that was taken", "answers that were taken"),
    ... )
    ('1 image', '2 images', '0 answers that were taken')
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"


def article(noun: str) -> str:
    """Return a noun with its article.

    >>> article("ensemble"), article("folder")
    ('an ensemble', 'a folder')
    """
    return f"{'an' if noun[:1] in 'aeiou' else 'a'} {noun}"


def library_text(error: BaseException, *, first_line: bool = False, most: int = 300) -> str:
    r"""Return the message of another library's error on one line, replaced by our own words if it advises to
    unpickle or run what a file holds.

    >>> library_text(ValueError("a\n b")), library_text(KeyError())
    ('a b', 'KeyError')
    >>> library_text(ValueError("Object arrays cannot be loaded when allow_pickle=False"))
    'it contains Python objects, and nothing is unpickled; save plain numbers or strings'
    """
    text = str(error).strip()
    for advice, ours in _ADVICE:
        if re.search(advice, text, re.IGNORECASE):
            return ours
    lines = text.splitlines()[:1] if first_line else text.split()
    return (" ".join(lines) or type(error).__name__)[:most]


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an error of Python or torch means that memory ran out.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    >>> is_out_of_memory(
    ...     RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    ... )
    True
    """
    return isinstance(error, MemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY)


def said_by(error: BaseException) -> str:
    r"""Return on one line the exception that foreign code raised: its type, and its message if it has one.

    >>> said_by(ValueError("a\n b")), said_by(SystemExit())
    ('ValueError: a b', 'SystemExit')
    """
    return f"{type(error).__name__}: {library_text(error)}" if str(error).strip() else type(error).__name__


def reason(error: BaseException) -> str:
    """Return what went wrong with a file that the surrounding sentence names already; for system errors, only
    the message.

    >>> (
    ...     reason(FileNotFoundError(errno.ENOENT, "No such file or directory", "x.csv")),
    ...     reason(ValueError("no JSON")),
    ... )
    ('there is no such file', 'no JSON')
    """
    if isinstance(error, FileNotFoundError):
        return "there is no such file"
    return str((isinstance(error, OSError) and error.strerror) or error)


def write_cure(error: OSError) -> str:
    """Return how to fix that a file cannot be written; '' if that is not known.

    >>> (
    ...     write_cure(OSError(errno.ENOSPC, "No space left on device")),
    ...     write_cure(OSError(errno.EIO, "Input/output error")),
    ... )
    ('free some space on that disk', '')
    """
    return _CURES.get(error.errno or 0, "")
