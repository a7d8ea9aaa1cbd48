"""Check that the file of an exported program (``.pt2``) holds only a graph and numbers, and nothing that
torch would run while reading it.

Conventions: torch does more than parse such a file: it unpickles objects, loads compiled libraries, evaluates
the text of symbolic sizes, looks up functions by dotted names, imports modules that structures name, and
writes names into the code of ``forward``. So a file is first inspected through torch's own archive reader:
members must belong to a graph, and its JSON is judged field by field (`exported_graphs`). Guards, which are
code, are never requested. Where torch's reader fails, torch reads the same bytes as an archive of an older
form by other means; such an archive is refused.
"""

from __future__ import annotations

import re
import zipfile
from typing import IO

from faultscape.errors import ModelError, library_text
from faultscape.prediction.network_files.exported_graphs import problems

_MEMBER = re.compile(
    r"archive_format|archive_version|byteorder|\.data/[\w.-]+|models/[\w-]+\.json|data/(weights|constants|sample_inputs)/[\w.-]+|extra/[^\\]+"
)
_PICKLED = re.compile(r"(custom|opaque)_obj_", re.IGNORECASE)
_OLD = "version"  # the member by which torch knows an archive of the older form


def check(path: str, file: IO[bytes]) -> None:
    """Raise ModelError naming the first thing in an exported program, opened at its start, beyond a graph
    with its weights.
    """
    try:
        from torch.export.pt2_archive import PT2ArchiveReader
    except ImportError:
        raise ModelError(f"{path}: reading exported programs needs torch 2.9 or later") from None
    try:
        with PT2ArchiveReader(file) as archive:
            names = archive.get_file_names()
            unpacked = sum(map(archive.archive_file.get_record_size, names))
            whole = unpacked <= file.seek(0, 2)  # torch itself compresses nothing in it
            names = names if whole else []
            graphs = {name: archive.read_bytes(name) for name in names if name.startswith("models/")}
            configs = {name: archive.read_bytes(name) for name in names if name.endswith("_config.json")}
        with zipfile.ZipFile(file) as other:
            is_old = _OLD in other.namelist()
    except Exception as error:  # noqa: BLE001 - a damaged archive fails anywhere in torch
        raise ModelError(
            f"{path}: is not an exported program: {library_text(error, first_line=True, most=200)}"
        ) from None
    if not whole:
        raise ModelError(f"{path}: its members unpack to {unpacked:,} bytes, more than it has; it is forged")
    if is_old:
        raise ModelError(
            f"{path}: holds {_OLD!r}, as programs of torch before 2.8 do; save it again with"
            " torch.export.save"
        )
    if not graphs:
        raise ModelError(f"{path}: contains no exported program; save one with torch.export.save")
    for name in names:
        if _PICKLED.search(name):
            raise ModelError(
                f"{path}: holds the object {name!r}, which only unpickling could read; export the network"
                " without it"
            )
        if not _MEMBER.fullmatch(name) or ".." in name:
            raise ModelError(
                f"{path}: holds {name!r}, which is not part of a graph with its weights; save it with"
                " torch.export.save alone"
            )
    if len({name.lower() for name in names}) < len(names):
        raise ModelError(f"{path}: contains two members with the same name; it is damaged or forged")
    if any(_PICKLED.search(config.decode("utf-8", "replace")) for config in configs.values()):
        raise ModelError(
            f"{path}: names an object that only unpickling could read; export the network without it"
        )
    documents = [(document, "ExportedProgram") for document in graphs.values()]
    documents += [(document, "PayloadConfig") for document in configs.values()]
    for document, kind in documents:
        for problem in problems(document, kind):
            raise ModelError(f"{path}: {problem}; only graphs of torch's own operators are run")
