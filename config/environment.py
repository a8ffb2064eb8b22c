"""Reads the environment: parsers of variables' values, which may also be in files."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import MISSING, Field, field
from ipaddress import ip_network
from itertools import takewhile
from pathlib import Path
from typing import Any

PREFIX = "REPRISE_"


class SettingsError(Exception):
    """The value of a variable is invalid; the message names the variable."""


def whole(text: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise ValueError("it is no whole number") from None


def positive(text: str) -> int:
    if (number := whole(text)) < 1:
        raise ValueError("must be 1 or more")
    return number


def natural(text: str) -> int:
    if (number := whole(text)) < 0:
        raise ValueError("must be 0 or more")
    return number


def percent(text: str) -> int:
    if not 1 <= (number := whole(text)) <= 100:
        raise ValueError("must be 1 to 100")
    return number


def one_of(*choices: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text.lower() not in choices:
            raise ValueError(f"use {', '.join(choices)}")
        return text.lower()

    return parse


def networks(text: str) -> str:
    for entry in filter(None, map(str.strip, text.split(","))):
        ip_network(entry)
    return text


def group_roles(text: str) -> str:
    for entry in filter(None, map(str.strip, text.split(","))):
        group, _, role = entry.rpartition("=")
        if not group.strip() or role.strip() not in ("viewer", "member", "admin"):
            raise ValueError(f"{entry!r} is not like group=viewer, group=member or group=admin")
    return text


def path(text: str) -> Path:
    return Path(text).expanduser().resolve()


def setting(
    env: str,
    default: Any,
    meaning: str,
    parse: Callable[[str], Any] = str,
    *,
    secret: bool = False,
) -> Any:
    """Declare a field that is read from the variable `env`, or from the file that `<env>_FILE` names."""
    return field(default=default, metadata={"env": env, "meaning": meaning, "parse": parse, "secret": secret})


def value_of(environ: Mapping[str, str], env: str) -> str | None:
    """Return the text of a variable, or of the file that `<env>_FILE` names; None if neither is set."""
    if file := environ.get(f"{env}_FILE"):
        try:
            return Path(file).read_text(encoding="utf-8").strip()
        except OSError as error:
            raise SettingsError(f"{env}_FILE: can't read {file}: {error.strerror}") from error
    return environ.get(env)


def read(declared_field: Field[Any], environ: Mapping[str, str]) -> Any:
    """Return the value of a setting, or its default if the variable is empty; raise `SettingsError` if invalid."""
    env, secret = declared_field.metadata["env"], declared_field.metadata["secret"]
    text = value_of(environ, env)
    if text is None or text == "":
        assert declared_field.default is not MISSING  # noqa: S101 - every setting has a default
        return declared_field.default
    try:
        return declared_field.metadata["parse"](text)
    except ValueError as error:
        raise SettingsError(f"{env}: {'its value' if secret else repr(text)} can't be used: {error}") from error


def misspelt(environ: Mapping[str, str], settings: Collection[str]) -> dict[str, str]:
    """Return the variables that are no setting but nearly one, each with the setting that is probably meant.

    Only names with the prefix of Reprise are looked at. Some of them belong to its client or to a compose file.
    """
    known = sorted(env + suffix for env in settings for suffix in ("", "_FILE") if env.startswith(PREFIX))
    unknown = sorted(env for env in environ.keys() - set(known) if env.startswith(PREFIX))
    meant = {env: next((name for name in known if _is_one_slip(env, name)), "") for env in unknown}
    return {env: name for env, name in meant.items() if name}


def _is_one_slip(written: str, meant: str) -> bool:
    """Return True if one letter is missing, added or another one, or if two neighbors are exchanged."""
    start = _equal_letters(written, meant)
    written, meant = written[start:], meant[start:]
    end = _equal_letters(written[::-1], meant[::-1])
    written, meant = written[: len(written) - end], meant[: len(meant) - end]
    return max(len(written), len(meant)) <= 1 or (len(written) == 2 and written == meant[::-1])


def _equal_letters(one: str, other: str) -> int:
    """Return with how many equal letters both begin."""
    return len(list(takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))))
