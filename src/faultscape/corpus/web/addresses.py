"""The addresses that may be requested: http and https on the open internet, and on this machine or a private
network only what the user named.

Conventions: a host is private if any of its addresses is not global (loopback, private, link-local,
reserved). The user names a private server, that is a host and a port, by its address or as localhost, in a
list of URLs or as the address of an API. Redirects and answers of that server may lead back to it, but to no
other private server; a name that only resolves to a private address does not count as named. A host must not
contain a percent sign, which the connecting code would decode to a different host.
"""

from __future__ import annotations

import ipaddress
import re
import socket
import urllib.request
from collections.abc import Callable
from urllib.parse import quote, urlsplit, urlunsplit

from faultscape.errors import WebError

Resolve = Callable[[str], list[str]]


def clean(url: str) -> str:
    """Return a URL as it is sent; WebError if it may not be requested.

    >>> clean(" https://example.org/a b/ä.jpg#top ")
    'https://example.org/a%20b/%C3%A4.jpg'
    """
    text = url.strip()
    if not text or not text.isprintable():
        raise WebError("it holds characters that are not allowed in a URL")
    try:
        parts = urlsplit(text)
        host = parts.hostname or ""
        port = parts.port
        host = host if ":" in host else host.encode("idna").decode("ascii")
    except ValueError as error:
        raise WebError(f"it is not a URL: {error}") from None
    if "%" in parts.netloc:
        raise WebError("its host holds a percent sign; write the host unescaped")
    if parts.scheme.lower() not in ("http", "https") or not re.fullmatch(r"[A-Za-z0-9._:-]+", host):
        raise WebError("expected http:// or https:// with a host")
    if parts.username is not None or parts.password is not None:
        raise WebError("it holds a user name or password, which are never sent; remove them")
    place = (f"[{host}]" if ":" in host else host) + (f":{port}" if port is not None else "")
    kept = "%/:=&?~+!$,;'@()*[]"
    return urlunsplit(
        (parts.scheme.lower(), place, quote(parts.path, safe=kept) or "/", quote(parts.query, safe=kept), "")
    )


def names_private(url: str) -> str:
    """Return the server (host and port) of a URL that literally names a private address, '' otherwise.

    >>> (
    ...     names_private("http://127.0.0.1:8000/a"),
    ...     names_private("https://example.org/"),
    ...     names_private("http://localhost/"),
    ... )
    ('127.0.0.1:8000', '', 'localhost')
    """
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        port = parts.port
        inside = host == "localhost" or host.endswith(".localhost") or private(host)
    except ValueError:
        return ""
    return "" if not inside else host if port is None else f"{host}:{port}"


def private(address: str) -> bool:
    """Whether an address is not on the open internet; ValueError when it is not an address.

    >>> (
    ...     private("10.1.2.3"),
    ...     private("::ffff:127.0.0.1"),
    ...     private("8.8.8.8"),
    ...     private("::ffff:8.8.8.8"),
    ...     private("169.254.169.254"),
    ... )
    (True, True, False, False, True)
    """
    ip = ipaddress.ip_address(address.partition("%")[0])
    ip = getattr(ip, "ipv4_mapped", None) or ip
    return not ip.is_global or ip.is_multicast


def check(url: str, named: str, resolve: Resolve) -> None:
    """Raise WebError if a URL leads to a private address other than the server ``named`` by the user;
    requests through a proxy are left to the proxy.
    """
    host = urlsplit(url).hostname or ""
    inside = names_private(url)
    if inside and inside == named:
        return
    if inside:
        raise WebError(
            f"{host} is an address on a private network; only addresses that your list names are requested"
            " there"
        )
    if proxied(url):
        return
    for address in resolve(host):
        if private(address):
            raise WebError(
                f"{host} resolves to {address} on a private network; name that address in the list if you"
                " want it"
            )


def proxied(url: str) -> bool:
    """Whether the environment sets a proxy for this URL, decided as in urllib, with the port."""
    parts = urlsplit(url)
    return parts.scheme in urllib.request.getproxies() and not urllib.request.proxy_bypass(parts.netloc)


def look_up(host: str) -> list[str]:
    """Return the addresses of a host; WebError if it has none."""
    try:
        return sorted({str(entry[4][0]) for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)})
    except (OSError, UnicodeError):
        raise WebError(f"{host}: host not found") from None
