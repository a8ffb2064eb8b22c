"""What a replay reaches: models, the draft, and earlier verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.chat import Answer, File, Message, Tokens, ToolCall, ToolDefinition
from app.replay.judge_types import JudgedTurn, StepJudgement, TurnJudgement
from app.replay.result_types import TurnResult
from app.replay.stored_replies import Replies
from app.replay.types import CheckedCall, DeclaredEffect


class ModelPort(Protocol):
    """A language model."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the model's next message. Raises `ProviderError` after the provider's own retries."""


class JudgeModelPort(ModelPort, Protocol):
    """A language model that can be held to a JSON Schema."""

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        """Return the answer to a question, as JSON of the schema where the model's vendor can guarantee that.

        Elsewhere the answer may be any text. Raises `ProviderError` after the provider's own retries.
        """


@dataclass(frozen=True, slots=True)
class RenderedDraft:
    """The draft's instruction; `ignored` are the keys of placeholders that were not applied."""

    instruction: str
    ignored: tuple[str, ...] = ()


class DraftPort(Protocol):
    """The draft as it was when the replay began, and what its prompt's versions defined."""

    @property
    def tools(self) -> Sequence[ToolDefinition]:
        """The tools that the draft defines."""

    @property
    def agent_owns_tools(self) -> bool:
        """True if neither the draft nor any version of the prompt ever defined a tool."""

    def version_tools(self, commit_hash: str | None) -> frozenset[str]:
        """Return the names of the tools of a version; None is the latest one when the test case was made."""

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        """Return the instruction; `placeholders` maps keys to names of values."""

    def nok(self, answer: Answer) -> str | None:
        """Return `NOK: <reason>` for an answer that a run of the draft would mark so, None for one that is usable."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A tool's result as a model imagined it: a JSON value, or text that is none."""

    result: Any
    tokens: Tokens = Tokens()


class JudgePort(Protocol):
    """A model that judges answers, and plays tools where a test case asks for that."""

    def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
        """Decide all open steps of a turn. A `ProviderError` makes them `needs_review`."""

    def simulate(self, call: ToolCall, tool: ToolDefinition | None, examples: Sequence[CheckedCall]) -> Simulation:
        """Return the result that the tool could have given. Raises `ProviderError`."""


class KnownPort(Protocol):
    """Earlier verdicts on the same texts. Both methods may be called from several threads."""

    def recall(self, index: int, turn: JudgedTurn) -> Mapping[int, StepJudgement]:
        """Return what is known of the open steps of turn `index`, by step.

        A step of which nothing is known may have a judgement that needs review, without a reason, for its `digest`.
        """

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        """Keep a judge's verdicts on turn `index`, which was recalled before, for later replays."""


@dataclass(frozen=True, slots=True)
class Ports:
    """All that one replay can reach.

    `judge` is None where no model may judge, `known` where no verdict is remembered. `progress(done, total, turn)`
    counts recorded steps of the turns that are replayed; it is called after every answer of the model (turn None) and
    with every finished turn. `cancelled()` is called before every call of the model. `goes_on()` is called after an
    answer in words: a program may call models again in the same turn. `proposed` has the effects that a model proposes
    for tools with an unknown one, by name. `replies` are those to the calls of a program in the requests before,
    and `recorded_keys` is what these know of the recorded calls.
    """

    model: ModelPort
    draft: DraftPort
    judge: JudgePort | None
    progress: Callable[[int, int, TurnResult | None], None] = lambda done, total, turn: None
    cancelled: Callable[[], bool] = lambda: False
    reads: Callable[[File], bool] = lambda file: True
    known: KnownPort | None = None
    goes_on: Callable[[], bool] = lambda: False
    proposed: Mapping[str, DeclaredEffect] = field(default_factory=dict)
    replies: Replies | None = None
    recorded_keys: dict[tuple[int, int], tuple[str, bytes]] | None = None
