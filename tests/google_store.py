"""A Google Cloud Storage on this machine: as much of its JSON interface as arrow asks for, objects held in
memory.

Conventions: https://cloud.google.com/storage/docs/json_api. An object's name is one part of a path,
percent-encoded. No page of a list is the first of several.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from email.parser import BytesParser
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit


class GoogleStore:
    """A server with buckets; ``objects`` are bytes by (bucket, name), ``asked`` the (method, path) of every
    request.
    """

    def __init__(self, *buckets: str) -> None:
        self.buckets = set(buckets)
        self.objects: dict[tuple[str, str], bytes] = {}
        self.generations: dict[tuple[str, str], int] = {}
        self.sessions: dict[
            str, tuple[str, str, bytes]
        ] = {}  # uploads in pieces: bucket, name, what came so far
        self.asked: list[tuple[str, str]] = []
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"store": self}))
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"127.0.0.1:{self._server.server_port}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def keep(self, bucket: str, name: str, data: bytes) -> dict[str, Any]:
        """Put an object and return what the service says of it."""
        self.objects[bucket, name] = data
        self.generations[bucket, name] = self.generations.get((bucket, name), 0) + 1
        return self.about(bucket, name)

    def about(self, bucket: str, name: str) -> dict[str, Any]:
        data, generation = self.objects[bucket, name], self.generations[bucket, name]
        return {
            "kind": "storage#object",
            "id": f"{bucket}/{name}/{generation}",
            "bucket": bucket,
            "name": name,
            "size": str(len(data)),
            "generation": str(generation),
            "metageneration": "1",
            "contentType": "application/octet-stream",
            "storageClass": "STANDARD",
            "etag": base64.b64encode(hashlib.sha256(data).digest()[:6]).decode(),
            "md5Hash": base64.b64encode(hashlib.md5(data).digest()).decode(),
            "timeCreated": "2026-01-01T00:00:00Z",
            "updated": "2026-01-01T00:00:00Z",
        }


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = 1 << 16  # head and body of an answer are sent together
    store: GoogleStore

    def log_message(self, format: str, *args: Any) -> None:
        pass

    def answer(self, status: int, body: bytes | dict[str, Any] = b"", **headers: str) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in {
            "Content-Length": str(len(data)),
            "Content-Type": "application/json",
            **headers,
        }.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def missing(self, what: str) -> None:
        said = "The specified bucket does not exist." if what == "bucket" else f"No such {what}"
        self.answer(
            404,
            {"error": {"code": 404, "message": said, "errors": [{"domain": "global", "reason": "notFound"}]}},
        )

    def asked(self) -> tuple[str, str, str, dict[str, str], bytes]:
        """Return the kind of path, bucket, object, options and body of the request."""
        url = urlsplit(self.path)
        self.store.asked.append((self.command, self.path))
        options = {key: values[0] for key, values in parse_qs(url.query).items()}
        data = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        found = re.fullmatch(r"(/upload|/download)?/storage/v1/b/([^/]+)(?:/o(?:/(.+))?)?", url.path)
        if found is None:
            plain = re.fullmatch(r"/([^/]+)/(.+)", url.path)  # reads of the XML interface
            return (
                ("xml", unquote(plain[1]), unquote(plain[2]), options, data)
                if plain
                else ("", "", "", options, data)
            )
        kind = (found[1] or "") + ("/o" if "/o" in url.path.partition("/b/")[2] else "")
        return kind, unquote(found[2]), found[3] or "", options, data

    def do_GET(self) -> None:
        kind, bucket, name, options, _ = self.asked()
        if bucket not in self.store.buckets:
            return self.missing("bucket")
        if kind == "":
            return self.answer(
                200, {"kind": "storage#bucket", "id": bucket, "name": bucket, "location": "HERE"}
            )
        if not name:
            return self.answer(200, self.listed(bucket, options))
        name = unquote(name)
        if (bucket, name) not in self.store.objects:
            return self.missing("object")
        if options.get("alt") == "media" or kind in ("xml", "/download/o"):
            return self.bytes_of(bucket, name)
        return self.answer(200, self.store.about(bucket, name))

    def bytes_of(self, bucket: str, name: str) -> None:
        data = self.store.objects[bucket, name]
        more = {
            "Content_Type": "application/octet-stream",
            "x_goog_generation": str(self.store.generations[bucket, name]),
        }
        part = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", ""))
        if part is None:
            return self.answer(200, data, **more)
        first, last = int(part[1]), min(int(part[2] or len(data) - 1), len(data) - 1)
        if first > last:
            return self.answer(416)
        return self.answer(
            206, data[first : last + 1], Content_Range=f"bytes {first}-{last}/{len(data)}", **more
        )

    def listed(self, bucket: str, options: dict[str, str]) -> dict[str, Any]:
        prefix, until = options.get("prefix", ""), options.get("delimiter", "")
        items, folders = [], set()
        for at, name in sorted(self.store.objects):
            if at != bucket or not name.startswith(prefix):
                continue
            rest = name[len(prefix) :]
            if until and until in rest.rstrip(until):
                folders.add(prefix + rest.partition(until)[0] + until)
            else:
                items.append(self.store.about(bucket, name))
        return {"kind": "storage#objects", "items": items, "prefixes": sorted(folders)}

    def do_POST(self) -> None:
        kind, bucket, name, options, data = self.asked()
        if bucket not in self.store.buckets:
            return self.missing("bucket")
        if kind == "/upload/o" and options.get("uploadType") == "resumable":
            named = options.get("name") or json.loads(data)["name"]
            session = str(len(self.store.sessions))
            self.store.sessions[session] = (bucket, named, b"")
            where = f"http://{self.store.address}/upload/storage/v1/b/{bucket}/o?uploadType=resumable&upload_id={session}"
            return self.answer(200, Location=where)
        if kind == "/upload/o" and options.get("uploadType") == "multipart":
            whole = BytesParser().parsebytes(
                b"Content-Type: " + self.headers["Content-Type"].encode() + b"\r\n\r\n" + data
            )
            about, held = (part.get_payload(decode=True) for part in whole.get_payload())  # type: ignore[union-attr, misc]
            return self.answer(
                200, self.store.keep(bucket, options.get("name") or json.loads(about)["name"], held)
            )
        if kind == "/upload/o":
            return self.answer(200, self.store.keep(bucket, options["name"], data))
        if copied := re.fullmatch(r"([^/]+)/rewriteTo/b/([^/]+)/o/([^/]+)", name):
            source, to = unquote(copied[1]), unquote(copied[3])
            if (bucket, source) not in self.store.objects:
                return self.missing("object")
            made = self.store.keep(unquote(copied[2]), to, self.store.objects[bucket, source])
            size = str(len(self.store.objects[bucket, source]))
            return self.answer(
                200,
                {
                    "kind": "storage#rewriteResponse",
                    "done": True,
                    "objectSize": size,
                    "totalBytesRewritten": size,
                    "resource": made,
                },
            )
        return self.missing("way")

    def do_PUT(self) -> None:
        _, _, _, options, data = self.asked()
        bucket, name, before = self.store.sessions[options["upload_id"]]
        whole = before + data
        self.store.sessions[options["upload_id"]] = (bucket, name, whole)
        if self.headers.get("Content-Range", "").endswith("/*"):  # more is to come
            return self.answer(308, Range=f"bytes=0-{len(whole) - 1}")
        return self.answer(200, self.store.keep(bucket, name, whole))

    def do_DELETE(self) -> None:
        _, bucket, name, _, _ = self.asked()
        if self.store.objects.pop((bucket, unquote(name)), None) is None:
            return self.missing("object")
        return self.answer(204)


if __name__ == "__main__":  # a process of its own: arrow holds the interpreter while it asks for a size
    import sys

    store = GoogleStore(*sys.argv[1:])
    print(store.address, flush=True)
    threading.Event().wait()
