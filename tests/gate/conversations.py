"""Conversations of agents with their tools, to be recorded by real SDKs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Call:
    """A tool call; the tool fails with the words of `error` where there are any."""

    name: str
    arguments: dict[str, Any]
    result: Any = None
    error: str | None = None


@dataclass(frozen=True)
class Turn:
    """The user's message, the calls of each of the model's answers until the last, and that last answer."""

    user: str
    answer: str
    rounds: tuple[tuple[Call, ...], ...] = ()


@dataclass(frozen=True)
class Conversation:
    instruction: str
    turns: tuple[Turn, ...]


ORDER = Call("get_order", {"order_id": "1042"}, {"order_id": "1042", "total": "89.90 EUR", "state": "lost"})
POLICY = Call("get_policy", {"topic": "refunds"}, "Lost parcels are refunded in full within 30 days.")
BROKEN = Call("get_tracking", {"order_id": "1042"}, error="carrier timed out")
REFUND = Call("refund_order", {"order_id": "1042", "amount": "89.90"}, {"refund_id": "R-77", "state": "accepted"})
EMAIL = Call(
    "send_email",
    {"to": "ada@example.com", "subject": "Your refund", "body": "We refunded 89.90 EUR for order 1042 (R-77)."},
    {"sent": True},
)
SUPPORT = Conversation(
    "You are the support agent of a shop. Read the policy before you refund.",
    (
        Turn("Hello, I am Ada.", "Hello Ada, how can I help?"),
        Turn(
            "My order 1042 never came. What can I get?",
            "Order 1042 over 89.90 EUR is lost; you get it back in full within 30 days.",
            ((ORDER, POLICY),),
        ),
        Turn("Where was it last seen?", "The carrier does not answer at the moment.", ((BROKEN,),)),
        Turn("Then refund it, please.", "I refunded 89.90 EUR, the number is R-77.", ((REFUND,),)),
        Turn("Send that to ada@example.com.", "I sent it to ada@example.com.", ((EMAIL,),)),
    ),
)

BOOKING = Conversation(
    "You book tables and rooms.",
    (
        Turn(
            "Find a room in Oslo for 5 to 7 November.",
            "The Grand has a room for 2,400 NOK a night, the Bristol one for 1,950 NOK.",
            (
                (
                    Call(
                        "search_hotels",
                        {"city": "Oslo", "from": "2026-11-05", "to": "2026-11-07"},
                        ["Grand", "Bristol"],
                    ),
                    Call("get_rate", {"currency": "NOK"}, {"eur": 0.086}),
                ),
                (
                    Call("check_availability", {"hotel": "Grand"}, {"free": True, "price": 2400}),
                    Call("check_availability", {"hotel": "Bristol"}, {"free": True, "price": 1950}),
                ),
            ),
        ),
        Turn(
            "Take the Bristol for Ada Lovelace.",
            "The Bristol is booked for Ada Lovelace, 5 to 7 November: BK-2031.",
            ((Call("book_room", {"hotel": "Bristol", "guest": "Ada Lovelace"}, {"booking": "BK-2031"}),),),
        ),
    ),
)

CODING = Conversation(
    "You mend code. Run the tests after each change.",
    (
        Turn(
            "The test of parse_date fails, mend it.",
            "parse_date read the month first; it now reads the day first, and all 14 tests pass.",
            (
                (Call("run_tests", {"path": "tests"}, {"passed": 13, "failed": ["test_parse_date"]}),),
                (Call("read_file", {"path": "dates.py"}, "def parse_date(text):\n    return '%m/%d/%Y'\n"),),
                (Call("write_file", {"path": "dates.py", "old": "%m/%d", "new": "%d/%m"}, "ok"),),
                (Call("run_tests", {"path": "tests"}, {"passed": 14, "failed": []}),),
            ),
        ),
    ),
)

RETRIEVAL = Conversation(
    "Answer from the handbook alone, and name the section.",
    (
        Turn(
            "How many days of leave do I get in my first year?",
            "25 days, see section 4.2.",
            (
                (
                    Call(
                        "search_handbook",
                        {"query": "leave first year"},
                        [{"section": "4.2", "text": "25 days of leave."}],
                    ),
                ),
            ),
        ),
        Turn(
            "And may I carry them over?",
            "Up to 5 days, until 31 March, see section 4.5.",
            (
                (Call("search_handbook", {"query": "carry over unused leave"}, []),),
                (
                    Call("list_sections", {}, ["4.1", "4.2", "4.5"]),
                    Call("read_section", {"section": "4.5"}, "5 days can be carried over until 31 March."),
                ),
            ),
        ),
        Turn("Thank you!", "You are welcome."),
    ),
)

GERMAN = Conversation(
    "Du hilfst Kundinnen und Kunden einer Bank.",
    (
        Turn(
            "Wie hoch ist mein Kontostand?",
            "Ihr Kontostand beträgt 1.299,00 €.",
            ((Call("get_balance", {"account": "DE02"}, {"balance": "1299.00", "currency": "EUR"}),),),
        ),
        Turn(
            "Überweise 50 € an Grete.",
            "Ich habe 50,00 € an Grete überwiesen, Auftrag Ü-9.",
            ((Call("transfer", {"to": "Grete", "amount": "50.00"}, {"order": "Ü-9"}),),),
        ),
        Turn(
            "Und noch 5.000 € an Karl.",
            "Das ging leider nicht: Ihr Guthaben reicht nicht aus.",
            ((Call("transfer", {"to": "Karl", "amount": "5000.00"}, error="Guthaben reicht nicht"),),),
        ),
    ),
)

SPANISH = Conversation(
    "Ayudas a viajeros.",
    (
        Turn(
            "¿Qué tiempo hace en Sevilla y en Bilbao?",
            "En Sevilla hay 31 °C y sol; en Bilbao 18 °C y lluvia.",
            (
                (
                    Call("get_weather", {"city": "Sevilla"}, {"celsius": 31, "sky": "sol"}),
                    Call("get_weather", {"city": "Bilbao"}, {"celsius": 18, "sky": "lluvia"}),
                ),
            ),
        ),
        Turn(
            "Cambia mi tren 204 al viernes.",
            "No es posible: el tren 204 del viernes está completo.",
            ((Call("change_train", {"train": "204", "day": "viernes"}, error="completo"),),),
        ),
    ),
)

FRENCH = Conversation(
    "Tu réponds aux abonnés d'un journal.",
    (
        Turn(
            "Résiliez mon abonnement F-310.",
            "Votre abonnement F-310 prend fin le 30 novembre 2026.",
            (
                (Call("get_subscription", {"id": "F-310"}, {"ends": "2026-11-30"}),),
                (Call("cancel_subscription", {"id": "F-310"}, {"state": "cancelled", "ends": "2026-11-30"}),),
            ),
        ),
    ),
)

STOCK = Conversation(
    "You keep the stock of a warehouse.",
    tuple(
        Turn(
            f"How many of item {number}?",
            f"There are {number * 7} of item {number}.",
            ((Call("count_stock", {"item": number}, {"count": number * 7}),),),
        )
        for number in range(1, 11)
    ),
)

CONVERSATIONS = {
    "support": SUPPORT,
    "booking": BOOKING,
    "coding": CODING,
    "retrieval": RETRIEVAL,
    "german": GERMAN,
    "spanish": SPANISH,
    "french": FRENCH,
    "stock": STOCK,
}
