"""A browser for pages, where there is one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="no playwright: the page is not opened in a browser"
    )
    with playwright.sync_playwright() as p:
        try:
            made = p.chromium.launch(
                executable_path="/usr/bin/chromium" if Path("/usr/bin/chromium").exists() else None,
                args=["--no-sandbox"],
            )
        except playwright.Error:
            pytest.skip("no Chromium: the page is not opened in a browser")
        yield made
        made.close()
