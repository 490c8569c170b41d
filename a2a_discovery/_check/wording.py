"""What the texts of a card say: hosts of one network, orders to a model, templates, and texts that help nobody."""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Mapping

from a2a_discovery._card.json import JSON
from a2a_discovery._check.scan import Scan, plain
from a2a_discovery._check.sites import is_near
from a2a_discovery._check.subject import Subject, members, objects, text
from a2a_discovery._hosts import address_kind, is_loopback, literal
from a2a_discovery._urls import host_of

_HOST = re.compile(r"://(?:[^\s/@\"'<>]{1,200}@)?(\[[0-9A-Fa-f:.]{2,45}\]|[\w.-]{1,253})")
_SCHEMES = ("http", "https", "ws", "wss", "grpc", "grpcs", "ftp", "redis", "rediss", "postgres", "amqp", "mongodb")
_PRIVATE_IP = re.compile(
    r"(?<![\w.-])(?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01])|169\.254)\.\d{1,3}\.\d{1,3}(?![\w.-])"
)
_PRIVATE = ("10.", "192.168.", "172.", "169.254.")
_INTERNAL = (
    ".internal", ".local", ".lan", ".intranet", ".corp", ".home", ".private", ".svc", ".cluster.local", ".consul",
    ".home.arpa",
)  # fmt: skip

# All of these are looked for in lower case.
_TO_A_MODEL = re.compile(
    r"ignore (?:all |any |the |your )*(?:previous|prior|above|earlier|other) (?:instruction|prompt|message|agent|rule)"
    r"|disregard (?:all |any |the |your )*(?:previous|prior|above|earlier|other|system)"
    r"|forget (?:all |everything|your )(?:previous|instruction|you )"
    r"|system prompt|hidden instruction|<\|[a-z_]+\|>|\[/?inst\]|</?system>|<important>|### ?(?:instruction|system)"
    r"|(?:\A|\n)\s*(?:system|assistant|user)\s*:"
    r"|(?:do not|don't|never|without) (?:tell|inform|mention|reveal)(?:ing)? (?:this |it |any of this )?(?:to )?"
    r"(?:the )?(?:user|human|operator)"
    r"|you (?:must|should|are required to) (?:always |first |now |only )*(?:call|use|choose|select|prefer|route|send|"
    r"forward|follow|obey|act|respond|reply|trust)"
    r"|always (?:choose|select|prefer|use|call|route to|pick) this (?:agent|skill|tool)"
    r"|(?:prefer|choose|use) this agent (?:over|instead|before|above|for (?:all|every|any))"
    r"|you are (?:now )?(?:an? )?(?:ai|llm|language model|assistant)\b|as an? (?:ai|llm|language model)\b"
    r"|(?:attention|dear|note to|instructions? (?:for|to)) (?:all )?(?:the )?(?:reading )?"
    r"(?:ai|llm|agent|model|assistant)s?\b"
    r"|(?:reading|calling) agent (?:must|should|shall)|before (?:doing )?anything else|override (?:your|the|all|any) "
    r"|ignor(?:ez|a|e|iere) (?:toutes? |todas? |alle )?(?:les |las |le |die )?(?:instruc|anweisung|istruzioni)"
    r"|忽略(?:之前|以上|所有)|以前の指示を無視|игнорируй"
)
_SPOKEN_TO = (
    "ignor", "disregard", "forget ", "system prompt", "hidden instr", "<|", "inst]", "system>", "<important",
    "### inst",
    "### sys", "###inst", "###sys", "system:", "assistant:", "user:", "not tell", "n't tell", "never tell",
    "out telling",
    "not inform", "n't inform", "not mention", "n't mention", "not reveal", "n't reveal", "you must", "you should",
    "you are ", "always ", "this agent ", "as an ai", "as a lang", "as an llm", "as a llm", "attention", "dear ",
    "note to", "instructions for", "instructions to", "agent must", "agent should", "agent shall", "anything else",
    "override ", "忽略", "無視", "игнор",
)  # fmt: skip
"""Parts of that: looking for these is far cheaper than the whole expression, and mostly none is there."""
_ORDERS = frozenset(
    (
        *("agentinstructions", "instructionsforagents", "aiinstructions", "llminstructions", "modelinstructions"),
        *("systemprompt", "systemmessage", "prompt", "instructionstomodel", "instructionsforai"),
    )
)
"""Names of members that hold orders to whoever reads the card."""
_UNSEEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\U000e0000-\U000e007f]"
)
_FLAG = re.compile("\U0001f3f4[\U000e0020-\U000e007f]+")
"""The flags of England, Scotland and Wales are written with invisible tags."""
_TEMPLATE = re.compile(
    r"\{\{[^{}]{0,100}\}\}|\$\{[^{}]{0,100}\}|<(?:your|insert|agent)[ _-][a-z _-]{1,40}>|<%.{0,100}%>"
    r"|\byour (?:name|company|organi[sz]ation|agent|email)(?: name)? here\b|\blorem ipsum\b|\btodo:|\bfixme\b"
    r"|\bchange[_ ]?me\b|\breplace[_ ](?:me|this|with)\b|\A\s*(?:todo|your (?:name|company|organization))\s*\Z"
)
_UNFILLED = (
    "{{", "${", "<your", "<insert", "<agent", "<%", "your name", "your company", "your organi", "your agent",
    "your email", "lorem ipsum", "todo", "fixme", "change me", "change_me", "changeme", "replace me", "replace_",
    "replace this", "replace with",
)  # fmt: skip
_FOR_MEMBERS = re.compile(
    r"\b(?:members?|subscribers?|employees?|staff|customers?|partners?|premium(?: \w+)?|internal(?: use)?|admins?|"
    r"authenticated (?:users?|callers?|clients?)|logged[- ]in (?:users?|members?))[ -]only\b"
    r"|\bonly (?:for|to|available to|available for) (?:registered |logged[- ]in |authenticated |paying |our )*"
    r"(?:members?|subscribers?|employees?|staff|admins?|authenticated|premium|customers?|partners?)"
    r"|\brequires? (?:a |an |prior )?(?:login|log-in|sign-?in|authentication|authorization|subscription|membership)\b"
    r"|\b(?:strictly confidential|not for (?:the )?public|do not (?:share|distribute))\b"
)
_AUDIENCE = (" only", "-only", "only ", "requires ", "require ", "confidential", "not for ", "do not ")
_GENERIC = frozenset(
    (
        *("agent", "a2aagent", "aiagent", "myagent", "myaiagent", "mya2aagent", "newagent", "youragent", "theagent"),
        *("testagent", "test", "demoagent", "demo", "exampleagent", "example", "sampleagent", "sample", "untitled"),
        *(
            "helloworldagent",
            "helloworld",
            "helloagent",
            "defaultagent",
            "default",
            "unnamed",
            "unnamedagent",
            "agent1",
        ),
        *("assistant", "aiassistant", "bot", "chatbot", "helper", "helperagent", "server", "a2aserver", "agentserver"),
        *("agentname", "youragentname", "name", "string", "foo", "bar", "unknown", "unknownagent", "na", "todo"),
    )
)
_STATIC = frozenset(
    ("latest", "dev", "development", "snapshot", "main", "master", "head", "unknown", "current", "stable", "local",
     "000", "0", "none", "na", "tbd", "xyz", "version", "string")
)  # fmt: skip
_SHORTEST, _SHORTEST_SKILL = 20, 12
"""Latin letters of a description that says anything."""


def check_wording(subject: Subject, seen: Scan) -> None:
    """Judge every text of the document."""
    _check_hosts(subject, seen)
    _check_orders(subject, seen)
    _check_unseen(subject, seen)
    for number in _speaking(seen, _UNFILLED, _TEMPLATE):
        if "://" not in seen.texts[number][2]:
            subject.say_in_document("template-text", "this was never filled in", seen.place(number))


def _speaking(seen: Scan, signs: tuple[str, ...], form: re.Pattern[str]) -> list[int]:
    """The numbers of the texts that say something of this form, one of whose signs is then in them."""
    likely = sorted(seen.holding(signs, lower=True))
    return [number for number in likely if form.search(seen.lowered()[number]) is not None]


def check_texts(subject: Subject, seen: Scan) -> None:
    """Judge name, descriptions, version, tags and icon of a card."""
    value = subject.value
    name, version = text(value.get("name")), text(value.get("version"))
    if plain(name) in _GENERIC:
        subject.say("generic-name", "the name says nothing about what the agent does", "name")
    _check_description(subject, value, (), _SHORTEST)
    if version and plain(version) in _STATIC:
        subject.say("version-static", "this says nothing about which agent it is", "version")
    members_only = any(sign in seen.lower for sign in _AUDIENCE)
    for index, skill in objects(value.get("skills")):
        _check_description(subject, skill, ("skills", index), _SHORTEST_SKILL)
        if subject.legacy and skill.get("tags") == [] and not subject.noted("skills", index, "tags"):
            subject.say("skill-without-tags", "the skill has no tags", "skills", index, "tags")
        if members_only:
            _check_audience(subject, index, skill)
    _check_icon(subject)


def _check_hosts(subject: Subject, seen: Scan) -> None:
    dotted = any(start in seen.whole for start in _PRIVATE) and _PRIVATE_IP.search(seen.whole) is not None
    if not dotted and "://" not in seen.whole:
        return
    for number, (_, _, said) in enumerate(seen.texts):
        if dotted and _PRIVATE_IP.search(said):
            subject.say_in_document("private-address", "a private address stands here", seen.place(number))
        if "://" in said:
            for found in _HOST.finditer(said):
                if said[max(found.start() - 8, 0) : found.start()].lower().endswith(_SCHEMES):
                    _check_host(subject, seen, number, found[1].lower())


def _check_host(subject: Subject, seen: Scan, number: int, host: str) -> None:
    kind = _kind_of(host)
    if kind == "loopback":
        if subject.url is None or not is_loopback(host_of(subject.url) or ""):
            message = "a URL of the reader's own machine stands here"
            subject.say_in_document("loopback-url", message, seen.place(number))
    elif kind == "private":
        subject.say_in_document("private-address", "a private address stands here", seen.place(number))
    elif kind == "internal":
        message = "a host name that exists in one network alone stands here"
        subject.say_in_document("internal-host", message, seen.place(number))


@functools.lru_cache(maxsize=1024)
def _kind_of(host: str) -> str:
    if is_loopback(host):
        return "loopback"
    address = literal(host)
    if address is not None:
        return "private" if address_kind(address) in ("private", "forbidden") else "public"
    return "internal" if host.endswith(_INTERNAL) or "." not in host else "public"


def _check_orders(subject: Subject, seen: Scan) -> None:
    orders = {name for name in seen.names if plain(name) in _ORDERS}
    for path, name, said in seen.texts if orders else ():
        for depth, token in enumerate((*path, name)):
            if said and token in orders:
                message = "by its name, this is for a model to obey"
                subject.say_in_document("text-for-a-model", message, (*path, name)[: depth + 1])
    for number in _speaking(seen, _SPOKEN_TO, _TO_A_MODEL):
        message = "this tells a model what to do, in place of describing the agent"
        subject.say_in_document("text-for-a-model", message, seen.place(number))


def _check_unseen(subject: Subject, seen: Scan) -> None:
    if seen.whole.isprintable() or not _UNSEEN.search(seen.whole):
        return
    for number, (_, _, said) in enumerate(seen.texts):
        if _UNSEEN.search(_FLAG.sub("", said)):
            message = "this holds control characters or others that nobody sees"
            subject.say_in_document("invisible-text", message, seen.place(number))


def _check_description(subject: Subject, holder: Mapping[str, JSON], at: tuple[str | int, ...], shortest: int) -> None:
    said = holder.get("description")
    if not isinstance(said, str) or (not said and subject.noted(*at, "description")):
        return
    named = text(holder.get("name"))
    if plain(said) and plain(said) == plain(named):
        subject.say("short-description", "the description repeats the name", *at, "description")
    elif _weight(said, shortest) < shortest:
        subject.say("short-description", "the description is too short to choose by", *at, "description")


def _weight(said: str, enough: int) -> int:
    """Length in Latin letters: a character of Chinese, Japanese or Korean says about three times as much."""
    if len(said) >= enough:
        return len(said)
    return sum(3 if unicodedata.east_asian_width(each) in "WF" else 1 for each in said)


def _check_audience(subject: Subject, index: int, skill: Mapping[str, JSON]) -> None:
    for member in ("name", "description"):
        if _FOR_MEMBERS.search(text(skill.get(member)).lower()):
            message = "its text says that the skill is not for everybody, and everybody reads this card"
            subject.say("members-only-skill", message, "skills", index, member)


def _check_icon(subject: Subject) -> None:
    icon = host_of(text(subject.value.get("iconUrl")))
    if icon is None:
        return
    own = [text(members(subject.value.get("provider")).get("url")), text(subject.value.get("documentationUrl"))]
    own += [text(entry.get("url")) for _, entry in objects(subject.value.get("supportedInterfaces"))][:8]
    hosts = {host for url in (subject.url or "", *own) if (host := host_of(url)) is not None}
    if hosts and not any(is_near(icon, host) for host in sorted(hosts)):
        subject.say("foreign-icon", "the icon is on a site that nothing else in the card is on", "iconUrl")
