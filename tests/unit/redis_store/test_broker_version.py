"""app/redis_store/broker.py uses parts of Dramatiq that are not documented, as they are in one version."""

from importlib.metadata import version


def test_dramatiq_is_the_version_whose_undocumented_parts_are_used() -> None:
    """After a change of version: read dramatiq/brokers/redis.py beside the broker, then change this."""
    assert version("dramatiq") == "2.2.1"
