"""Resources that receive spans and log records, and resources that read them: sessions, prompt logs, exports."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import falcon
from marshmallow import Schema

from app.api.operation import ApiCall, Command, Method, Resource, operation
from app.errors import BY_CODE, UnsupportedMediaType
from app.http.bodies import media_type_of
from app.http.exports import NDJSON, ExportQuerySchema, records, send_json, send_lines
from app.models.api_keys import ApiKey
from app.models.rejected_spans import RejectedSpan
from app.otlp.answers import JSON, PROTOBUF, logs_stored, traces_stored
from app.otlp.inflate import ENCODINGS
from app.pagination import ListPage
from app.schemas import prompt_log
from app.schemas import traces as schemas
from app.schemas.agents import AgentPath, AgentTracesQuery
from app.schemas.answer import AnswerSchema
from app.schemas.base import load
from app.services.ingest.batch import BatchForm, Receipt, Signal
from app.services.prompt_log.query import Entry
from app.wiring.container import Container

PROMPT_ADDRESS = "/api/public/prompts/{id}/otel/v1/"
BODIES: dict[Signal, type[Schema]] = {"traces": schemas.TraceExportSchema, "logs": schemas.LogExportSchema}
STORED: dict[Signal, type[AnswerSchema]] = {"traces": schemas.TracesStored, "logs": schemas.LogsStored}


def stores_batches(signal: Signal, summary: str, **described: Any) -> Callable[[Method], Method]:
    """Describe a method that stores batches, like `operation`, which documents the further keywords."""
    return operation(summary, body=BODIES[signal], limit="traces", answers={200: STORED[signal]}, **described)


class Traces(Resource, POST="ingest"):
    """Answers 200 once the batch is committed, so acknowledged spans are stored."""

    stores = frozenset({"POST"})

    @stores_batches("traces", "Store a batch of spans (OTLP over HTTP with JSON)")
    def on_post(self, key: ApiKey, call: ApiCall) -> Receipt:
        return _deliver(self.container, key, call, _json_form(call.req, "traces"), call.read_bytes())


class Logs(Resource, POST="ingest"):
    """Stores the messages of model calls with their spans. Other records are ignored without an error."""

    stores = frozenset({"POST"})

    @stores_batches("logs", "Store a batch of log records (OTLP over HTTP with JSON)")
    def on_post(self, key: ApiKey, call: ApiCall) -> Receipt:
        return _deliver(self.container, key, call, _json_form(call.req, "logs"), call.read_bytes())


class PromptTraces(Resource, POST="ingest"):
    """The address of one prompt, so that spans need not name it. A span that names another prompt belongs to that one.

    Accepts protobuf, the default of exporters, and JSON. Answers and errors (google.rpc.Status) have the media type of
    the request.
    """

    stores = frozenset({"POST"})

    @stores_batches("traces", "Store a batch of a prompt's spans (OTLP over HTTP)", protobuf=True)
    def on_post(self, key: ApiKey, call: ApiCall, prompt_id: int) -> Receipt | None:
        return _deliver_to_prompt(self.container, key, call, prompt_id, "traces")


class PromptOtelLogs(Resource, POST="ingest"):
    """Stores the messages of a prompt's model calls, sent as protobuf or JSON like the prompt's spans."""

    stores = frozenset({"POST"})

    @stores_batches("logs", "Store a batch of a prompt's log records (OTLP over HTTP)", protobuf=True)
    def on_post(self, key: ApiKey, call: ApiCall, prompt_id: int) -> Receipt | None:
        return _deliver_to_prompt(self.container, key, call, prompt_id, "logs")


# The prompt id of an agent that has no prompt yet. With None each span would have to name its prompt.
_NEW_PROMPT = 0
AGENT_TRACES = "Store a batch of an agent's spans (OTLP over HTTP); its first trace makes its prompt"


class AgentTraces(Resource, tag="Agents", POST="ingest"):
    """The address of an agent by its name. The first trace makes the agent's prompt, a draft with what it records.

    That needs a key with the scope `write`, too. Spans are stored like those of the prompt's address. With
    `split=agents`, other agents that spans name (`gen_ai.agent.name`) get a prompt each, if a batch has their
    instruction.
    """

    stores = frozenset({"POST"})

    @stores_batches("traces", AGENT_TRACES, query=AgentTracesQuery, protobuf=True, errors=(409,))
    def on_post(self, key: ApiKey, call: ApiCall, agent: str) -> Receipt | None:
        return _deliver_to_agent(self.container, key, call, agent, "traces")


class AgentLogs(Resource, tag="Agents", POST="ingest"):
    """Stores the messages of an agent's model calls, sent as protobuf or JSON like the agent's spans."""

    stores = frozenset({"POST"})

    @stores_batches("logs", "Store a batch of an agent's log records (OTLP over HTTP)", protobuf=True, errors=(409,))
    def on_post(self, key: ApiKey, call: ApiCall, agent: str) -> Receipt | None:
        return _deliver_to_agent(self.container, key, call, agent, "logs")


def _deliver_to_agent(container: Container, key: ApiKey, call: ApiCall, name: str, signal: Signal) -> Receipt | None:
    """Deliver a batch to the agent's prompt, which is made if there is none and a part of the batch can be stored."""
    name = load(AgentPath(), {"agent": name})["agent"]
    splits = signal == "traces" and load(AgentTracesQuery(), call.req.params)["split"] is not None
    adoption, form, body = container.services.adoption, _form(call.req, _NEW_PROMPT, signal), call.read_bytes()
    agent = adoption.find(project_id=key.project_id, name=name)
    if agent is None:
        adoption.require_scope(key)
        nothing_stored = container.services.ingest.refusal(body, form)
        if nothing_stored is not None:
            return _answered(call, form, _accepted(call, form, nothing_stored))
        agent = adoption.make(key, name)
    is_prompt_empty = agent.adopted_at is None
    form = replace(form, prompt_id=agent.prompt_id, agent=agent.name if is_prompt_empty else "")
    if splits:
        form = replace(form, split="make" if "write" in key.scopes else "known")
    return _answered(call, form, _deliver(container, key, call, form, body))


def _deliver_to_prompt(
    container: Container, key: ApiKey, call: ApiCall, prompt_id: int, signal: Signal
) -> Receipt | None:
    """Deliver a batch to a prompt of the key's project; raises `NotFound` for another one."""
    container.services.ingest.known_prompts.check(key.project_id, prompt_id)
    form = _form(call.req, prompt_id, signal)
    return _answered(call, form, _deliver(container, key, call, form, call.read_bytes()))


def _answered(call: ApiCall, form: BatchForm, receipt: Receipt) -> Receipt | None:
    """Return the receipt of a JSON batch. Answer a protobuf batch in protobuf and return None."""
    if not form.protobuf:
        return receipt
    stored = traces_stored if form.signal == "traces" else logs_stored
    call.resp.content_type, call.resp.data = PROTOBUF, stored(receipt.rejected, receipt.message)
    return None


def _deliver(container: Container, key: ApiKey, call: ApiCall, form: BatchForm, body: bytes) -> Receipt:
    return _accepted(call, form, container.batch_delivery.deliver(key.project_id, body, form))


def _accepted(call: ApiCall, form: BatchForm, receipt: Receipt) -> Receipt:
    """Return the receipt of a batch that was accepted, also if all of its spans were rejected.

    Raises the error of a refused batch.
    """
    if error := BY_CODE.get(receipt.outcome):
        call.req.context.spans_listed = form.signal == "traces" and receipt.rejected > 0
        raise error(receipt.message)
    return receipt


def _json_form(req: falcon.Request, signal: Signal) -> BatchForm:
    if (media_type := media_type_of(req)) != JSON:
        raise UnsupportedMediaType(
            "Only OTLP over HTTP with JSON is accepted here: set OTEL_EXPORTER_OTLP_PROTOCOL=http/json, which "
            f"sends Content-Type: {JSON} (this request has {media_type[:100] or 'none'}), or send to the address "
            f"of one prompt, which accepts protobuf too: {PROMPT_ADDRESS}{signal}."
        )
    return BatchForm(_encoding(req), signal=signal)


def _form(req: falcon.Request, prompt_id: int, signal: Signal) -> BatchForm:
    media_type = media_type_of(req)
    if media_type not in (JSON, PROTOBUF):
        raise UnsupportedMediaType(
            f"Content-Type must be {PROTOBUF} or {JSON} (this request has {media_type[:100] or 'none'})."
        )
    return BatchForm(_encoding(req), protobuf=media_type == PROTOBUF, prompt_id=prompt_id, signal=signal)


def _encoding(req: falcon.Request) -> str:
    """Return the content encoding; raises `UnsupportedMediaType` for an unsupported one."""
    encoding = (req.get_header("Content-Encoding") or "").strip().lower()
    if encoding not in ENCODINGS:
        raise UnsupportedMediaType("Content-Encoding must be gzip, deflate or identity.")
    return "" if encoding == "identity" else encoding


class SessionResource(Resource, tag="Sessions", GET="read", DELETE="write"):
    @operation("One session with its turns, steps and spans", answers={200: schemas.SessionSchema})
    def on_get(self, key: ApiKey, call: ApiCall, session_id: str) -> None:
        send_json(call.req, call.resp, self._pieces(key.project_id, session_id))

    def _pieces(self, project_id: int, session_id: str) -> Iterator[bytes]:
        with self.services.sessions.opened(project_id=project_id, session_id=session_id) as session:
            yield from schemas.session_pieces(session)

    @operation("Delete a session and its spans; test cases made from it stay", answers={204: None})
    def on_delete(self, key: ApiKey, session_id: str) -> None:
        self.services.deletion.delete_session(project_id=key.project_id, session_id=session_id, actor=key.actor)


class PromptLogsResource(Resource, tag="Logs", GET="read"):
    @operation(
        "The prompt's log; a slow search ends its page early: continue with nextCursor",
        query=prompt_log.LogQuerySchema,
        answers={200: prompt_log.LogSchema},
    )
    def on_get(self, key: ApiKey, command: Command, prompt_id: int) -> ListPage[Entry]:
        return self.services.logs.page(project_id=key.project_id, prompt_id=prompt_id, **command)


class RejectedSpansResource(Resource, tag="Logs", GET="read"):
    @operation(
        "Spans that were not stored, and why", query=schemas.RejectedQuerySchema, answers={200: schemas.RejectedSpans}
    )
    def on_get(self, key: ApiKey, command: Command) -> ListPage[RejectedSpan]:
        return self.services.logs.rejected(project_id=key.project_id, **command)


class Exports(Resource, tag="Exports", GET="read"):
    """`kind` is sessions, runs or test-cases. Each line is a JSON object like the answer of its address, newest first.

    An export counts as one request for the rate limit. If the body ends without its last chunk, it was cut off: request
    the rest from the time of the last record.
    """

    exports = frozenset({"GET"})

    @operation(
        "Export a prompt's sessions, runs or test cases", query=ExportQuerySchema, answers={200: None}, texts=(NDJSON,)
    )
    def on_get(self, key: ApiKey, command: Command, call: ApiCall, prompt_id: int, kind: str) -> None:
        lines = records(self.services.export, kind, project_id=key.project_id, prompt_id=prompt_id, **command)
        send_lines(call.req, call.resp, lines, name=f"{kind}-{prompt_id}")
