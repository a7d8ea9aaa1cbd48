"""Whether a name from an untrusted file may be used as the name of a file in a folder."""

from __future__ import annotations

_LONGEST = 500  # bytes


def is_inside(name: str) -> bool:
    """Whether a name with ``/`` between folders stays inside the folder that it is put in.

    >>> is_inside("a/b.png"), is_inside("../b.png"), is_inside("/b.png"), is_inside("a//b")
    (True, False, False, False)
    """
    parts = name.removeprefix("./").split("/")
    return (
        len(name.encode("utf-8", "surrogateescape")) <= _LONGEST
        and name.isprintable()
        and "\\" not in name
        and not {"", ".", ".."} & set(parts)
    )
