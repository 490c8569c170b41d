"""The one place where bytes come in."""
