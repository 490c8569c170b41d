"""Reading: bytes to a card."""
