"""The ports of a replay: models, the draft, and earlier verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from app.chat import Answer, File, Message, Tokens, ToolCall, ToolDefinition
from app.replay.case_types import CheckedCall, DeclaredEffect
from app.replay.judge_types import JudgedTurn, StepJudgement, TurnJudgement
from app.replay.result_types import TurnResult
from app.replay.stored_replies import StoredReplies


class ModelPort(Protocol):
    """A language model."""

    def answer(self, instruction: str, messages: Sequence[Message], tools: Sequence[ToolDefinition]) -> Answer:
        """Return the model's next message. Raises `ProviderError` after the provider's own retries."""


class JudgeModelPort(ModelPort, Protocol):
    """A language model that can answer in JSON of a schema."""

    def structured(self, instruction: str, question: str, schema: dict[str, Any]) -> Answer:
        """Return the answer to a question, as JSON of the schema if the model's vendor can guarantee that.

        The answer of other vendors may be any text. Raises `ProviderError` after the provider's own retries.
        """


@dataclass(frozen=True, slots=True)
class RenderedDraft:
    """The draft's instruction; `ignored` has the keys of placeholders that the draft does not have."""

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
        """Return the names of the tools of a version; None means the latest version when the test case was made."""

    def render(self, placeholders: Mapping[str, str]) -> RenderedDraft:
        """Return the instruction; `placeholders` has the names of the chosen values by key."""

    def nok(self, answer: Answer) -> str | None:
        """Return `NOK: <reason>` for an answer that a run of the draft would mark as not OK; None for a usable one."""


@dataclass(frozen=True, slots=True)
class Simulation:
    """A tool's result that a model imagined: a JSON value, or a text that is not JSON."""

    result: Any
    tokens: Tokens = Tokens()


class JudgePort(Protocol):
    """A model that judges open steps, and simulates tools if a test case asks for that."""

    def judge_turn(self, turn: JudgedTurn) -> TurnJudgement:
        """Return a judgement of each open step of a turn. Raises `ProviderError`; the steps then need review."""

    def simulate(self, call: ToolCall, tool: ToolDefinition | None, examples: Sequence[CheckedCall]) -> Simulation:
        """Return the result that the tool could have given. Raises `ProviderError`."""


class EarlierVerdictsPort(Protocol):
    """Earlier verdicts on the same texts. Both methods may be called from several threads."""

    def recall(self, index: int, turn: JudgedTurn) -> Mapping[int, StepJudgement]:
        """Return the earlier verdicts on the open steps of turn `index`, by step.

        A step without an earlier verdict may have a judgement that needs review and has no reason: its `digest`
        identifies the texts of the step.
        """

    def remember(self, index: int, judgement: TurnJudgement) -> None:
        """Keep a judge's verdicts on turn `index`, which was recalled before, for later replays."""


@dataclass(frozen=True, slots=True)
class Ports:
    """The ports of one replay, and what its caller knows.

    - `judge`: None if no model may judge.
    - `progress(done, total, turn)`: called after each answer of the model, with turn None, and after each turn. It
      counts the recorded steps of the played turns.
    - `cancelled()`: called before each call of the model.
    - `reads(file)`: whether the model can read a file.
    - `earlier_verdicts`: None if no verdict is remembered.
    - `turn_continues()`: called after an answer in words. A program may call models again in the same turn.
    - `proposed`: the effects that a model proposes for tools with an unknown effect, by the name of the tool.
    - `replies`: the stored replies to the calls of a program; None for a replay of a prompt.
    - `recorded_keys`: the keys of recorded calls that earlier requests of a program have read.
    """

    model: ModelPort
    draft: DraftPort
    judge: JudgePort | None
    progress: Callable[[int, int, TurnResult | None], None] = lambda done, total, turn: None
    cancelled: Callable[[], bool] = lambda: False
    reads: Callable[[File], bool] = lambda file: True
    earlier_verdicts: EarlierVerdictsPort | None = None
    turn_continues: Callable[[], bool] = lambda: False
    proposed: Mapping[str, DeclaredEffect] = field(default_factory=dict)
    replies: StoredReplies | None = None
    recorded_keys: dict[tuple[int, int], tuple[str, bytes]] | None = None
