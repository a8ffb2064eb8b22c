"""Whether a replay can show a model all that the recorded one saw; a replay that can't is void."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterable, Iterator, Sequence

from app.chat import File
from app.otlp.normalise.media import Media
from app.replay.case_types import CaseFile, CaseTurn, Fidelity, Missing, TestCase
from app.replay.effects import recorded_definitions
from app.replay.ports import Ports
from app.sessions.types import Turn

FILES_MAX = 2 * 1024 * 1024
"""Characters of base64 in the files of a test case."""
MISSING_MAX = 1_000
SHOWN_MAX = 5
_STANDARD = str.maketrans("-_", "+/", " \n\r\t")
_ADVICE = {
    "image": "record its content",
    "audio": "record its content",
    "file": "record its content",
    "instruction": "record the version and the placeholders that the agent uses",
    "history": "make a test case of a session with the whole conversation",
    "tool_definitions": "record gen_ai.tool.definitions, or define the tools in the prompt",
    "content_elsewhere": "export the content with the spans",
    "cut": "raise the exporter's limit of attribute lengths",
}


def recorded_files(turns: Sequence[Turn], *, tools_defined: bool) -> tuple[list[tuple[CaseFile, ...]], list[Missing]]:
    """Return the files of each turn that can be sent again, and all that the recording lacks.

    Definitions of tools are lacking unless the prompt has some.
    """
    left, files, missing = FILES_MAX, [], list[Missing]()
    for number, turn in enumerate(turns):
        kept = []
        for media in turn.files:
            data = media.data.translate(_STANDARD)
            problem = _problem(media, data, left)
            if problem:
                missing.append(Missing(kind=media.kind, turn=number, message=problem))
            elif media.kind != "unknown_part":
                left -= len(data)
                kept.append(CaseFile(kind=media.kind, name=media.name, media_type=media.media_type, data=data))
        files.append(tuple(kept))
        missing += (Missing(kind=gap.kind, turn=number, message=gap.message) for gap in turn.gaps)
        if not tools_defined:
            missing += _without_definitions(number, turn)
    return files, missing[:MISSING_MAX]


def fidelity_of(case: TestCase, ports: Ports) -> Fidelity:
    """Return what a replay with these ports can't show in the turns that it plays."""
    played = len(case.played_turns)
    recorded = case.fidelity.missing if case.fidelity else ()
    # Many instrumentations record no definitions. A draft without the tools fails its steps, and is not void.
    missing = [gap for gap in recorded if gap.turn < played and gap.kind != "tool_definitions"]
    missing += _unreadable(case.played_turns, ports)
    return Fidelity(missing=tuple(missing[:MISSING_MAX]))


def void_reason(fidelity: Fidelity) -> str:
    """Return why a replay shows nothing, and what to do."""
    listed = [f"Turn {gap.turn + 1}: {gap.message}" for gap in fidelity.missing[:SHOWN_MAX]]
    more = len(fidelity.missing) - SHOWN_MAX
    advice = " and ".join(dict.fromkeys(_ADVICE[gap.kind] for gap in fidelity.missing if gap.kind in _ADVICE))
    return (
        f"A replay can't show the model what the recorded one saw. {'; '.join(listed)}"
        f"{f'; and {more} more' if more > 0 else ''}. {f'To fix this, {advice}. ' if advice else ''}"
        "To play it nevertheless, allow in the test case that it is played without all that the model saw."
    )


def files_to_send(turn: CaseTurn, ports: Ports) -> tuple[File, ...]:
    """Return the files of the user's message that the model can read."""
    return tuple(file for file in map(_file, turn.files or ()) if ports.reads(file))


def _problem(media: Media, data: str, left: int) -> str | None:
    what = f"the {media.kind} {media.name}".rstrip()
    if not data:
        return f"{what} was recorded without its content"
    if not media.media_type:
        return f"{what} was recorded without its media type"
    if len(data) > left:
        return f"{what} is too large: the files of a test case have at most {FILES_MAX // 2**20} MiB as base64"
    try:
        b64decode(data, validate=True)
    except ValueError:
        return f"{what} was recorded in a form that can't be read"
    return None


def _without_definitions(number: int, turn: Turn) -> Iterator[Missing]:
    defined = {name for name, entry in recorded_definitions(turn.offered_tools or ()).items() if entry}
    called = dict.fromkeys(step.name for step in turn.steps if step.kind == "tool_call")
    if names := [name for name in called if name not in defined]:
        message = f"no definition of the tool {', '.join(names[:SHOWN_MAX])} was recorded, and the prompt has none"
        yield Missing(kind="tool_definitions", turn=number, message=message)


def _unreadable(turns: Iterable[CaseTurn], ports: Ports) -> Iterator[Missing]:
    known: dict[str, bool] = {}
    for number, turn in enumerate(turns):
        for file in turn.files or ():
            if file.media_type not in known:
                known[file.media_type] = ports.reads(_file(file))
            if not known[file.media_type]:
                message = f"the model can't read the {file.kind} {file.name} ({file.media_type})"
                yield Missing(kind=file.kind, turn=number, message=message)


def _file(file: CaseFile) -> File:
    return File(file.name or file.kind, file.media_type, file.content)
