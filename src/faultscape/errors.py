"""Everything a user can get wrong, as one tree of exceptions.

Conventions: a message is one line for a person: what was given, what was expected, what to do. The command
line prints it after ``faultscape: `` and ends with exit status 2; no traceback. A defect of ours is never one
of these. What another library says passes through `library_text`, so that its advice to run what a file holds
is never ours.

``known`` are the words to choose from. ``number`` is how many there are of ``one``, or of ``many`` where
the plural is not formed by s. ``noun`` is a word without article. ``error`` is what was raised.
``first_line`` leaves out all but the first line. ``most`` is the most characters.
"""

from __future__ import annotations

import errno
import re

# torch has a class of its own for too little memory on a GPU, but not on a processor, nor in the libraries of
# a GPU
_OUT_OF_MEMORY = ("out of memory", "not enough memory", "can't allocate memory", "STATUS_ALLOC_FAILED")
# words by which NumPy, torch and transformers advise to trust a file, and what is said in their place
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
    """The root: catch this to catch every mistake that a user can mend."""


class StudyError(FaultscapeError):
    """The study folder is missing, damaged, busy, read-only or in another state than the verb needs."""


class StudyChangedError(StudyError):
    """Another faultscape changed the study while this one read it: what was read of it no longer belongs
    together.
    """


class CorpusError(FaultscapeError):
    """The images given cannot make a corpus: none found, two with one id, unreadable list."""


class ClassesError(FaultscapeError):
    """A class list, a label mapping or a scale file is wrong, or does not fit the maps."""


class ModelError(FaultscapeError):
    """A model's source cannot be read or run, or its name is not allowed."""


class RefusedError(ModelError):
    """What a submission wrote is not what a submission writes: nothing of it counts."""


class LabelMapError(FaultscapeError):
    """A label map has a wrong size, a wrong kind of pixels, or values out of range."""


class ImageError(FaultscapeError):
    """An image cannot be read: truncated, not an image, or too large to be safe."""


class SelectionError(FaultscapeError):
    """A selection cannot be made, extended or found."""


class DamagedSelectionError(SelectionError):
    """The files of a selection hold something else than `select` writes."""


class LabellingError(FaultscapeError):
    """Labels of people cannot be written out or read in."""


class RankingError(FaultscapeError):
    """Nothing can be ranked from what is there, or the question does not fit the study."""


class MetricError(FaultscapeError):
    """What is to be measured cannot be: scores that are not finite, differ in size from their
    truth, or are masked.
    """


class WebError(FaultscapeError):
    """Something on the web cannot be had: gone, refused, too slow, too large, or at an address that is not
    asked.
    """


class OptionError(FaultscapeError):
    """An option has a value that it cannot have."""


def closest(word: str, known: list[str] | tuple[str, ...]) -> str:
    """Return `` Did you mean 'x'?`` for the known word nearest to ``word``, or nothing; one of the same
    letters is nearest.

    >>> closest("miuo", ["miou", "fwiou"])
    " Did you mean 'miou'?"
    >>> closest("mian", ["mine", "main"])
    " Did you mean 'main'?"
    >>> closest("zebra", ["miou", "fwiou"])
    ''
    """
    import difflib

    near = [one for one in known if sorted(one) == sorted(word)] or difflib.get_close_matches(
        word, known, n=1
    )
    return f" Did you mean {near[0]!r}?" if near else ""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and what it counts, in the singular where it is one.

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
    r"""Return on one line what another library's error says, or our own words where it advises to unpickle or
    to run what a file holds.

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
    """Say whether an error, of Python or of torch, is that memory was too short.

    >>> is_out_of_memory(MemoryError()), is_out_of_memory(RuntimeError("shapes differ"))
    (True, False)
    >>> is_out_of_memory(
    ...     RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`")
    ... )
    True
    """
    return isinstance(error, MemoryError) or any(words in str(error) for words in _OUT_OF_MEMORY)


def said_by(error: BaseException) -> str:
    r"""Return on one line what code raised that is not ours: the kind of error, and its words where it has
    any.

    >>> said_by(ValueError("a\n b")), said_by(SystemExit())
    ('ValueError: a b', 'SystemExit')
    """
    return f"{type(error).__name__}: {library_text(error)}" if str(error).strip() else type(error).__name__


def reason(error: BaseException) -> str:
    """Return what went wrong with a file that the sentence around names already: of the system's errors the
    words alone.

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
    """Return what a person does about a file that cannot be written; '' where that is not known.

    >>> (
    ...     write_cure(OSError(errno.ENOSPC, "No space left on device")),
    ...     write_cure(OSError(errno.EIO, "Input/output error")),
    ... )
    ('free some space on that disk', '')
    """
    return _CURES.get(error.errno or 0, "")
