"""The name of every key in Redis, and of the one channel."""

from __future__ import annotations

METRICS_TOTAL = "reprise:metrics:total"
METRICS_GAUGES = "reprise:metrics:gauges"
# The number is the message format's. Processes of older versions listen on the channel without a number.
RUNS_ENDED = "reprise:runs:ended:2"
BATCH_TICKETS = "batch:tickets"
# Written to see whether Redis accepts it.
WRITE_PROBE = "reprise:probe"
# The prefix of the queues' keys, both Dramatiq's and ours.
NAMESPACE = "dramatiq"
# Parts of the names of a queue's keys: an organization's list, and the list that a process waits on.
OF_ORGANIZATION, WAKE = ":of:", ":wake:"


# Prefixes of keys that no client waits for. Of a queue's keys, clients only wait for `WAKE`.
_NOT_WAITED_FOR = (
    b"requests:",
    b"reprise:metrics:",
    b"reprise:slots:",
    b"reprise:workers:",
    WRITE_PROBE.encode(),
    b"reprise:stop:",
    b"project:",
    b"batch:",
)
_OF_QUEUES, _WAKE = f"{NAMESPACE}:".encode(), WAKE.encode()


def may_be_waited_for(key: bytes) -> bool:
    """Return whether a client may block until the key changes; True for an unknown key."""
    if key.startswith(_OF_QUEUES):
        return _WAKE in key
    return not key.startswith(_NOT_WAITED_FOR)


def metrics_minute(minute: int) -> str:
    """Return the key of a minute, which is counted from 1970."""
    return f"reprise:metrics:minute:{minute}"


def rate(caller: int | str) -> str:
    """`caller` is an API key's id, or the name of another limited caller."""
    return f"requests:{caller}"


def ingest_rate(caller: int | str) -> str:
    return f"{rate(caller)}:ingest"


def leases(caller: int | str) -> str:
    return f"{rate(caller)}:leases"


def epoch(project_id: int) -> str:
    return f"project:{project_id}:epoch"


def model_slots(model: str) -> str:
    return f"reprise:slots:{model}"


def model_slots_of(model: str, organization_id: int) -> str:
    return f"{model_slots(model)}:of:{organization_id}"


def run_events(run_id: int) -> str:
    return f"reprise:run:{run_id}:events"


def run_unmasked(run_id: int) -> str:
    return f"reprise:run:{run_id}:words"


def run_stop(run_id: int) -> str:
    return f"reprise:stop:{run_id}"


def batch_body(ticket: str) -> str:
    return f"batch:{ticket}:body"


def batch_message(key: str) -> str:
    return f"batch:{key}:message"


def batch_stored(key: str) -> str:
    return f"batch:{key}:stored"


def workers(queue: str) -> str:
    return f"reprise:workers:{queue}"


class QueueKeys:
    """The keys of one of Dramatiq's queues: Dramatiq's, and ours for taking turns between organizations."""

    def __init__(self, queue: str) -> None:
        self.queue = queue
        # A list of the ids of messages that are not yet in the list of their organization.
        self.arrived = f"{NAMESPACE}:{queue}"
        # Hashes by id: all messages, and the delayed ones.
        self.messages = f"{self.arrived}.msgs"
        self.delayed_messages = f"{self.arrived}.DQ.msgs"
        # A sorted set of the dead letters: messages without further retries.
        self.dead = f"{self.arrived}.XQ"
        # A list of the organizations that have messages.
        self.organizations = f"{self.arrived}:organizations"
        # A hash of the processes that wait for messages.
        self.idle = f"{self.arrived}:idle"

    def of_organization(self, organization_id: str) -> str:
        """Return the list of an organization's messages."""
        return f"{self.arrived}{OF_ORGANIZATION}{organization_id}"

    def wake(self, consumer: str) -> str:
        """Return the list that the process waits on."""
        return f"{self.arrived}{WAKE}{consumer}"

    def fetched(self, consumer: str) -> str:
        """Return the set of the messages that the process has fetched and not acknowledged."""
        return f"{NAMESPACE}:__acks__.{consumer}.{self.queue}"
