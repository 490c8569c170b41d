"""Catalogs: pure functions from a document, of whatever kind, to the A2A agents that it lists."""
