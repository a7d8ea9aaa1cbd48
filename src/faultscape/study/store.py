"""Object stores: what an address such as s3://BUCKET/KEY means, and reading, writing and listing there
through pyarrow's file systems.

Conventions: ``s3://`` and ``gs://``; ``?region=...&scheme=...&endpoint_override=...`` may follow and
``anonymous@`` may precede the bucket. A key is taken literally, without percent-decoding. Credentials come
from where the store's own tools look for them, never from an address. pyarrow retries transient errors; the
rest become one sentence (`sentence`). An object is visible whole or not at all.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import lru_cache
from typing import Any

from pyarrow import fs

from faultscape.errors import FaultscapeError, StudyError

_OPTION = r"(?:region|scheme|endpoint_override)=[^&]*"
_ADDRESS = re.compile(
    rf"(s3|gs)://(?:([^/@]*)@)?([^/?@]*)/?(.*?)(?:\?({_OPTION}(?:&{_OPTION})*))?", re.DOTALL
)
_SURROUNDINGS = (  # a file system depends on these variables
    "AWS_ENDPOINT_URL",
    "AWS_ENDPOINT_URL_S3",
    "AWS_REGION",
    "AWS_DEFAULT_REGION",
    "AWS_PROFILE",
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "GOOGLE_APPLICATION_CREDENTIALS",
)


@dataclass(frozen=True)
class Address:
    """A place in a store; its text is the address again."""

    scheme: str
    bucket: str
    key: str = ""
    options: tuple[tuple[str, str], ...] = ()
    anonymous: bool = False

    def __str__(self) -> str:
        query = "&".join(f"{name}={value}" for name, value in self.options)
        owner = "anonymous@" if self.anonymous else ""
        return f"{self.scheme}://{owner}{self.bucket}/{self.key}{'?' * bool(query)}{query}"

    def __truediv__(self, name: str) -> Address:
        return replace(self, key=f"{self.key.rstrip('/')}/{name}" if self.key else name)

    @property
    def path(self) -> str:
        """The place as pyarrow calls it."""
        return f"{self.bucket}/{self.key}".rstrip("/")


@dataclass(frozen=True)
class Opened:
    """An object that was found: its size, and a tag that changes when its bytes do."""

    size: int
    tag: str
    file: Any

    def read(self, length: int | None = None) -> bytes:
        """Return the first bytes, or all, in one request."""
        return self.file.read_at(self.size if length is None else min(length, self.size), 0)


def is_address(text: object) -> bool:
    """Return whether a word is an address of a store.

    >>> is_address("s3://bucket/images"), is_address("images/")
    (True, False)
    """
    return re.match(r"(s3|gs):/", str(text)) is not None  # a Path turns two slashes into one


def parse(text: str, error: type[FaultscapeError] = StudyError) -> Address:
    """Return the place of an address.

    >>> parse("s3://bucket/a/b.png?region=eu-west-1").path
    'bucket/a/b.png'
    """
    match = _ADDRESS.fullmatch(text)
    if match is None or not re.fullmatch(r"\w[\w.-]*", match[3]):
        raise error(f"{text}: is not a store address; expected s3://BUCKET/PREFIX or gs://BUCKET/PREFIX")
    if match[2] not in (None, "anonymous"):
        raise error(
            f"{match[1]}://{match[3]}: credentials must not be part of an address, where others could read"
            " them; set them as environment variables"
        )
    options = tuple(tuple(option.split("=", 1)) for option in match[5].split("&")) if match[5] else ()
    return Address(match[1], match[3], match[4], options, match[2] is not None)  # type: ignore[arg-type]


def open_object(address: Address) -> Opened:
    """Return an object for reading; OSError as pyarrow raises it."""
    file = _system(address).open_input_file(address.path)
    said = {_text(key).lower(): _text(value) for key, value in (file.metadata() or {}).items()}
    if tag := said.get("etag", "").strip('"'):
        return Opened(file.size(), f"etag:{tag}", file)
    return Opened(
        file.size(), f"changed:{said.get('last-modified') or said.get('updated', '')}-{file.size()}", file
    )


def read(address: Address) -> bytes:
    """Return what an object holds; OSError as pyarrow raises it."""
    return open_object(address).read()


def put(address: Address, data: bytes) -> None:
    """Write an object: one request, or one upload that becomes visible when complete; OSError as pyarrow
    raises it.
    """
    with _system(address).open_output_stream(address.path, buffer_size=None) as stream:
        stream.write(data)


def exists(address: Address) -> bool:
    """Return whether an object exists."""
    return bool(_system(address).get_file_info(address.path).is_file)


def delete(address: Address) -> None:
    """Remove an object; a missing one is not an error."""
    try:
        _system(address).delete_file(address.path)
    except FileNotFoundError:
        return


def copy(address: Address, to: Address) -> None:
    """Copy an object within a store, without reading it here; it becomes visible whole or not at all."""
    _system(address).copy_file(address.path, to.path)


def delete_folder(address: Address) -> None:
    """Remove all objects under a place; it is not an error if there are none."""
    if address.scheme == "gs":  # there a folder exists only through its objects
        _system(address).delete_dir_contents(address.path, missing_dir_ok=True)
        return
    try:
        _system(address).delete_dir(address.path)
    except FileNotFoundError:
        return


def listed(address: Address, *, folders: bool = False, deep: bool = False) -> list[str]:
    """Return the names of the files (or folders) under a place, relative to it, including subfolders if
    ``deep``; never those of the bucket around it.
    """
    if folders and address.scheme == "gs":  # arrow lists only folders that are objects themselves there
        return sorted({name.partition("/")[0] for name in listed(address, deep=True) if "/" in name})
    where = fs.FileSelector(address.path, recursive=deep, allow_not_found=True)
    kind = fs.FileType.Directory if folders else fs.FileType.File
    return sorted(
        i.path[len(address.path) + 1 :] for i in _system(address).get_file_info(where) if i.type == kind
    )


@contextmanager
def told(address: Address, error: type[FaultscapeError] = StudyError) -> Iterator[None]:
    """Turn what pyarrow raises for a store into a sentence."""
    try:
        yield
    except (OSError, ValueError) as fault:
        raise error(sentence(address, fault)) from None


def sentence(address: Address, fault: Exception) -> str:
    """Return what is wrong with a store, and what to do."""
    text = re.sub(r"\s+", " ", str(fault))
    who = (
        "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or AWS_PROFILE"
        if address.scheme == "s3"
        else "GOOGLE_APPLICATION_CREDENTIALS"
    )
    if "NO_SUCH_BUCKET" in text or "bucket does not exist" in text:
        return (
            f"{address}: bucket {address.bucket!r} does not exist; create it with the store's own tools, or"
            " correct the name"
        )
    if isinstance(fault, FileNotFoundError):
        return f"{address}: no such object"
    if re.search(
        r"ACCESS_DENIED|INVALID_ACCESS_KEY|SIGNATURE|INVALID_CLIENT_TOKEN|HTTP status"
        r" 40[13]|credential|\b40[13]\b",
        text,
        re.IGNORECASE,
    ):
        return (
            f"{address}: the store rejected these credentials; set others with {who} (or write anonymous@"
            " before a public bucket)"
        )
    if re.search(
        r"PERMANENT_?REDIRECT|HTTP status 301|authorization header is malformed", text, re.IGNORECASE
    ):
        return (
            f"{address}: the bucket is in another region; set it with AWS_REGION, or with ?region= after the"
            " address"
        )
    if re.search(r"NETWORK_CONNECTION|curlCode|timed? ?out|resolve|refused|unavailable", text, re.IGNORECASE):
        return (
            f"{address}: the store cannot be reached; check the network, and AWS_ENDPOINT_URL or"
            " ?endpoint_override= if the store is not the default one"
        )
    return f"{address}: {text[:300]}"


def _text(word: str | bytes) -> str:
    return word.decode("utf-8", "replace") if isinstance(word, bytes) else word


def _system(address: Address) -> fs.FileSystem:
    return _made(replace(address, key=""), tuple(os.environ.get(name) for name in _SURROUNDINGS))


@lru_cache(maxsize=32)
def _made(address: Address, _: tuple[str | None, ...]) -> fs.FileSystem:
    """Return the file system of a bucket, configured from the environment where pyarrow does not read it."""
    options = dict(address.options)
    if address.scheme == "gs":
        limit = timedelta(seconds=30)
        endpoint = {name: options[name] for name in ("scheme", "endpoint_override") if name in options}
        return fs.GcsFileSystem(anonymous=address.anonymous, retry_time_limit=limit, **endpoint)
    endpoint = (
        options.get("endpoint_override")
        or os.environ.get("AWS_ENDPOINT_URL_S3")
        or os.environ.get("AWS_ENDPOINT_URL")
    )
    region = options.get("region") or os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    if region is None and endpoint is None:
        try:
            region = fs.resolve_s3_region(address.bucket)
        except OSError:  # the request itself will report what is wrong
            region = None
    return fs.S3FileSystem(
        anonymous=address.anonymous,
        region=region or ("us-east-1" if endpoint else None),
        endpoint_override=endpoint,
        scheme=options.get("scheme"),
        allow_delayed_open=True,  # makes a small object one request
        background_writes=False,
        connect_timeout=5,
        request_timeout=30,
    )
