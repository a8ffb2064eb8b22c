"""Recognizes answers in which a model refuses."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

BEGINNING_CHARACTERS = 240
"""Characters of an answer that are read: a refusal comes first."""
FINISHED = frozenset({"content_filter", "refusal", "safety", "prohibited_content", "blocklist", "guardrail_intervened"})
"""Reasons with which vendors end an answer that a model or a filter has refused."""

_PHRASES = re.compile(
    "|".join(
        (
            r"\bi(?:'m| am) (?:(?:very |so |really )?sorry|afraid),? (?:but )?(?:that )?"
            r"i (?:can't|cannot|can not|won't|am unable to|am not able to)\b",
            r"\b(?:i|we) (?:can't|cannot|can not|won't|will not) "
            r"(?:help|assist|comply|do that|provide|share|discuss|answer|support|process)\b",
            r"\bi(?:'m| am) (?:unable|not able|not allowed|not permitted) to\b",
            r"\b(?:dabei|damit|das) kann ich (?:ihnen |dir |euch )?(?:leider )?nicht\b",
            r"\bich kann (?:ihnen |dir |euch )?(?:dabei |damit |das |hierbei )?(?:leider )?nicht "
            r"(?:helfen|tun|beantworten)\b",
            r"\bje (?:suis désolée?,? (?:mais )?je )?ne peux (?:malheureusement )?pas\b",
            r"\bno (?:puedo|me es posible) (?:ayudar|hacer|proporcionar|responder|compartir)",
            r"\bnon posso (?:aiutar|fornire|fare|rispondere|condividere)",
            r"\bnão posso (?:ajudar|fornecer|fazer|responder|compartilhar)",
            r"\bik kan (?:u |je |jullie )?(?:hier |daar )?(?:helaas )?niet (?:bij |mee )?helpen\b",
            r"\bnie mogę (?:pomóc|tego zrobić|odpowiedzieć)",
            r"申し訳(?:ございません|ありません)が?.{0,20}(?:できません|いたしかねます)",
            r"很?抱歉.{0,12}(?:无法|不能)",
            r"\bк сожалению,? я не могу\b",
        )
    ),
    re.IGNORECASE,
)
_APOSTROPHES = str.maketrans("\u2019\u02bc", "''")


def is_refusal(answer: str) -> bool:
    """Return whether an answer begins with the words of a refusal."""
    return _PHRASES.search(answer[:BEGINNING_CHARACTERS].translate(_APOSTROPHES)) is not None


def is_refused(attributes: Mapping[str, Any]) -> bool:
    """Return whether a model call with these attributes ended with a refusal of the vendor."""
    reasons = attributes.get("gen_ai.response.finish_reasons")
    listed = reasons if isinstance(reasons, list) else [reasons]
    return any(isinstance(reason, str) and reason.lower() in FINISHED for reason in listed)
