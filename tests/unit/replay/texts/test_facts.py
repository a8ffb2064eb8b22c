"""Values that a new text keeps, loses and invents."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.facts import Facts, compare_facts
from app.replay.texts.sources import Sources

ORDER = {
    "id": "A-1",
    "total": 1299.0,
    "eta": "2026-11-05T14:30:00Z",
    "city": "Hamburg",
    "customer": {"name": "Anna Schmidt"},
    "status": "Delivered",
    "items": ["a", "b", "c"],
    "boxes": 7,
    "share": 33.333333333333336,
    "balance": -49.9,
}
SHOP = Sources(
    instruction="You work for a shop. Refunds above $500 need a manager.",
    user="Where is my order A-1? It is 2 weeks late.",
    arguments=[{"order_id": "A-1", "email": "anna@example.com"}],
    results=[ORDER],
)


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("It is $1,299.", "The total is 1299.00 dollars."),
        ("It comes on 2026-11-05.", "It comes on November 5th, in the afternoon."),
        ("It comes at 14:30.", "It comes at 2:30 pm."),
        ("I wrote to anna@example.com.", "A mail to Anna@Example.com is out."),
        ("Each pays 33.33.", "33.33 each."),
        ("I refund $49.90.", "$49.9 come back."),
        ("It is in Hamburg.", "HAMBURG is where it is."),
    ],
)
def test_a_value_in_another_form_is_kept(recorded: str, produced: str) -> None:
    facts = compare_facts(recorded, produced, SHOP)

    assert len(facts.kept) == 1
    assert facts.agree


@pytest.mark.parametrize(
    ("number", "recorded", "produced"),
    [
        ("$5", "I refunded $5, receipt RF-1.", "I refunded five hundred dollars, receipt RF-1."),
        ("$5", "I refunded $5.", "I refunded 5 hundred dollars."),
        (20, "There are 20.", "There are twenty-five."),
        (2, "There are 2.", "There are two hundred."),
        (2, "It takes 2 days.", "It takes two and a half days."),
        (5, "It is 5.", "It is a hundred and five."),
        (30, "Son 30 días.", "Son treinta y cinco días."),
        (20, "Ce sont 20 jours.", "Ce sont vingt-cinq jours."),
        (4, "Ce sont 4 jours.", "Ce sont quatre-vingts jours."),
        (10, "Ce sont 10 jours.", "Ce sont dix-sept jours."),
    ],
)
@pytest.mark.parametrize("with_users_values", [False, True])
def test_a_number_of_several_words_keeps_none_of_its_parts(
    number: object, recorded: str, produced: str, *, with_users_values: bool
) -> None:
    facts = compare_facts(recorded, produced, Sources(results=[{"n": number}]), with_users_values=with_users_values)

    assert len(facts.lost) == 1


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("There are 25.", "There are twenty-six."),
        ("There are 25.", "There are twenty or five."),
        ("There are 19.", "It was in nineteen-ninety."),
        ("It is 100.", "It is a few hundred."),
        ("It is 1000000.", "It is half a million."),
        ("It is 1000000.", "It is 5 million."),
        ("It is 100.", "It is a hundred and five."),
        ("It is $500.", "It is five hundred euros."),
        ("It is 500.", "It is five cents."),
        ("It is 100.", "It is one cent."),
        ("It is 100.", "It is five per cent."),
        ("C'est 5 cents.", "C'est cinq cents euros."),
        ("C'est 100.", "C'est cinq pour cent."),
        ("C'est 80 jours.", "C'est quatre et vingt jours."),
        ("Son 35 días.", "Son treinta y seis días."),
        ("Es sind 25 Tage.", "Es sind sechsundzwanzig Tage."),
        ("Es sind 500 €.", "Es sind mehrere hundert Euro."),
        ("Sono 25 giorni.", "Sono ventisei giorni."),
        ("São 25 dias.", "São vinte e seis dias."),
    ],
)
def test_another_number_of_several_words_loses_the_recorded_one(recorded: str, produced: str) -> None:
    assert compare_facts(recorded, produced, Sources(results=[{"text": recorded}])).lost


def test_a_value_of_a_tool_that_is_missing_is_lost() -> None:
    assert compare_facts("It is $1,299, in Hamburg.", "It is on its way.", SHOP).lost == ("$1,299", "Hamburg")


def test_another_currency_loses_the_amount() -> None:
    assert compare_facts("It is $1,299.", "It is €1,299.", SHOP).lost == ("$1,299",)


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("Take 500 mg.", "Take 500 mcg."),
        ("Take 500 mg.", "Take 500 µg."),
        ("It has 250 ml.", "It has 250 cl."),
        ("5 l fit.", "5 gallons fit."),
        ("It has 90 kJ.", "It has 90 kcal."),
        ("It is ฿500.", "It is $500."),
        ("It is ₸500.", "It is €500."),
        ("Это 500 рублей.", "Это 500 €."),
        ("₹5 lakh are due.", "₹5 crore are due."),
        ("Это 5 тыс. рублей.", "Это 5 млн рублей."),
        ("It takes 5 business days.", "It takes 5 days."),
        ("It takes 5 days.", "It takes 5 working days."),
        ("It takes 24 business hours.", "It takes 24 hours."),
        ("It takes 5 business days.", "It takes 7 business days."),
        ("Es dauert 5 Werktage.", "Es dauert 5 Tage."),
        ("Cela prend 5 jours ouvrables.", "Cela prend 5 jours."),
        ("Tarda 5 días hábiles.", "Tarda 5 días."),
        ("Ci vogliono 5 giorni lavorativi.", "Ci vogliono 5 giorni."),
        ("Leva 5 dias úteis.", "Leva 5 dias."),
        ("It has 80 m².", "It has 80 sq ft."),
        ("It has 80 m².", "It has 80 m."),
        ("It has 80 m2.", "It has 80 m³."),
        ("It has 80 m³.", "It has 80 cu ft."),
        ("It has 80 sq m.", "It has 80 sq. ft."),
        ("It has 5 acres.", "It has 5 hectares."),
        ("It goes 80 km/h.", "It goes 80 mph."),
        ("It goes 80 km/h.", "It goes 80 km."),
        ("It goes 5 m/s.", "It goes 5 m."),
    ],
)
def test_another_unit_currency_or_scale_loses_the_amount(recorded: str, produced: str) -> None:
    facts = compare_facts(recorded, produced, Sources(results=[{"text": recorded}]))

    assert len(facts.lost) == len(facts.invented) == 1


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("500 mcg", "500 µg"),
        ("500 μg", "500 micrograms"),
        ("₹5 lakh", "₹500,000"),
        ("฿500", "500 THB"),
        ("It takes 5 business days.", "Allow 5 working days."),
        ("It takes 5 business days.", "It is a 5-business-day wait."),
        ("It takes 5 calendar days.", "It takes 5 days, not more."),
        ("Es dauert 5 Werktage.", "In 5 Arbeitstagen."),
        ("Tarda 5 días hábiles.", "Son 5 días laborables."),
        ("It has 80 m².", "It has 80m2."),
        ("It has 80 m².", "It has 80 sq m."),
        ("It has 80 sqm.", "It has 80 square metres."),
        ("Es hat 80 m².", "Es hat 80 Quadratmeter."),
        ("Il y a 80 m².", "Il y a 80 mètres carrés."),
        ("It has 800 sq. ft., and a bath.", "It has 800 square feet, and a bath."),
        ("It holds 80 m³.", "It holds 80 cubic meters."),
        ("It goes 80 km/h.", "It goes 80 kilometres per hour."),
        ("It goes 80 mph.", "It goes 80 miles per hour."),
        ("It uses 5 kg/month.", "It uses 5 kg a month."),
    ],
)
def test_a_unit_currency_or_scale_in_another_form_is_kept(recorded: str, produced: str) -> None:
    assert compare_facts(recorded, produced, Sources(results=[{"text": recorded}])).agree


def test_a_value_that_no_source_has_is_invented() -> None:
    assert compare_facts("It is late.", "It is 3.5 weeks late, see B-2.", SHOP).invented == ("3.5 weeks", "B-2")


@pytest.mark.parametrize(
    "produced", ["It is above $500.", "It is A-1.", "It is for 2 weeks.", "We have 3 options.", "The 2nd one."]
)
def test_what_a_source_has_or_counts_is_not_invented(produced: str) -> None:
    assert compare_facts("It is late.", produced, SHOP) == Facts()


def test_a_share_is_no_percentage_because_the_source_may_as_well_mean_an_amount() -> None:
    rate = Sources(results=[{"rate": 0.05}])

    assert compare_facts("It is 0.05.", "It is 5%.", rate) == Facts((), ("0.05",), ("5%",))


def test_what_only_the_recorded_text_has_is_neither_lost_nor_invented() -> None:
    assert compare_facts("Two make $2,598.", "Done.", SHOP) == Facts()
    assert compare_facts("Two make $2,598.", "That is $2,598 for two.", SHOP) == Facts()


def test_an_answer_need_not_repeat_the_users_words_and_an_argument_must() -> None:
    recorded, produced = "Order A-1 is late.", "Your order is late."

    assert compare_facts(recorded, produced, SHOP).lost == ()
    assert compare_facts(recorded, produced, SHOP, with_users_values=True).lost == ("A-1",)


def test_the_name_of_who_is_greeted_is_no_fact() -> None:
    assert compare_facts("Hi Anna Schmidt, done.", "Done.", SHOP) == Facts()
    assert compare_facts("I told Anna Schmidt.", "I told her.", SHOP).lost == ("Anna Schmidt",)


def test_a_status_and_the_first_word_of_a_sentence_are_no_names() -> None:
    source = Sources(results=[{"status": "Delivered", "text": "Returns are free. Shipping with Hermes takes long."}])

    assert compare_facts("Status: Delivered. Returns take a while with Hermes.", "It came.", source).lost == ("Hermes",)


def test_a_title_may_replace_the_first_name() -> None:
    source = Sources(results=[{"doctor": "Dr. Eve Smith"}])

    assert compare_facts("It is with Eve Smith.", "It is with Dr. Smith.", source).kept == ("Eve Smith",)
    assert compare_facts("It is with Dr. Smith.", "It is with Dr. Jones.", source).lost == ("Smith",)


def test_an_id_may_be_written_with_a_space_and_not_with_other_letters() -> None:
    source = Sources(results=[{"flight": "UA963"}])

    assert compare_facts("It is UA963.", "It is UA 963.", source).kept == ("UA963",)
    assert compare_facts("It is UA 963.", "It is LH 963.", source) == Facts((), ("UA 963",), ("LH 963",))


def test_german_nouns_are_no_names() -> None:
    source = Sources(results=[{"text": "Die Rückgabe ist kostenlos und die Erstattung dauert.", "city": "Köln"}])

    assert compare_facts("Die Rückgabe in Köln ist frei.", "Es ist umsonst.", source).lost == ("Köln",)


def test_a_result_that_is_json_in_a_text_is_read_as_json() -> None:
    assert compare_facts("", "There are 4.", Sources(results=["[1,1,1,1]"])) == Facts()


texts = st.text() | st.text(alphabet="0159.,:'/- $€%aTZh@\n\xa0Nov١AB")
json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)


@given(texts, st.lists(json, max_size=3), texts, st.booleans())
def test_a_text_agrees_with_itself_whatever_the_sources(
    text: str, results: list[object], user: str, keep: bool
) -> None:
    sources = Sources(user=user, results=results, arguments=results)

    assert compare_facts(text, text, sources, with_users_values=keep).agree


@given(texts, texts, st.lists(json, max_size=3))
def test_no_texts_raise(recorded: str, produced: str, results: list[object]) -> None:
    facts = compare_facts(recorded, produced, Sources(results=results))

    assert all(spelling in recorded for spelling in facts.kept)
    assert all(spelling in produced for spelling in facts.invented)


@given(st.integers(1, 10**9), st.integers(0, 99), st.sampled_from(["$", "€", "USD", "EUR"]))
def test_an_amount_is_kept_however_it_is_formatted(whole: int, cents: int, currency: str) -> None:
    amount = f"{whole}.{cents:02}"
    english = f"{whole:,}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    source = Sources(results=[{"amount": float(amount)}])

    for form in (f"{currency} {amount}", f"{english} {currency}", f"{german} {currency}"):
        assert compare_facts(f"It is {currency} {english}.", f"So {form} in all", source).agree


@given(st.dates(min_value=date(1900, 1, 1), max_value=date(2099, 12, 31)))
def test_a_date_is_kept_however_it_is_formatted(day: date) -> None:
    source = Sources(results=[{"at": f"{day.isoformat()}T00:00:00Z"}])

    for form in (f"{day:%B} {day.day}, {day.year}", f"{day.day} {day:%b}", f"{day:%m/%d/%Y}", f"{day:%d.%m.%Y}"):
        assert compare_facts(f"It comes on {day.isoformat()}.", f"It comes on {form}.", source).agree


@given(st.integers(10, 10**6), st.integers(1, 9))
def test_another_digit_loses_the_value_and_invents_one(amount: int, by: int) -> None:
    source = Sources(results=[{"amount": amount}])

    facts = compare_facts(f"It is ${amount}.", f"It is ${amount + by}.", source)

    assert facts == Facts((), (f"${amount}",), (f"${amount + by}",))


@given(st.permutations(["It is $1,299.", "It comes on Nov 5, 2026.", "Hamburg has it.", "Write to anna@example.com."]))
def test_the_order_of_sentences_does_not_matter(sentences: list[str]) -> None:
    facts = compare_facts(" ".join(sorted(sentences)), " ".join(sentences), SHOP)

    assert facts.agree
    assert len(facts.kept) == 4


STOCK = Sources(
    user="How many 3 April parcels are 50 €?", results=[{"count": 35, "amount": "50.00", "date": "2026-04-03"}]
)


@pytest.mark.parametrize(
    ("recorded", "produced", "invented"),
    [
        ("There are 35.", "There are 35, and you get 35% off.", ("35%",)),
        ("I paid 50 €.", "I paid 50 $.", ("50 $",)),
        ("It comes on 3 April 2026.", "It comes on 3 April 2029.", ("3 April 2029",)),
        ("It comes on 03/04/2026.", "It comes on 04/03/2026.", ("04/03/2026",)),
        ("I paid 50 €.", "I paid 50.00 EUR.", ()),
        ("It comes on 03/04/2026.", "It comes on 3 April 2026.", ()),
    ],
)
def test_a_bare_number_does_not_support_every_unit_and_year(
    recorded: str, produced: str, invented: tuple[str, ...]
) -> None:
    assert compare_facts(recorded, produced, STOCK).invented == invented


def test_markdown_does_not_separate_a_value_from_its_unit() -> None:
    assert compare_facts("It is $1,299 for A-1.", "It is $**1,299** for `A-1`.", SHOP).agree


@pytest.mark.parametrize(
    ("result", "recorded", "produced"),
    [
        ("2026-04-03", "It comes on 04/03/2026.", "It comes on March 4, 2026."),
        ("2026-04-03", "It comes on 04/03/2026.", "It comes on 03/04/2026."),
        ("14:30", "Come at 2:30.", "Come at 2:30 am."),
        (1250, "It is 1.250.", "It is 1.25."),
    ],
)
def test_what_can_be_read_in_two_ways_is_what_a_call_has_clearly(result: object, recorded: str, produced: str) -> None:
    sources = Sources(results=[{"at": result}])

    assert len(compare_facts(recorded, produced, sources).lost) == 1
    assert compare_facts(recorded, recorded, sources).agree


@pytest.mark.parametrize(
    ("result", "recorded", "produced"),
    [
        ("2026-04-03", "It comes on 04/03/2026.", "It comes on April 3, 2026."),
        ("14:30", "Come at 2:30.", "Come at 2:30 pm."),
        ("2026-04-03 or 2026-03-04", "It comes on 04/03/2026.", "It comes on March 4, 2026."),
        ("04/03/2026", "It comes on 04/03/2026.", "It comes on March 4, 2026."),
    ],
)
def test_what_no_call_settles_may_be_either(result: object, recorded: str, produced: str) -> None:
    assert compare_facts(recorded, produced, Sources(results=[{"at": result}])).agree


def test_a_single_number_on_its_line_is_a_value() -> None:
    source = Sources(results=[{"code": "XK7P2Q", "table": 12}])

    facts = compare_facts("Code XK7P2Q. Table:\n12.", "Code XK7P2Q. Table:\n21.", source)

    assert facts == Facts(("XK7P2Q",), ("12",), ("21",))


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("anna@example.com にお送りしました", "anna@example.comへ送りました"),
        ("anna@example.com 로 보냈습니다", "anna@example.com로 보냈습니다"),
        ("https://example.com/a 可以下载", "请打开https://example.com/a下载"),
    ],
)
def test_an_address_ends_where_text_without_spaces_begins(recorded: str, produced: str) -> None:
    source = Sources(results=[{"to": "anna@example.com", "at": "https://example.com/a"}])

    facts = compare_facts(recorded, produced, source)

    assert len(facts.kept) == 1
    assert facts.agree


CALL = Sources(results=[{"at": "2026-11-05T14:30:00Z"}])


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [("It is at 14:30 UTC.", "It is at 14:30 PST."), ("It is at 14:30.", "It is at 2:30 pm Pacific Time.")],
)
def test_another_zone_than_that_of_the_result_is_invented(recorded: str, produced: str) -> None:
    assert len(compare_facts(recorded, produced, CALL).invented) == 1


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("It is at 14:30 UTC.", "It is at 2:30 PM UTC."),
        ("It is at 14:30 UTC.", "It is at 14:30 (GMT)."),
        ("It is at 14:30.", "It is at 14:30 UTC."),
        ("It is at 14:30:00.", "It is at 2:30 p.m."),
    ],
)
def test_the_zone_of_the_result_may_be_given_or_not(recorded: str, produced: str) -> None:
    assert compare_facts(recorded, produced, CALL).agree


def test_the_name_of_a_zone_is_no_name() -> None:
    source = Sources(results=[{"text": "The call is at 2 pm Eastern Time."}])

    assert compare_facts("It is at 2 pm Eastern Time.", "It is at 2:00 p.m. ET.", source).agree


@pytest.mark.parametrize("name", ["Maja", "Mei"])
def test_a_month_that_is_never_capitalised_is_a_name_where_it_is(name: str) -> None:
    facts = compare_facts(f"It is for {name}.", "It is for Lena.", Sources(results=[{"name": name}]))

    assert facts.lost == (name,)


ROOM = Sources(
    user="I liked Room 14.", results=[{"id": "A-1", "room": 12, "option": 2, "nights": 3, "offers": ["a", "b", "c"]}]
)


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("Option 2: it is for 2 nights.", "Option 3: it is for 2 nights."),
        ("Choose Option 2.", "Choose Option 3."),
        ("Choose Option 2.", "There are Option 1, Option 2 and Option 3."),
        ("You are in Room 12.", "You are in Room 14."),
        ("You are in Room 12.", "You are at Table 12."),
        ("You are in Room 12.", "You are in Room 21, 12 nights long."),
        ("Go on with Step 2: open it.", "Go on with Step 3: open it."),
    ],
)
def test_another_number_behind_a_label_is_noticed(recorded: str, produced: str) -> None:
    assert not compare_facts(recorded, produced, ROOM).agree


@pytest.mark.parametrize(
    ("recorded", "produced"),
    [
        ("You are in Room 12.", "Your room is number 12."),
        ("Your room is 12.", "You are in room 12."),
        ("Choose Option 2.", "Choose the 2nd option."),
        ("Step 1: open it. Step 2: close it.", "First open it, then close it, as in Step 2."),
    ],
)
def test_a_label_in_another_form_and_a_list_of_one_s_own_are_right(recorded: str, produced: str) -> None:
    assert compare_facts(recorded, produced, ROOM).agree
