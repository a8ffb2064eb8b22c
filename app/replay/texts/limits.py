"""Detects two texts that limit a value from opposite sides, as "within 30 days" and "after 30 days".

It knows the words directly before or after a value, so it is a guard and no verdict.
"""

from __future__ import annotations

import re
from collections import defaultdict

from app.replay.texts.relations import LONGEST_TEXT, placed_values
from app.replay.texts.value_kinds import plainly
from app.replay.texts.vocabulary import choices

# Words before and after the highest value, and the lowest one. Denied words come first: "no more than".
_BELOW = """
    (?:no|not) (?:more|later|longer|older|higher|greater) than|(?:not|never) (?:over|above|after|exceed(?:ing)?|beyond)
    |within|under|below|less than|fewer than|lower than|cheaper than|younger than|up to|at most
    |(?:a )?maximum(?: of)?|max|before|until|till|by|not exceeding
    |innerhalb|binnen|unter|weniger als|höchstens|maximal|bis(?: zu[mr]?)?|vor|spätestens|nicht (?:mehr als|über|nach)
    |moins de|sous|au plus|au maximum|jusqu'à|jusqu'au|avant|inférieure? à|dans les|pas plus de
    |menos de|hasta|como máximo|antes de|antes del|inferior a|en menos de|dentro de|no más de
    |meno di|entro|fino a|al massimo|prima di|prima del|inferiore a|non più di|non oltre
    |até|no máximo|antes das|não mais de
    |minder dan|hoogstens|tot|uiterlijk|vóór|voor
    |в течение|не позднее|не более|не свыше|менее|до
"""
_ABOVE = """
    (?:no|not) (?:less|fewer|sooner|earlier|lower|younger|cheaper) than|(?:not|never) (?:under|below|before|within)
    |over|above|more than|greater than|higher than|longer than|older than|exceeding|exceeds?|beyond|at least
    |(?:a )?minimum(?: of)?|after|from|since|starting (?:at|from|on)|as of
    |über|mehr als|mindestens|ab|nach|seit|frühestens|nicht (?:weniger als|unter|vor)
    |plus de|au moins|au minimum|à partir (?:de|du)|après|dès|supérieure? à|depuis|pas moins de
    |más de|al menos|por lo menos|como mínimo|a partir de|después de|después del|tras|desde|superior a|no menos de
    |più di|oltre|almeno|minimo|a partire da|dopo|superiore a|non meno di|non prima di
    |mais de|pelo menos|no mínimo|após|depois de|não menos de
    |meer dan|minstens|vanaf|boven|sinds
    |не менее|не ранее|через|после|более|свыше|от
"""
_BELOW_BEHIND = "or (?:less|fewer|earlier|sooner|under|below)|and (?:less|under|below)|以内|以下|未満|之前|以前|まで"
_ABOVE_BEHIND = "or (?:more|later|longer|over|above|older)|and (?:more|over|above|later|older)|以上|以降|以后|之后|以後"
_FILLING = """
    the|next|first|last|a|an|total|of|about|around|your|our|der|die|den|dem|einem|nächsten|von|de|di|les|la|las|los|el|le|i|gli|il
"""
_FROM = ("from", "ab", "dès", "depuis", "desde", "vanaf")  # which begin a range: from 5 to 7
_LIMITED = ("number", "amount", "date", "time")
_REACH = 60  # characters before and behind a value in which such words are looked for


_BEFORE = re.compile(
    rf"(?<![\w'-])(?:(?P<below>{choices(_BELOW)})|(?P<above>{choices(_ABOVE)}))"
    rf"(?: (?:{choices(_FILLING)}))*[ \"'(*_`]*$"
)
_RANGE = re.compile(r"[ \w]{0,12}?(?:-|–|to |bis |à |a |até |until )\d")
_BEHIND = re.compile(rf"[ %\w]{{0,12}}?(?:(?P<below>{_BELOW_BEHIND})|(?P<above>{_ABOVE_BEHIND}))")


def limits_differ(recorded: str, produced: str) -> bool:
    """Return True if a value is the highest one in the recorded text and the lowest one in the new text, or reversed.

    "From 8 am" and "until 8 am" differ, "under $50" and "up to $50" don't; nor does a text that names no limit.
    """
    before, after = _limits(recorded[:LONGEST_TEXT]), _limits(produced[:LONGEST_TEXT])
    return any(
        before[value] and after[value] and before[value].isdisjoint(after[value])
        for value in before.keys() & after.keys()
    )


def _limits(text: str) -> defaultdict[tuple[str, str], set[str | None]]:
    """Return the limits by value: "below" for the highest one, "above" for the lowest one."""
    found = defaultdict[tuple[str, str], set[str | None]](set)
    plain = plainly(text).lower()
    for start, value in placed_values(text):
        end = start + len(value.spelling)
        behind = plain[end : end + _REACH]
        if value.kind in _LIMITED:
            match = _BEHIND.match(behind) or _BEFORE.search(plain[max(0, start - _REACH) : start])
            if match and not (_RANGE.match(behind) and match[0].startswith(_FROM)):
                found[value.space, value.form].add(match.lastgroup)
    return found
