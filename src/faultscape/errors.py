"""Everything a user can get wrong, as one tree of exceptions.

Conventions: a message is one line for a person: what was given, what was expected, what to do. The command line prints it
after ``faultscape: `` and ends with exit status 2; no traceback. A defect of ours is never one of these.
"""


class FaultscapeError(Exception):
    """The root: catch this to catch every mistake that a user can mend."""


class StudyError(FaultscapeError):
    """The study folder is missing, damaged, busy, read-only or in another state than the verb needs."""


class CorpusError(FaultscapeError):
    """The images given cannot make a corpus: none found, two with one id, unreadable list."""


class ClassesError(FaultscapeError):
    """A class list, a label mapping or a scale file is wrong, or does not fit the maps."""


class ModelError(FaultscapeError):
    """A model's source cannot be read or run, or its name is not allowed."""


class LabelMapError(FaultscapeError):
    """A label map has a wrong size, a wrong kind of pixels, or values out of range."""


class ImageError(FaultscapeError):
    """A picture cannot be read: truncated, not a picture, or too large to be safe."""


class SelectionError(FaultscapeError):
    """A selection cannot be made, extended or found."""


class LabellingError(FaultscapeError):
    """Labels of people cannot be written out or read in."""


class RankingError(FaultscapeError):
    """Nothing can be ranked from what is there, or the question does not fit the study."""


class MetricError(FaultscapeError):
    """What is to be measured cannot be: scores that are not finite, of another size than their truth, or masked."""


class WebError(FaultscapeError):
    """Something on the web cannot be had: gone, refused, too slow, too large, or at an address that is not asked."""


class OptionError(FaultscapeError):
    """An option has a value that it cannot have."""


def closest(word: str, known: list[str] | tuple[str, ...]) -> str:
    """Return `` Did you mean 'x'?`` for the known word nearest to ``word``, or nothing.

    >>> closest("miuo", ["miou", "fwiou"])
    " Did you mean 'miou'?"
    >>> closest("zebra", ["miou", "fwiou"])
    ''
    """
    import difflib

    near = difflib.get_close_matches(word, known, n=1)
    return f" Did you mean {near[0]!r}?" if near else ""


def counted(number: int, one: str, many: str = "") -> str:
    """Return a number and what it counts, in the singular where it is one.

    >>> counted(1, "image"), counted(2, "image"), counted(0, "answer that was taken", "answers that were taken")
    ('1 image', '2 images', '0 answers that were taken')
    """
    return f"{number} {one if number == 1 else many or f'{one}s'}"
