"""Trust: who vouches for a card."""
