"""Stands for the library in the check of types, which would read it for half a minute."""

from typing import Any

def __getattr__(name: str) -> Any: ...
