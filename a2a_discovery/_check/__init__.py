"""Checking: what is wrong with a card or the way it is served, for the person who publishes it."""
