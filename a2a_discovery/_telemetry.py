"""What a discovery tells its operator: log events by stable names, and spans where OpenTelemetry is in use.

No card text, no header, no secret goes into either. `docs/telemetry.md` lists the names.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from a2a_discovery.errors import DiscoveryError

if TYPE_CHECKING:
    from a2a_discovery._agent import Agent

log = logging.getLogger("a2a_discovery")

_NOTHING: AbstractContextManager[None] = nullcontext()


def tracer() -> Any:
    """OpenTelemetry's tracer, or ``None`` where nobody set up tracing.

    Nothing is imported: a program that traces has imported the API itself.
    """
    api = sys.modules.get("opentelemetry.trace")
    if api is None:
        return None
    provider = api.get_tracer_provider()
    if isinstance(provider, (api.ProxyTracerProvider, api.NoOpTracerProvider)):
        return None
    return provider.get_tracer("a2a_discovery")


def silent() -> bool:
    """Whether nobody is listening for a warm call: no tracing, and no log at DEBUG."""
    return not log.isEnabledFor(logging.DEBUG) and tracer() is None


def span(name: str, **attributes: Any) -> AbstractContextManager[Any]:
    """A span around a block, current while it runs; an error of ours becomes its status by its code alone."""
    active = tracer()
    return _NOTHING if active is None else _span(active, name, attributes)


@contextmanager
def _span(active: Any, name: str, attributes: dict[str, Any]) -> Iterator[Any]:
    # Exceptions are not recorded whole: a traceback may hold what a stranger sent.
    with active.start_as_current_span(
        name, attributes=_plain(attributes), record_exception=False, set_status_on_exception=False
    ) as current:
        try:
            yield current
        except DiscoveryError as error:
            current.set_attributes(_plain({"error.type": error.code, "a2a.step": error.step}))
            current.set_status(sys.modules["opentelemetry.trace"].StatusCode.ERROR, error.code)
            raise


def describe(current: Any, agent: Agent) -> None:
    """Put what was found on the span of a discovery."""
    if current is not None:
        current.set_attributes(_plain(_facts(agent)))


def found(target: str, agent: Agent) -> None:
    """Log a discovery that succeeded."""
    level = logging.INFO if agent.source.cache == "network" else logging.DEBUG
    if log.isEnabledFor(level):
        log.log(level, "a2a.discovered", extra={"a2a.target": target, **_facts(agent)})


def failed(target: str, error: DiscoveryError) -> None:
    """Log a discovery that did not succeed."""
    facts = {"a2a.target": target, "a2a.code": error.code, "a2a.step": error.step, "a2a.url": error.url}
    log.info("a2a.failed", extra=_plain(facts))


def _facts(agent: Agent) -> dict[str, Any]:
    return {
        "a2a.url": agent.source.url,
        "a2a.cache": agent.source.cache,
        "a2a.trust.level": agent.trust.level.name,
        "a2a.trust.authority": agent.trust.authority,
        "a2a.extended": agent.extended,
    }


def _plain(attributes: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in attributes.items() if value is not None}
