"""Prompts, their versions and renderings, as answers show them."""

from __future__ import annotations

from app.schemas.answers.common import ModelName, Resolved
from app.schemas.answers.shapes import boolean, choice, integer, many, one, shape, text, time
from app.schemas.model_config import ModelConfigSchema
from app.schemas.models import LanguageModel
from app.schemas.placeholders import PlaceholderSchema

_Content = shape(
    "Content",
    {
        "value": text(),
        "languageModelId": integer(),
        "languageModel": one(LanguageModel),
        "fallbackModelName": text(allow_none=True),
        "languageModelConfig": one(ModelConfigSchema),
        "instructionFormat": choice("XML", "RAW"),
        "placeholderDefinitions": many(PlaceholderSchema),
    },
)
Prompt = shape(
    "Prompt",
    {
        "id": integer(),
        "name": text(),
        "publicUrl": text(),
        "assertionType": choice("STRICT", "AI", "MANUAL"),
        "assertionValue": text(),
        "commited": boolean(),
        "projectId": integer(),
        "createdAt": time(),
        "updatedAt": time(),
        "commitHash": text(allow_none=True),
    },
    _Content,
)
Author = shape("Author", {"id": integer(), "name": text()})
VersionEntry = shape(
    "VersionEntry",
    {"commitHash": text(), "createdAt": time(), "message": text(), "author": one(Author, allow_none=True)},
)
Version = shape("Version", {"parentCommitHash": text(allow_none=True)}, VersionEntry, _Content)
Versions = shape("Versions", {"versions": many(VersionEntry)})
Branch = shape("Branch", {"name": text(), "promptVersions": many(VersionEntry)})
PromptCounts = shape("PromptCounts", {"testCases": integer()})
PromptListItem = shape(
    "PromptListItem",
    {
        "id": integer(),
        "name": text(),
        "publicUrl": text(),
        "assertionType": choice("STRICT", "AI", "MANUAL"),
        "languageModelId": integer(),
        "createdAt": time(),
        "updatedAt": time(),
        "commited": boolean(),
        "_count": one(PromptCounts),
        "branches": many(Branch),
    },
)
PromptList = shape("PromptList", {"prompts": many(PromptListItem), "nextCursor": text(required=False, allow_none=True)})
CreatedPrompt = shape(
    "CreatedPrompt",
    {
        "prompt": one(
            shape("NewPromptRecord", {"id": integer(), "name": text(), "value": text(), "commited": boolean()})
        ),
        "placeholders": one(shape("PlaceholdersFound", {"undefinedKeys": many(text()), "ignored": many(text())})),
    },
)
Rendered = shape(
    "RenderedPrompt",
    {
        "instruction": text(),
        "instructionFormat": choice("XML", "RAW"),
        "commitHash": text(allow_none=True),
        "languageModel": one(ModelName),
        "languageModelConfig": one(ModelConfigSchema),
        "placeholders": one(shape("PlaceholdersRendered", {"undefinedKeys": many(text())}, Resolved)),
    },
)
