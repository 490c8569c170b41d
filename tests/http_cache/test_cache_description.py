"""`Cache` is a description: it opens nothing, and says at once what is wrong with it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import hishel
import pytest

from a2a_discovery._http.cache import Cache, as_cache
from a2a_discovery.errors import UsageError


def test_a_cache_is_a_value_and_each_memory_one_of_its_own() -> None:
    memory = Cache.memory()

    assert memory == memory
    assert memory != Cache.memory()
    assert len({memory, memory, Cache.memory(), Cache.off()}) == 3
    with pytest.raises(AttributeError):
        memory.kind = "off"  # type: ignore[misc]


def test_making_one_loads_no_heavy_library_and_opens_no_file(tmp_path: Path) -> None:
    script = f"""
import sys
from a2a_discovery._http.cache import Cache
from a2a_discovery._http.fetcher import Fetcher
Cache.memory(), Cache.sqlite({str(tmp_path / "cache.sqlite")!r}), Cache.off(), Cache.redis("redis://cache.example")
print([name for name in ("hishel", "sqlite3", "redis", "a2a_discovery._http.exchange") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert done.stdout.strip() == "[]"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["http://cache.example", "cache.example:6379", "", None, 5])
def test_a_url_of_no_redis_server_is_bad_config(url: Any) -> None:
    with pytest.raises(UsageError) as error:
        Cache.redis(url)

    assert error.value.code == "bad-config"
    assert "redis://" in str(error.value)


def test_a_password_is_in_neither_the_repr_nor_an_error() -> None:
    with pytest.raises(UsageError) as error:
        Cache.redis("http://:s3cret@cache.example")

    assert "s3cret" not in str(error.value)
    assert "s3cret" not in repr(Cache.redis("redis://:s3cret@cache.example"))


def test_a_bare_hishel_storage_is_a_cache(plain_storage: Any) -> None:
    assert as_cache(plain_storage).external is Cache.storage(plain_storage).external is plain_storage
    assert as_cache(Cache.off()).kind == "off"
    assert as_cache(None).kind == "memory"


def test_hishels_storage_for_blocking_code_is_bad_config_and_the_hint_names_the_right_one(tmp_path: Path) -> None:
    storage = hishel.SqliteStorage(database_path=tmp_path / "x.db")

    with pytest.raises(UsageError) as error:
        as_cache(storage)

    assert "hishel.AsyncSqliteStorage" in str(error.value)


@pytest.mark.parametrize("value", ["memory", {}, Cache, object()])
def test_anything_else_is_bad_config(value: Any) -> None:
    with pytest.raises(UsageError) as error:
        as_cache(value)

    assert error.value.code == "bad-config"


@pytest.mark.parametrize(
    ("platform", "environment", "expected"),
    [
        ("linux", {"HOME": "/h"}, "/h/.cache/a2a-discovery/cache.sqlite"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "/x"}, "/x/a2a-discovery/cache.sqlite"),
        ("linux", {"HOME": "/h", "XDG_CACHE_HOME": "relative"}, "/h/.cache/a2a-discovery/cache.sqlite"),
        ("linux", {"XDG_CACHE_HOME": "/x"}, "/x/a2a-discovery/cache.sqlite"),
        ("linux", {}, None),
        ("linux", {"HOME": ""}, None),
        ("darwin", {"HOME": "/h"}, "/h/Library/Caches/a2a-discovery/cache.sqlite"),
        ("darwin", {}, None),
        ("win32", {"LOCALAPPDATA": "/l", "HOME": "/h"}, "/l/a2a-discovery/cache.sqlite"),
        ("win32", {"HOME": "/h"}, None),
    ],
)
def test_the_default_file_is_where_the_platform_keeps_caches(
    platform: str, environment: dict[str, str], expected: str | None
) -> None:
    from a2a_discovery._http.cache import default_path

    found = default_path(platform, environment)

    assert (None if found is None else found.as_posix()) == expected
