"""Files that the caller named: read up to a limit, and never because of what a string says."""

from __future__ import annotations

import os
from pathlib import Path

from a2a_discovery.errors import Attempt, FetchError, NotFoundError


def read_file(path: Path, *, limit: int, argument: str) -> bytes:
    """The bytes of a file.

    Args:
        path: the file.
        limit: most bytes.
        argument: the limit's name in `Limits`, for the hint.

    Raises:
        NotFoundError: ``no-card``: it cannot be read.
        FetchError: ``too-large``.
    """
    shown = str(path)
    try:
        with path.open("rb") as file:
            # A read sets aside as much as it is asked for, so not the whole limit for a small file.
            size = os.fstat(file.fileno()).st_size
            body = file.read(min(size, limit) + 1 if size else limit + 1)
    except (OSError, ValueError) as exc:
        reason = (getattr(exc, "strerror", None) or "unreadable").lower()
        attempt = Attempt(url=shown, reason=reason)
        message = f"the file cannot be read: {attempt}"
        raise NotFoundError("no-card", message, attempts=(attempt,), url=shown, step="fetch") from exc
    if len(body) > limit:
        hint = f"raise it with limits=Limits({argument}=...)"
        raise FetchError("too-large", f"{shown} is larger than {limit} bytes", url=shown, step="fetch", hint=hint)
    return body
