"""Prompts and versions as the API shows them (api.md)."""

from __future__ import annotations

from typing import Any

from app.models.language_models import LanguageModel
from app.models.prompt_versions import VersionHead
from app.models.prompts import PromptListing
from app.rendering.placeholders import keys_in
from app.services.prompts.content import PromptContent, placeholders_json
from app.services.prompts.model_config import with_defaults
from app.services.prompts.service import PromptPage, PromptView, RenderedPrompt
from app.services.prompts.versions import VersionView
from app.timestamps import iso

Json = dict[str, Any]


def public_url(base: str, prompt_id: int) -> str:
    """The prompt's page; "" when the instance has no public base URL."""
    return f"{base.rstrip('/')}/prompts/{prompt_id}" if base else ""


def prompt_record(view: PromptView, *, base: str) -> Json:
    head, content = view.head, view.content
    return {
        "id": head.id,
        "name": head.name,
        "publicUrl": public_url(base, head.id),
        "assertionType": head.assertion_type,
        "assertionValue": head.assertion_value,
        "commited": head.committed,
        "projectId": head.project_id,
        "createdAt": iso(head.created_at),
        "updatedAt": iso(head.updated_at),
        "commitHash": content.commit_hash,
        **_content(content),
    }


def listing(page: PromptPage, *, base: str) -> Json:
    """`nextCursor` is there when the caller set a limit, null on the last page."""
    body: Json = {"prompts": [list_item(prompt, base=base) for prompt in page.prompts]}
    if page.limit is not None:
        body["nextCursor"] = str(page.next_before_id) if page.next_before_id is not None else None
    return body


def list_item(prompt: PromptListing, *, base: str) -> Json:
    branches = [{"name": "master", "promptVersions": [version_entry(prompt.newest)]}] if prompt.newest else []
    return {
        "id": prompt.id,
        "name": prompt.name,
        "publicUrl": public_url(base, prompt.id),
        "assertionType": prompt.assertion_type,
        "languageModelId": prompt.language_model_id,
        "createdAt": iso(prompt.created_at),
        "updatedAt": iso(prompt.updated_at),
        "commited": prompt.committed,
        "_count": {"testCases": prompt.test_cases},
        "branches": branches,
    }


def created(content: PromptContent) -> Json:
    in_text = keys_in(content.value)
    defined = [placeholder.key for placeholder in content.placeholders]
    committed = content.commit_hash is not None
    return {
        "prompt": {"id": content.prompt_id, "name": content.name, "value": content.value, "commited": committed},
        "placeholders": {
            "undefinedKeys": [key for key in in_text if key not in defined],
            "ignored": [key for key in defined if key not in in_text],
        },
    }


def rendered_record(result: RenderedPrompt) -> Json:
    content, rendered = result.content, result.rendered
    return {
        "instruction": rendered.instruction,
        "instructionFormat": content.instruction_format,
        "commitHash": content.commit_hash,
        "languageModel": {"id": content.model.id, "name": content.model.name, "vendor": content.model.vendor},
        "languageModelConfig": with_defaults(content.config, content.model),
        "placeholders": {
            "resolved": rendered.resolved,
            "ignored": rendered.ignored,
            "undefinedKeys": rendered.undefined_keys,
        },
    }


def version_entry(version: VersionHead) -> Json:
    author = {"id": version.author_id, "name": version.author_name} if version.author_id is not None else None
    return {
        "commitHash": version.commit_hash,
        "createdAt": iso(version.created_at),
        "message": version.message,
        "author": author,
    }


def version_record(view: VersionView) -> Json:
    return {**version_entry(view.head), "parentCommitHash": view.head.parent_hash, **_content(view.content)}


def model_record(model: LanguageModel) -> Json:
    return {
        "id": model.id,
        "name": model.name,
        "vendor": model.vendor,
        "promptPrice": model.prompt_price,
        "completionPrice": model.completion_price,
        "contextTokensMax": model.context_tokens_max,
        "completionTokensMax": model.completion_tokens_max,
        "description": model.description,
        "createdAt": iso(model.created_at),
        "updatedAt": iso(model.updated_at),
    }


def _content(content: PromptContent) -> Json:
    return {
        "value": content.value,
        "languageModelId": content.model.id,
        "languageModel": model_record(content.model),
        "fallbackModelName": content.fallback.name if content.fallback else None,
        "languageModelConfig": with_defaults(content.config, content.model),
        "instructionFormat": content.instruction_format,
        "placeholderDefinitions": placeholders_json(content.placeholders),
    }
