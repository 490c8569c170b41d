"""Exit codes: those of the specification of A2A's official command line."""

from __future__ import annotations

import enum

from a2a_discovery.errors import AuthError, DiscoveryError, FetchError, NotFoundError, UsageError


class Exit(enum.IntEnum):
    """What the command ends with."""

    OK = 0
    FAILURE = 1
    """A card arrived and was refused, or the network policy forbids the way there: asking again changes nothing."""
    USAGE = 2
    UNREACHABLE = 3
    """No usable answer, or no card there."""
    AUTHENTICATION = 4
    TIMEOUT = 5


def exit_for(error: DiscoveryError) -> Exit:
    """The exit code for an error."""
    if isinstance(error, UsageError):
        return Exit.USAGE
    if isinstance(error, AuthError):
        return Exit.AUTHENTICATION
    if isinstance(error, FetchError):
        return Exit.TIMEOUT if error.code == "timeout" else Exit.UNREACHABLE
    return Exit.UNREACHABLE if isinstance(error, NotFoundError) else Exit.FAILURE
