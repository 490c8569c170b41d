"""``python -m a2a_discovery`` is ``a2a-discover``."""

from __future__ import annotations

from a2a_discovery._cli import main

if __name__ == "__main__":
    main()
