"""Fetch a model from the Hugging Face hub: a snapshot of configuration and weights, in the hub's own cache.

Conventions: ``OWNER/MODEL`` or ``OWNER/MODEL@REVISION``. The commit found is recorded with the model, so that
every later run and every worker uses the same one. Safetensors are preferred; if a repository has none, its
checkpoint is fetched and read as weights only.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from faultscape.errors import ModelError, library_text
from faultscape.study.settings import ModelOptions

_SMALL = ["*.json", "*.txt"]


def recognised(source: str, task: str) -> bool:
    """Whether a SOURCE is a model of the hub."""
    del task
    return source.startswith("hf:")


def digest(source: str, options: ModelOptions) -> str:
    """Return a digest of a model's name and commit."""
    return hashlib.sha256(f"{source}@{options.get('revision', '')}".encode()).hexdigest()


def revision_of(source: str) -> str:
    """Return the commit that hf:OWNER/MODEL[@REVISION] currently names; ModelError if it is not available."""
    return fetch(source.removeprefix("hf:"))[1]


def folder_of(source: str, revision: str) -> str:
    """Return the folder of a model of the hub at a revision, or at the one in its name."""
    name, _, own = source.removeprefix("hf:").partition("@")
    return fetch(f"{name}@{revision or own}" if revision or own else name)[0]


def fetch(repository: str) -> tuple[str, str]:
    """Return (folder, commit) of a repository; cached ones need no network. ModelError with what to do if it
    is not available.
    """
    name, _, revision = repository.partition("@")
    try:
        from huggingface_hub import errors, snapshot_download
    except ImportError:
        raise ModelError(
            f"hf:{repository}: fetching it needs huggingface_hub; install faultscape[torch]"
        ) from None

    def get(patterns: list[str]) -> Path:
        return Path(snapshot_download(name, revision=revision or None, allow_patterns=[*_SMALL, *patterns]))

    try:
        folder = get(["*.safetensors"])
        if not any(folder.glob("*.safetensors")):
            folder = get(["pytorch_model*.bin"])
    except errors.HFValidationError:
        raise ModelError(
            f"hf:{repository}: expected a hub model as OWNER/MODEL, for example"
            " hf:nvidia/segformer-b0-finetuned-ade-512-512"
        ) from None
    except errors.GatedRepoError:
        raise ModelError(
            f"hf:{repository}: its owner requires you to accept terms first: do so on the model's page,"
            " then run `hf auth login`"
        ) from None
    except errors.RepositoryNotFoundError:
        raise ModelError(
            f"hf:{repository}: the hub has no such model, or it is private: check the name, or run `hf auth"
            " login`"
        ) from None
    except errors.RevisionNotFoundError:
        raise ModelError(f"hf:{repository}: the model has no revision {revision!r}") from None
    except Exception as error:  # noqa: BLE001 - each HTTP library has its own errors
        why = library_text(error, first_line=True, most=200)
        raise ModelError(
            f"hf:{repository}: the hub cannot be reached and the model is not in its cache ({why}); on a"
            f" machine with network access run `hf download {name}`, copy that folder here, and pass the"
            " folder instead of the model"
        ) from None
    return str(folder), folder.name
