"""Verifying one new card, without any network."""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import jcs
from joserfc import jws
from joserfc.jwk import KeySet

from a2a_discovery import Limits, Trust, TrustPolicy
from a2a_discovery._card.json import decode
from a2a_discovery._card.read import Reading, read_card
from a2a_discovery._effects import Fetch, Fetched
from a2a_discovery._trust.canonical import canonical
from a2a_discovery._trust.verify import Provenance, _usual_form, verify
from benchmarks import bare
from benchmarks.cards import card, signer_of
from benchmarks.table import Result, against, alternate, row

BASE = "https://shop.example"
TIMES = 600
PROVENANCE = Provenance(authority="shop.example", asked="shop.example", channel="tls", url=f"{BASE}/card.json")


def _checked(reading: Reading, jwks: bytes, policy: TrustPolicy, limits: Limits) -> None:
    flow = verify(reading, PROVENANCE, policy=policy, limits=limits, now=1000.0)
    try:
        effect: Any = next(flow)
        while True:
            effect = flow.send(tuple(_keys(each, jwks) for each in effect) if isinstance(effect, tuple) else None)
    except StopIteration as done:
        level = done.value.report.level
    if level is not Trust.SIGNED:
        raise AssertionError(level)


def _keys(fetch: Fetch, jwks: bytes) -> Fetched:
    return Fetched(
        requested=fetch.url, url=fetch.url, status=200, headers={}, body=jwks, channel="tls", cache="fresh",
        fetched_at=1000.0, expires_at=2000.0,
    )  # fmt: skip


def _pair(form: Any, *, known: bool = True) -> tuple[Callable[[], None], Callable[[], None]]:
    """Ours and the other, each with cards that it has not seen."""
    signer = signer_of(0, jku=f"{BASE}/jwks.json", form=form)
    jwks = json.dumps({"keys": [signer.jwk]}).encode()
    keys, policy, limits = KeySet.import_key_set(json.loads(jwks)), TrustPolicy(), Limits()
    documents = [_document(signer, number, form) for number in range(TIMES + 10)]
    readings = iter([read_card(each, url=PROVENANCE.url) for each in documents])
    signed = iter([(each["signatures"][0], json.loads(canonical(each, form))) for each in documents])

    # What was prepared is the benchmark's own: neither side shall pay for looking through it.
    gc.collect()
    gc.freeze()

    def ours() -> None:
        if not known:
            _usual_form.clear()
        _checked(next(readings), jwks, policy, limits)

    def other() -> None:
        signature, payload = next(signed)
        _verify_alone(signature, payload, keys)

    return ours, other


def _document(signer: Any, number: int, form: Any) -> Any:
    plain = card(BASE, number)
    if form == "sdk":  # what makes the forms differ: members at their default, and one that nobody defined
        plain["securityRequirements"] = [{"schemes": {"oauth": {"list": []}}}]
    if form == "received":
        plain["vendor"] = {"tier": "gold", "tags": []}
        plain["capabilities"]["extensions"] = []
    return decode(json.dumps({**plain, "signatures": [signer.sign(plain, base=BASE)]}).encode(), depth=64)


def _verify_alone(signature: Mapping[str, str], payload: Mapping[str, Any], keys: KeySet) -> None:
    encoded = bare.urlsafe_b64encode(jcs.canonicalize(payload)).rstrip(b"=").decode()
    jws.deserialize_compact(
        f"{signature['protected']}.{encoded}.{signature['signature']}", keys, registry=bare.REGISTRY
    )


@row
def verifying() -> Iterator[Result]:
    """A new ES256 card whose publisher's keys are at hand, in each form."""
    for form, aim in (("spec", 2.0), ("sdk", 3.5), ("received", None)):
        ours, other = alternate(*_pair(form, known=False), times=TIMES)
        yield against(f"verify a new ES256 card, {form}, against joserfc and jcs", ours, other, aim=aim)
    ours, other = alternate(*_pair("sdk"), times=TIMES)
    yield against("verify a new ES256 card, sdk, its publisher's form known", ours, other, aim=2.0)
