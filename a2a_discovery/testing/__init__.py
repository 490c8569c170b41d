"""A peer for tests: an A2A agent that signs, rotates keys, answers 304, counts requests and misbehaves when told to.

::

    from a2a_discovery.testing import FakeAgent

    agent = FakeAgent("shop.example")
    found = await discover("shop.example", transport=agent)      # no socket, no name lookup
    assert agent.count("card") == 1

    async with agent.serve() as running:                         # a real loopback port, with TLS
        found = await discover(running.url, network=running.network)

`FakeAgent` is one agent on one host; `FakeNetwork` puts several on one transport. What an agent serves is changed by
editing its values (`FakeAgent.card`, ``signers``, ``headers``); what it answers at one place is replaced by a `Reply`
(``agent.replies["card"] = Reply.html()``). `Clock` is the time, for tests that wait for nothing.
"""

from a2a_discovery.testing._agent import FakeAgent
from a2a_discovery.testing._clock import Clock, Gate
from a2a_discovery.testing._keys import Signer
from a2a_discovery.testing._network import FakeNetwork, Running
from a2a_discovery.testing._reply import Reply, Request

__all__ = ["Clock", "FakeAgent", "FakeNetwork", "Gate", "Reply", "Request", "Running", "Signer"]
