"""The report of a crawl: one page that loads nothing, in which a stranger's words are words.

Its style and its script stand in files beside this one and are written into the page; the page's policy names them by
their hashes, so that nothing else runs or is fetched, whatever a card says.
"""

from __future__ import annotations

import base64
import datetime as dt
import hashlib
import html
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from a2a_discovery import Trust
from a2a_discovery._cli.pinfile import write
from a2a_discovery._cli.show import duration
from a2a_discovery._cli.text import clean

Record = Mapping[str, Any]

_EARLY = """document.documentElement.classList.add("js");"""
"""Runs before the rows are there: those past the first are then not laid out at all."""
_STEP = 500
"""Rows that are shown at a time, where there is a script to show more."""
_MOST = 12
"""Kinds that one figure shows."""
_LISTED = 100
"""Findings, places and attempts that one section shows."""

_LEVELS = {
    "PINNED": ("\N{BLACK DIAMOND}", "good", "A signature verified with a key that whoever crawled had chosen."),
    "SIGNED": ("\N{HEAVY CHECK MARK}", "good", "A signature verified with a key that the agent's own site publishes."),
    "CHANNEL": ("\N{WHITE CIRCLE}", "plain", "No signature counts: the host that answered vouches, by TLS alone."),
    "NONE": ("\N{BALLOT X}", "bad", "Nobody vouches: it came over plain http."),
}
_REFUSED = ("\N{CIRCLED MINUS}", "bad")
_COLUMNS = (
    ("Agent", "text", "ascending"),
    ("Trust", "number", "descending"),
    ("Interface", "text", "ascending"),
    ("Version", "text", "ascending"),
    ("Skills", "number", "descending"),
    ("Findings", "number", "descending"),
    ("Caching", "number", "descending"),
)


def write_report(path: Path, records: Sequence[Record], *, title: str) -> None:
    """Write the page.

    Args:
        path: where to.
        records: of a crawl (`records.record_of`), in any order.
        title: what was crawled.

    Raises:
        UsageError: ``bad-config``, where it cannot be written.
    """
    write(path, page(records, title=title, now=time.time()))


def page(records: Sequence[Record], *, title: str, now: float) -> str:
    """The whole page, as text.

    Args:
        records: of a crawl.
        title: what was crawled.
        now: seconds since the epoch.
    """
    style, script = _resource("report.css"), _resource("report.js")
    ordered = sorted(records, key=lambda each: (each.get("outcome") != "agent", str(_name(each)).casefold()))
    agents = sum(each.get("outcome") == "agent" for each in ordered)
    moment = dt.datetime.fromtimestamp(now, dt.UTC)
    policy = (
        f"default-src 'none'; style-src 'sha256-{_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'; "
        f"script-src 'sha256-{_hash(_EARLY)}' 'sha256-{_hash(script)}'"
    )
    parts = (
        "<!DOCTYPE html>\n",
        '<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n<link rel="icon" href="data:,">\n',
        f"<title>{_t(title)}: agents</title>\n<style>{style}</style>\n<script>{_EARLY}</script>\n</head>\n<body>\n",
        '<a class="skip" href="#table">To the table</a>\n<header>\n',
        f"<h1>Agents of <bdi>{_t(title)}</bdi></h1>\n",
        f'<p class="soft">{len(ordered)} targets, {agents} agents, <time datetime="{moment.isoformat()}">'
        f"{moment:%Y-%m-%d %H:%M} UTC</time>. Made by a2a-discover; this page loads nothing.</p>\n</header>\n<main>\n",
        *_figures(ordered),
        *_table(ordered),
        *_sections(ordered),
        "</main>\n",
        f"<script>{script}</script>\n</body>\n</html>\n",
    )
    return "".join(parts)


def _resource(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _t(value: object, limit: int = 200) -> str:
    """A stranger's text as text: one line, nothing unseen in it, no markup."""
    text = "" if value is None else str(value)
    # A page of ten thousand agents is made of such texts, and nearly all are plain.
    return html.escape(text if len(text) <= limit and text.isprintable() else clean(text, limit))


def _get(record: Any, *names: str) -> Any:
    """A member of a member; ``None`` where a line of the file has another shape."""
    for name in names:
        record = record.get(name) if isinstance(record, Mapping) else None
    return record


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def _name(record: Record) -> Any:
    return _get(record, "name") or _get(record, "target")


def _level(record: Record) -> str | None:
    level = _get(record, "trust", "level") if record.get("outcome") == "agent" else None
    return level if isinstance(level, str) and level in _LEVELS else None


# Figures


def _figures(records: Sequence[Record]) -> Iterator[str]:
    agents = [each for each in records if each.get("outcome") == "agent"]
    failed = [each for each in records if each.get("outcome") != "agent"]
    findings = (str(_get(each, "code")) for record in agents for each in _list(_get(record, "findings", "list")))
    signatures = (
        str(_get(check, "alg" if _get(check, "status") == "verified" else "status"))
        for record in records
        for check in _list(_get(record, "trust", "signatures"))
    )
    levels = Counter(_level(each) for each in agents)
    yield '<section aria-labelledby="figures"><h2 id="figures">In figures</h2>\n<div class="figures">\n'
    yield _figure("Who vouches", [(each.name, levels[each.name]) for each in reversed(Trust)], len(agents))
    yield _figure("What went wrong", Counter(str(each.get("outcome")) for each in failed).most_common(), len(records))
    spoken = Counter(f"{_get(each, 'interface', 'binding')} {_get(each, 'interface', 'version')}" for each in agents)
    yield _figure("Interface to call", spoken.most_common(), len(agents))
    yield _figure("Signatures", Counter(signatures).most_common(), None)
    yield _figure("Caching", Counter(_caching(each)[1] for each in agents).most_common(), len(agents))
    yield _figure("Findings", Counter(findings).most_common(), None)
    yield "</div></section>\n"


def _figure(title: str, counts: Sequence[tuple[Any, int]], whole: int | None) -> str:
    """One kind of figure: names, numbers, and bars for the eye alone."""
    present = [(name, count) for name, count in counts if count]
    most = max((count for _, count in present), default=1) if whole is None else max(whole, 1)
    bars = "".join(
        f'<li><span><bdi>{_t(name, 60)}</bdi></span><span class="count">{count}</span>'
        f'<svg viewBox="0 0 100 6" preserveAspectRatio="none" aria-hidden="true"><rect class="track" width="100" '
        f'height="6"/><rect class="part" width="{100 * count / most:.1f}" height="6"/></svg></li>'
        for name, count in present[:_MOST]
    )
    rest = len(present) - _MOST
    more = f'<p class="soft">and {rest} more kinds</p>' if rest > 0 else ""
    shown = f"<ul>{bars}</ul>{more}" if bars else '<p class="soft">None.</p>'
    return f'<section class="figure"><h3>{title}</h3>{shown}</section>\n'


def _caching(record: Record) -> tuple[float | None, str]:
    """Seconds that the card stays fresh, and what the server says about that."""
    asked, until = _get(record, "source", "fetched_at"), _get(record, "source", "expires_at")
    seconds = max(until - asked, 0.0) if _is_number(asked) and _is_number(until) else None
    control, tag = bool(_get(record, "source", "cache_control")), bool(_get(record, "source", "etag"))
    said = {
        (True, True): "Cache-Control and ETag",
        (True, False): "Cache-Control alone",
        (False, True): "ETag alone",
        (False, False): "neither",
    }
    return seconds, said[control, tag]


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) < 1e12


# The table


def _table(records: Sequence[Record]) -> Iterator[str]:
    levels = "".join(f"<option>{level}</option>" for level in _LEVELS)
    outcomes = "".join(
        f"<option>{_t(each, 60)}</option>" for each in sorted({str(record.get("outcome")) for record in records})
    )
    heads = "".join(
        f'<th scope="col" role="columnheader" aria-sort="none" data-kind="{kind}" data-first="{first}">'
        f'<button type="button">{name}</button></th>'
        for name, kind, first in _COLUMNS
    )
    yield (
        '<section aria-labelledby="table"><h2 id="table" tabindex="-1">All of them</h2>\n'
        '<form class="controls" id="controls" role="search" aria-label="Filter the table" hidden>'
        '<label class="wide">Words that stand in the row<input type="search" id="word" autocomplete="off"></label>'
        f'<label>Trust<select id="trust"><option value="">any</option>{levels}</select></label>'
        f'<label>Outcome<select id="outcome"><option value="">any</option>{outcomes}</select></label>'
        '<output id="shown" aria-live="polite"></output></form>\n<p class="skip" id="said" aria-live="polite"></p>\n'
        '<table class="agents" role="table"><caption>Each row leads to the whole of what is known. '
        "A heading sorts by its column.</caption>\n"
        f'<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n<tbody role="rowgroup">\n'
    )
    for index, record in enumerate(records):
        yield _row(index, record)
    yield '</tbody></table>\n<p class="none" id="none" hidden>Nothing fits.</p>\n'
    yield f'<button type="button" class="more" id="more" data-step="{_STEP}" hidden>Show {_STEP} more</button>\n'
    yield "</section>\n"


def _row(index: int, record: Record) -> str:
    agent = record.get("outcome") == "agent"
    level = _level(record)
    skills, findings = _get(record, "skills", "count"), _get(record, "findings", "count")
    seconds, said = _caching(record)
    interface = _get(record, "interface")
    bound = f"{_get(interface, 'binding')} {_get(interface, 'version')}" if agent else ""
    control = _get(record, "source", "cache_control") or said
    fresh = "" if seconds is None else f"fresh for {duration(seconds)}"
    cells = (
        _cell("Trust", Trust[level] if level else "", _badge(record)),
        _cell(
            "Interface",
            bound,
            f'{_t(bound, 80)}<span class="under mono">{_t(_get(interface, "url"), 120)}</span>',
            agent,
        ),
        _cell("Version", record.get("version"), _t(record.get("version"), 40), agent),
        _cell("Skills", skills, _t(skills), agent, number=True),
        _cell("Findings", findings, _t(findings), agent, number=True),
        _cell("Caching", seconds, f'{_t(control, 100)}<span class="under">{fresh}</span>', agent),
    )
    name, target = _t(_name(record), 100), _t(record.get("target"), 160)
    under = f'<span class="under mono"><bdi>{target}</bdi></span>' if name != target else ""
    outcome = _t(record.get("outcome"), 60)
    return (
        f'<tr role="row"{_late(index)} data-section="a{index}" data-trust="{level or ""}" data-outcome="{outcome}">'
        f'<th scope="row" role="rowheader" data-value="{name}"><a href="#a{index}"><bdi>{name}</bdi></a>{under}</th>'
        f"{''.join(cells)}</tr>\n"
    )


def _late(index: int, others: str = "") -> str:
    classes = (others + ("late" if index >= _STEP else "")).strip()
    return f' class="{classes}"' if classes else ""


def _cell(label: str, value: object, shown: str, present: bool = True, *, number: bool = False) -> str:
    classes = ("number" if number else "") + ("" if present else " empty")
    kind = f' class="{classes.strip()}"' if classes.strip() else ""
    text = f"<bdi>{shown}</bdi>" if present else '<span class="skip">none</span>'
    worth = "" if value is None or not present else _t(int(value) if isinstance(value, Trust) else value, 80)
    return f'<td role="cell" data-label="{label}" data-value="{worth}"{kind}><div>{text}</div></td>'


def _badge(record: Record) -> str:
    level = _level(record)
    if level is not None:
        mark, kind, _ = _LEVELS[level]
        return _marked(mark, kind, level)
    return _marked(*_REFUSED, _t(record.get("outcome"), 60))


def _marked(mark: str, kind: str, text: str) -> str:
    return f'<span class="badge {kind}"><span aria-hidden="true">{mark} </span>{text}</span>'


# A section for each


def _sections(records: Sequence[Record]) -> Iterator[str]:
    yield '<section aria-labelledby="each"><h2 id="each">One by one</h2>\n'
    for index, record in enumerate(records):
        body = "".join(_agent(record) if record.get("outcome") == "agent" else _failure(record))
        yield (
            f'<details{_late(index, "agent ")} id="a{index}">'
            f"<summary><bdi>{_t(_name(record), 100)}</bdi>{_badge(record)}</summary>"
            f'<div>{body}<p class="back"><a href="#table">Back to the table</a></p></div></details>\n'
        )
    yield "</section>\n"


def _agent(record: Record) -> Iterator[str]:
    if record.get("description"):
        yield f"<p><bdi>{_t(record['description'], 600)}</bdi></p>"
    interface, skills = _get(record, "interface"), _get(record, "skills")
    yield _facts(
        ("Target", record.get("target")),
        ("Card", _get(record, "source", "url")),
        ("By way of", ", ".join(map(str, _list(_get(record, "source", "via"))))),
        ("Provider", record.get("provider")),
        ("Version", record.get("version")),
        ("Call", f"{_get(interface, 'binding')} {_get(interface, 'version')} at {_get(interface, 'url')}"),
        ("Tenant", _get(interface, "tenant")),
        ("Skills", f"{_get(skills, 'count')}: {', '.join(map(str, _list(_get(skills, 'names'))))}"),
        ("Extended card", "declared" if record.get("extended") else "not declared"),
    )
    yield from _trust(record)
    yield from _findings(_list(_get(record, "findings", "list")), _get(record, "findings", "count"))
    seconds, _ = _caching(record)
    yield "<h4>How it may be cached</h4>"
    yield _facts(
        ("Cache-Control", _get(record, "source", "cache_control") or "not sent"),
        ("ETag", _get(record, "source", "etag") or "not sent"),
        ("Fresh for", None if seconds is None else duration(seconds)),
    )


def _failure(record: Record) -> Iterator[str]:
    error = _get(record, "error")
    yield f"<p>{_t(_get(error, 'message'), 1200)}</p>"
    yield _facts(
        ("Target", record.get("target")),
        ("URL", _get(error, "url")),
        ("Code", _get(error, "code")),
        ("Step", _get(error, "step")),
        ("What to do", _get(error, "hint")),
    )
    attempts = _list(_get(error, "attempts"))
    if attempts:
        yield "<h4>Tried</h4>" + _items(
            f"{_t(_get(each, 'url'), 300)} ({_t(_get(each, 'status') or '', 10)} {_t(_get(each, 'reason'), 100)})"
            for each in attempts
        )
    if _get(record, "trust") is not None:
        yield from _trust(record)
    yield from _findings([*_list(_get(error, "findings")), *_list(_get(error, "skipped"))], None)


def _facts(*facts: tuple[str, object]) -> str:
    shown = "".join(
        f"<dt>{name}</dt><dd><bdi>{_t(value, 600)}</bdi></dd>" for name, value in facts if value not in (None, "")
    )
    return f"<dl>{shown}</dl>"


def _trust(record: Record) -> Iterator[str]:
    report = _get(record, "trust")
    level = str(_get(report, "level"))
    meaning = _LEVELS[level][2] if level in _LEVELS else ""
    yield f"<h4>Who vouches for it</h4><p>{meaning}</p><p><bdi>{_t(_get(report, 'explanation'), 2000)}</bdi></p>"
    checks = _list(_get(report, "signatures"))
    if checks:
        heads = ("Signature", "Result", "Key id", "Algorithm", "Form", "Key by", "Thumbprint", "Reason")
        members = ("index", "status", "kid", "alg", "form", "key_source", "thumbprint", "reason")
        head = "".join(f'<th scope="col">{each}</th>' for each in heads)
        lines = "".join(
            "<tr>" + "".join(f"<td><bdi>{_t(_get(check, member), 200)}</bdi></td>" for member in members) + "</tr>"
            for check in checks[:_LISTED]
        )
        yield (
            '<div class="scroll" role="region" aria-label="Signatures" tabindex="0"><table class="signatures">'
            f"<thead><tr>{head}</tr></thead><tbody>{lines}</tbody></table></div>"
        )
    places = _list(_get(report, "uncovered"))
    if places:
        yield "<h4>What no signature protects</h4>" + _items(f"<code>{_t(each, 200)}</code>" for each in places)


def _findings(findings: Sequence[Any], count: object) -> Iterator[str]:
    if findings:
        yield "<h4>What was found</h4>" + _items(
            f"{_t(_get(each, 'severity'), 20)}: <code>{_t(_get(each, 'pointer') or '/', 200)}</code> "
            f"<bdi>{_t(_get(each, 'message'), 400)}</bdi> ({_t(_get(each, 'code'), 60)})"
            for each in findings
        )
    if isinstance(count, int) and count > len(findings):
        yield f"<p>{count} in all.</p>"


def _items(items: Iterable[str]) -> str:
    listed = list(items)
    more = f"<li>and {len(listed) - _LISTED} more</li>" if len(listed) > _LISTED else ""
    return f'<ul class="plain">{"".join(f"<li>{each}</li>" for each in listed[:_LISTED])}{more}</ul>'
