"""Find an A2A agent's card, know whether to trust it, and which endpoint to call."""
