"""The resources that benchmarks compare with are built of what the service is built of."""

from __future__ import annotations

import sys

import pytest


def test_each_resource_that_does_nothing_can_be_built(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCH_REDIS_URL", "redis://127.0.0.1:9")  # it connects with the first request
    monkeypatch.delitem(sys.modules, "bench.empty", raising=False)

    from bench.empty import application

    routes = [application._router.find(path) for path in ("/", "/limited", "/render", "/run")]
    assert all(routes)
    sys.modules.pop("bench.empty")
