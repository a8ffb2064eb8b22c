"""Keeps a prompt's draft and its file in step: what one side has not seen of the other is never overwritten.

A file remembers in `base` the fingerprint of the draft that it was made of. Two pushes at once are distinguished by the
draft's ETag.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import click
from msgspec.structs import replace
from reprise_formats.placeholders import keys_in
from reprise_formats.text_files import TextFile

from reprise_client.cli import git, terminal, text_input
from reprise_client.cli.failures import CouldNotRun
from reprise_client.cli.remote import Remote, RemoteAnswer
from reprise_client.prompt_files import file as files
from reprise_client.prompt_files.file import BadFile, PromptFile, fingerprint


class SyncRefused(click.ClickException):
    """A command would overwrite changes; it exits with code 1."""


@dataclass(frozen=True, slots=True)
class New:
    """The arguments of `create`. `model` and `text_format` are those of a file that is only the prompt's text.

    The prompt's file is `into`, by default the file itself. By default the prompt is named after the file.
    """

    name: str | None
    model: str | None
    text_format: Literal["RAW", "XML"]
    message: str | None
    into: Path | None = None


def create(instance: Remote, file: Path, new: New) -> int:
    """Make a prompt of the file, and a version if there is a message; return the prompt's id.

    Raises `CouldNotRun` for a file that names a prompt.
    """
    stored, local = _new_file(file, new)
    if local.prompt is not None:
        raise CouldNotRun(f"{file}: prompt: It is the file of prompt {local.prompt} already.")
    return _make(instance, file, stored, local, new)


def create_all(instance: Remote, paths: Sequence[Path], new: New) -> Iterator[str]:
    """Make a prompt of each file that names none; yield what was done.

    All files are read before the first prompt is made. Raises `CouldNotRun` for a file that can't be read.
    """
    read = [(path, *_new_file(path, new)) for path in paths if path.name.lower() != "readme.md"]
    for path, stored, local in read:
        if local.prompt is None:
            yield f"{path} is prompt {_make(instance, path, stored, local, new)}."
        else:
            yield f"{path} is the file of prompt {local.prompt} already."


def _new_file(file: Path, new: New) -> tuple[TextFile, PromptFile]:
    stored = text_input.read(file)
    if not files.has_front_matter(stored.content):
        stored = TextFile(files.format_file(_of_text(file, stored.text, new)))
    return stored, _parsed(file, stored.content)


def _make(instance: Remote, file: Path, stored: TextFile, local: PromptFile, new: New) -> int:
    body = files.to_overlay(local) | {"fallbackModelName": local.fallback, "commit": False}
    body["name"] = file.stem if new.name is None else new.name
    try:
        answer = instance.post("/api/v1/prompts", body)["prompt"]
    except CouldNotRun as error:
        raise CouldNotRun(f"{file}: {files.in_names_of_the_file(error.message)}", error.status) from error
    made: int = answer["id"]
    current, etag = instance.draft(made)
    content = files.with_base(files.with_prompt(stored.content, made), fingerprint(from_answer(current)))
    write_file(new.into or file, TextFile(content, stored.encoding))
    warn_of_undefined(local)
    if new.message is not None:
        _commit(instance, made, new.message, current, etag)
    return made


def _of_text(file: Path, content: str, new: New) -> PromptFile:
    if new.model is None:
        raise CouldNotRun(f"{file} has no front matter: name the model with --model.")
    return PromptFile(model=new.model, instruction_format=new.text_format, text=content)


def pull(instance: Remote, file: Path, prompt_id: int | None, *, force: bool) -> str:
    """Write the draft to the file and return what was done. Raises `SyncRefused` if changes would be lost."""
    local = _local(file, force=force)
    prompt_id = named(prompt_id, local[1] if local else None)
    current = from_answer(instance.draft(prompt_id)[0])
    there = fingerprint(current)
    content = TextFile(files.format_file(replace(current, base=there)))
    if local:
        here = fingerprint(local[1])
        if here == there:
            # Comments, quotes and line ends stay unchanged.
            content = TextFile(files.with_base(local[0].content, there), local[0].encoding)
        elif not force and here != local[1].base and not git.is_committed(file):
            raise SyncRefused(f"{file} has changes that are neither pushed nor committed; --force overwrites them.")
    write_file(file, content)
    return f"{file} is the draft of prompt {prompt_id}."


def push(instance: Remote, file: Path, prompt_id: int | None, message: str | None, *, force: bool) -> Iterator[str]:
    """Make the file the draft, and a version if there is a message; yield what was done.

    Raises `SyncRefused` when the draft has changes that the file has not seen: it is neither what the file is based on
    nor what the file was in an earlier commit.
    """
    stored, local = read_file(file)
    prompt_id = named(prompt_id, local)
    warn_of_undefined(local)
    answer, etag = instance.draft(prompt_id)
    current = from_answer(answer)
    if fingerprint(current) != fingerprint(local):
        if not force and not _has_seen(file, local, fingerprint(current)):
            raise _unseen(file, prompt_id)
        answer, etag = _change(instance, prompt_id, file, local, current, etag)
    yield f"{file} is the draft of prompt {prompt_id}."
    based = files.with_base(stored.content, fingerprint(from_answer(answer)))
    write_file(file, TextFile(based, stored.encoding))
    if message is not None:
        yield _commit(instance, prompt_id, message, answer, etag)


def warn_of_undefined(prompt: PromptFile) -> None:
    """Warn of keys in the text that no placeholder defines."""
    defined = {placeholder.key for placeholder in prompt.placeholders}
    for key in keys_in(prompt.text):
        if key not in defined:
            terminal.echo(f"Warning: {{{{{key}}}}} has no placeholder, so the model receives it literally.", err=True)


def diff(instance: Remote, file: Path, prompt_id: int | None) -> str:
    """Return the unified diff from the draft to the file, "" when they have the same content."""
    local = read_file(file)[1]
    prompt_id = named(prompt_id, local)
    current = from_answer(instance.draft(prompt_id)[0])
    return "".join(files.difference(current, local, f"prompt {prompt_id}", str(file)))


def read_file(file: Path) -> tuple[TextFile, PromptFile]:
    """Return a file's content and the prompt that it holds; `CouldNotRun` names the line of what is wrong."""
    stored = text_input.read(file)
    return stored, _parsed(file, stored.content)


def _parsed(file: Path, content: str) -> PromptFile:
    try:
        return files.parse(content)
    except BadFile as error:
        raise CouldNotRun(f"{file}: {error}") from error


def write_file(file: Path, stored: TextFile) -> None:
    """Replace the file as a whole, so that no reader sees half of it; do nothing when it has this content.

    A link to a file stays a link, and a file keeps its mode.
    """
    new = stored.content.encode(stored.encoding)
    file = Path(os.path.realpath(file))
    try:
        if file.exists() and file.read_bytes() == new:
            return
        file.parent.mkdir(parents=True, exist_ok=True)
        unfinished = file.with_name(f".{file.name}.{secrets.token_hex(4)}")
        with unfinished.open("xb") as output:  # never a link that others put there
            output.write(new)
        if file.exists():
            shutil.copymode(file, unfinished)
        unfinished.replace(file)
    except OSError as error:
        raise CouldNotRun(f"{file}: {error.strerror}.") from error


def named(prompt_id: int | None, local: PromptFile | None) -> int:
    """Return the prompt that the command names, else the one that the file names."""
    chosen = prompt_id if prompt_id is not None else local.prompt if local else None
    if chosen is None:
        raise CouldNotRun("Name the prompt with --prompt, or by its id as `prompt` in the file.")
    return chosen


def from_answer(answer: dict[str, Any]) -> PromptFile:
    """Return the file of a prompt as the API answers it; `CouldNotRun` if its content has no form as a file."""
    try:
        return files.from_answer(answer)
    except BadFile as error:
        raise CouldNotRun(f"This release of the command can't write the prompt as a file: {error}") from error


def _local(file: Path, *, force: bool) -> tuple[TextFile, PromptFile] | None:
    """Return what `read_file` does, or None for a file that is not there or, with `force`, is no prompt."""
    if not file.exists():
        return None
    try:
        return read_file(file)
    except CouldNotRun:
        if force:
            return None
        raise


def _has_seen(file: Path, local: PromptFile, there: str) -> bool:
    return local.base == there or any(_fingerprint(content) == there for content in git.earlier_contents(file))


def _fingerprint(content: str) -> str | None:
    try:
        return fingerprint(files.parse(content))
    except BadFile:
        return None


def _change(
    instance: Remote, prompt_id: int, file: Path, local: PromptFile, current: PromptFile, etag: str
) -> tuple[RemoteAnswer, str]:
    if local.instruction_format != current.instruction_format:
        raise CouldNotRun(f"{file}: instructionFormat: Prompt {prompt_id} is {current.instruction_format} for good.")
    try:
        return instance.change_draft(prompt_id, files.to_change(local), if_match=etag)
    except CouldNotRun as error:
        if error.status == 412:
            raise _unseen(file, prompt_id) from error
        raise CouldNotRun(f"{file}: {files.in_names_of_the_file(error.message)}", error.status) from error


def _commit(instance: Remote, prompt_id: int, message: str, draft: dict[str, Any], etag: str) -> str:
    """Commit the draft that has this ETag and return what was done."""
    if draft["commited"]:
        return "There is nothing to commit: the newest version has this content."
    try:
        version = instance.post(f"/api/v1/prompts/{prompt_id}/commit", {"message": message}, if_match=etag)
    except CouldNotRun as error:
        if error.status == 412:
            raise SyncRefused(f"The draft of prompt {prompt_id} was changed before it could be committed.") from error
        raise
    return f"It is committed as version {version['commitHash'][:8]}."


def _unseen(file: Path, prompt_id: int) -> SyncRefused:
    return SyncRefused(
        f"The draft of prompt {prompt_id} has changes that {file} has not seen. `reprise prompts diff` shows them. "
        "Write them into the file with `pull --force` and make your changes again, or overwrite them: `push --force`."
    )
