"""An object store on this machine: moto's server, and what was asked of it."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


class Server:
    """A server, and the (method, path, query) of every request since the last `clear`."""

    def __init__(self) -> None:
        logging.getLogger("werkzeug").setLevel(logging.ERROR)
        from moto.server import ThreadedMotoServer

        self._server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
        self._server.start()
        self.url = f"http://127.0.0.1:{self._server.get_host_and_port()[1]}"
        self.asked: list[tuple[str, str, str]] = []
        self.ranges: dict[str, str] = {}  # which bytes of an object were asked for last
        self.refusing: Any = None  # (method, path) -> status and body of an error, or nothing
        app = self._server._server.app

        def counted(environ: dict[str, Any], start: Any) -> Any:
            method, path = environ["REQUEST_METHOD"], environ["PATH_INFO"]
            self.asked.append((method, path, environ["QUERY_STRING"]))
            if method == "GET":
                self.ranges[path] = environ.get("HTTP_RANGE", "")
            if self.refusing and (status := self.refusing(method, path)):
                start(status, [("Content-Type", "application/xml"), ("Content-Length", "0")])
                return [b""]
            return app(environ, start)

        self._server._server.app = counted

    def stop(self) -> None:
        self._server.stop()


class Bucket:
    """One bucket of the server."""

    def __init__(self, server: Server, name: str) -> None:
        import boto3

        self.server, self.name, self.uri = server, name, f"s3://{name}"
        self._client = boto3.client(
            "s3",
            endpoint_url=server.url,
            region_name="us-east-1",
            aws_access_key_id="key",
            aws_secret_access_key="secret",
        )
        self._client.create_bucket(Bucket=name)
        server.asked.clear()

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=self.name, Key=key, Body=data)

    def upload(self, folder: Path, prefix: str = "") -> None:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                self.put(prefix + path.relative_to(folder).as_posix(), path.read_bytes())

    def delete(self, key: str) -> None:
        self._client.delete_object(Bucket=self.name, Key=key)

    def objects(self, prefix: str = "") -> dict[str, bytes]:
        """Everything that is not the mark of a folder or of a study, by key behind the prefix."""
        pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self.name, Prefix=prefix)
        keys = [entry["Key"] for page in pages for entry in page.get("Contents", [])]
        keys = [key for key in keys if not key.endswith(("/", ".faultscape"))]
        return {
            k[len(prefix) :]: self._client.get_object(Bucket=self.name, Key=k)["Body"].read() for k in keys
        }

    @contextmanager
    def requests(self) -> Iterator[list[tuple[str, str, str]]]:
        """What is asked while the block runs."""
        self.server.asked.clear()
        kept: list[tuple[str, str, str]] = []
        yield kept
        kept += self.server.asked
