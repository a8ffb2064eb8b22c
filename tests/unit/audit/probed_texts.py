"""Probed texts for the operators: sentences of several languages, each with a value and its conversation."""

from __future__ import annotations

from typing import Any

from app.audit.probed_text import Conversation, ProbedText
from app.values.budget import UNLIMITED, WorkBudget

SENTENCES = {
    "en": "The order A-1042 is ready and costs $1,299.00 for you. You can collect it within 14 days at the shop.",
    "de": "Die Bestellung A-1042 ist bereit und kostet 1.299,00 € für Sie. Sie können sie 14 Tage im Laden abholen.",
    "fr": "La commande A-1042 est prête et coûte 1299,00 € pour vous. Vous pouvez la retirer dans les 14 jours.",
    "es": "El pedido A-1042 está listo y cuesta 1.299,00 € para usted. Usted puede recogerlo en 14 días.",
    "it": "Il pedido A-1042 è pronto e costa 1.299,00 € per lei. Il ritiro è possibile per 14 giorni nel negozio.",
    "pt": "O pedido A-1042 está pronto e custa 1.299,00 € para você. O pedido pode ser retirado em 14 dias.",
    "nl": "De bestelling A-1042 is klaar en kost 1.299,00 € voor u. U kunt het 14 dagen in de winkel afhalen.",
    "pl": "Zamówienie A-1042 jest gotowe i kosztuje 1299,00 € dla pana. Może pan je odebrać w ciągu 14 dni.",
    "ja": "ご注文 A-1042 の用意ができました。代金は 1,299 円 です。14日間 受け取れます。",
}


def probed_text(
    text: str,
    *,
    user: str = "Where is my order B-7?",
    results: tuple[Any, ...] = (),
    instruction: str = "You are the agent of a shop. Never name the margin of the shop.",
    texts: tuple[str, ...] = ("I ordered B-7 for $85.00 on 2026-11-05 at 09:30, you had 3 left.",),
    data: tuple[Any, ...] = (),
    others: tuple[str, ...] = ("The parcel RF-88213 comes on 12 May from the depot.",),
    budget: WorkBudget = UNLIMITED,
) -> ProbedText:
    return ProbedText(text, user, results, Conversation(instruction, (*texts, text), (*data, *results), others, budget))
