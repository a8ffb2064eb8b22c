"""Tells if two texts differ in what they say was done: refused or failed, done, or only promised.

It looks for words, in the language that the text seems to be in, and knows nothing of what they refer to. So it is a
guard and no verdict: where it sees a difference, a judge or a person decides.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from app.replay.value_kinds import plainly

LONGEST_TEXT, LONGEST_WORD = 20_000, 40  # characters that are read


@dataclass(frozen=True, slots=True)
class Polarity:
    """The claims of a text: that something was refused or failed; that it was done; that it is still to be done."""

    negative: bool = False
    done: bool = False
    pending: bool = False


@dataclass(frozen=True, slots=True)
class _Language:
    """The words of a language: patterns of whole words between `|`, in which `%` stands for any letters.

    `hints` are words by which the language is known. What is `harmless` is taken out first.
    """

    hints: str
    harmless: str
    negative: str
    done: str
    pending: str


_LANGUAGES = (
    _Language(
        hints="the is are your you and to of i has have it was been be will not can this for in we my",
        harmless=r"""
            no problem|no worries|no need|no further|no additional|no longer (?:any )?(?:need|action)%
            |not only|no extra|no charge|no cost%|at no|free of|no rush|no doubt|no matter|no later than
            |no more than|not? less than|don't hesitate|do not hesitate|don't worry|do not worry|don't forget
            |do not forget|not to worry|why not|nothing else|nothing (?:more|further)|anything else|if not
            |whether or not|if you (?:don't|do not|can't|cannot)
            |if (?:it|this|that) (?:doesn't|does not|isn't|is not)|if anything (?:isn't|is not)
            |let me know if \w+ \w+ not|without (?:delay|any issue%|any problem%|issue%|problem%)|cannot wait
            |can't wait|not a problem|not at all|couldn't be (?:happier|easier)|no issue%|no trouble
            |no action|not just|not yet due|error free|non-(?:stop|smoking|alcoholic|business)
            |without (?:any |a )?(?:extra|additional|further|charge|cost|fee|doubt|hesitation|interruption)%
        """,
        negative=r"""
            not|no|never|without|non-%|none|neither|nor|nothing|cannot|\w+n't|unfortunately|unable|fail%|failure|declin%
            |denied|den(?:y|ies)|refus%|reject%|impossible|ineligible|unavailable|unsuccessful%|sorry but
            |regret%|error|without success|not eligible|could no%|out of stock|against policy
        """,
        done=r"""
            (?:has|have|had|was|were|is|are|been|being|got) (?:\w+ly |already |now |just |all )?(?:been )?(?:\w+ly )?
            (?!need|suppos|expect|schedul|requir|interest|want|locat|deliver|arriv|ship)%ed
            |(?:i|we) (?:have |just |already |successfully |'ve )*(?!need|want|wait|hop|look)%ed
            |(?:i|we)'ve (?:\w+ly |just )?%ed
            |(?:has|have|was|were|is|been) (?:already |now |just |all )?(?:been )?
            (?:sent|made|paid|put|done|complete|set|taken)
            |(?:i|we)(?:'ve| have)? (?:just |already )?(?:sent|made|paid|put|did|done|set|took|found)
            |(?:refund|payment|order|booking|reservation|appointment|ticket|e-?mail|message|return|request|access)
            (?: successfully)? (?!need|requir|expect|schedul)%ed|successfully|all done|all set
        """,
        pending=r"""
            (?:i|we)'ll|(?:i|we) will|(?:i|we) (?:can|could) (?!not|confirm|see)
            |(?:i'm|i am|we're|we are) (?:going|about) to|let me (?!know)
            |will (?:now |then |soon )?be (?:%ed|sent|made|paid|done|put|set|taken)
            |would you like|do you want|shall i|should i|may i|can i
            |confirm (?:that|if|whether|you|this|so)|please (?:confirm|provide|reply)|still (?:active
            |open|valid)|to be %ed|before i|once you
            |if you(?:'d| would)? (?:like|confirm|want)|want me to|like me to|(?:i|we) need|pending|awaiting
            |not yet
        """,
    ),
    _Language(
        hints="der die das und ist nicht ich sie wurde wir den dem ein eine ihre ihr ihnen für auf haben wird kein",
        harmless=r"""
            kein problem|keine sorge|nicht nur|zögern sie nicht|nicht zögern|keine weiteren?|nichts weiter%
            |nichts mehr|keine zusätzlichen?|nicht mehr als|falls nicht|wenn nicht
            |ohne (?:jede% |jegliche% )?(?:weiter|problem|kosten|mehrkosten|zusätzlich|aufpreis|gebühr|zweifel)%
            |keine ursache|nicht vergessen
        """,
        negative=r"""
            nicht|nein|ohne|kein%|nie|niemals|nichts|leider|weder|unmöglich|fehlgeschlagen|fehler|gescheitert|abgelehnt
            |verweiger%|misslungen|tut mir leid|bedaure%|bedauer%|ausgeschlossen|unzulässig|ohne erfolg
        """,
        done=r"""
            (?:wurde|wurden|worden|habe|haben|hat|ist|sind|bin) (?:[\w-]+ ){0,8}?(?!gebeten
            |geplant)(?:\w{0,6}ge\w+(?:t|en)|\w+iert|er\w{3,}t|be\w{3,}t|ver\w{3,}t|(?:über|unter|ver
            |ent)\w{3,}en|storniert|erhalten)
            |erfolgreich|erledigt
        """,
        pending=r"""
            (?:werde|werden|wird) (?:[\w-]+ ){0,8}?\w+(?:en|ern|eln)|(?:ich|wir) (?:kann|können|könnte%)
            |(?:soll|sollen|darf|kann) (?:ich|wir)|möchten sie|wollen sie|bestätigen sie|lassen sie mich
        """,
    ),
    _Language(
        hints="le la les et est pas je vous votre nous été des du une un pour dans ne a avons au ce j'ai voulez-vous",
        harmless=r"""
            pas de (?:souci%|problème%|quoi)|aucun (?:souci|problème|frais)|n'hésitez pas|pas seulement
            |ne vous inquiétez pas|rien d'autre|aucune autre|si (?:ce n'est|cela n'est|vous ne) |pas plus de
            |sans (?:aucun% )?(?:frais|délai|problème|supplément|coût|doute|hésit|souci)%|non seulement
            |n'oubliez pas
        """,
        negative=r"""
            pas|non|non-%|sans|aucun%|jamais|rien|ni|malheureusement|impossible|échou%|échec|refus%|rejet%|erreur|désolé%
            |regret%|hélas|incapable|sans succès
        """,
        done=r"""
            (?:a|ont|ai|avons|est|sont|suis) (?:bien |déjà )?(?:été )?(?:bien )?(?:\w{2,}(?:é|ée|és|ées)
            |fait%|remis|mis|pris|transmis|émis)
            |avec succès|j'ai (?:bien |déjà )?\w+(?:é|is|it|u)
        """,
        pending=r"""
            (?:vais|allons|va|vont) (?:\w+ )?\w+(?:er|ir|re)|sera%|seront
            |(?:je|nous|vous) \w+(?:erai|irai|rons|rez)|j'\w+erai|voulez-vous|voulez vous|souhaitez-vous
            |souhaitez vous|puis-je|dois-je|(?:je peux|nous pouvons)|veuillez confirmer
        """,
    ),
    _Language(
        hints="el la los las y es no su ha usted que de para pedido una un por con se hemos he está lo quiere puede",
        harmless=r"""
            no hay problema|sin problema%|no (?:se )?preocupe%|no te preocupes|no dude%|no solo|no sólo
            |nada más|no olvide%|si no|no más de|no es necesario|no necesita
            |sin (?:ningún |ninguna )?(?:cost|cargo|gasto|duda|falta|embargo)%
            |ningún problema|ninguna otra
        """,
        negative=r"""
            no|sin|nunca|nada|ningún|ninguno|ninguna|tampoco|ni|lamentablemente|desafortunadamente
            |desgraciadamente|imposible|fall(?:ó|ado|a|o)|fracas%|rechaz%|deneg%|negad%|error|lo siento
            |lamento|lamentamos|sin éxito
        """,
        done=r"""
            (?:ha|han|he|hemos) (?:sido |ya )?(?:sido )?\w+(?:ado|ada|ados|adas|ido|ida|idos|idas|cho|sto|rto)
            |fue(?:ron)? \w+d[oa]s?|con éxito|(?:ya )?está \w+[ai]d[oa]
            |(?:se )?\w{2,}[^\Wr](?:é|ó)(?= (?:el|la|los|las|su|un|una|tu) )
        """,
        pending=r"""
            (?:voy|vamos|va|van) a|será%|serán|\w{3,}(?:aré|eré|iré|aremos|eremos|iremos)|quiere que
            |desea que|le gustaría|puedo|podemos|debo|confirme
        """,
    ),
    _Language(
        hints="il lo la gli le e è non suo ha di per che ordine una un con sono stato abbiamo ho del della vuole può",
        harmless=r"""
            nessun problema|non (?:si )?preoccup%|non esit%|non solo|nient'altro|nessun altr%|se non
            |non più di|non dimentic%|non è necessario
            |senza (?:alcun% |nessun% )?(?:problem|cost|spes|supplement|dubbio)%
        """,
        negative=r"""
            non|no|senza|mai|niente|nulla|nessun|nessuno|nessuna|né|purtroppo|impossibile|fallit%|fallimento|rifiut%
            |respint%|negat%|errore|mi dispiace|spiacent%|senza successo
        """,
        done=r"""
            (?:è|sono) (?:già )?stat[oaie] (?:già )?\w+(?:at|it|ut|ss|tt|s)[oaie]
            |(?:ho|abbiamo|ha|hanno) (?:già )?\w+(?:at|it|ut|ss|tt|s|sp)[oaie]|con successo
        """,
        pending=r"""
            sarà%|saranno|\w{3,}(?:erò|irò|eremo|iremo)|vuole che|vuoi che|desidera|posso|possiamo|devo
            |confermi|sto per
        """,
    ),
    _Language(
        hints="o os as e é não seu sua foi para pedido uma um com de que do da no na você está ao quer pode",
        harmless=r"""
            sem (?:qualquer |nenhum |nenhuma )?(?:problem|cust|taxa|dúvida)%|não (?:se )?preocup%|não hesit%
            |não só|não apenas|nada mais|se não
            |não mais (?:de|que)|nenhum problema|nenhuma outra|não é necessário|não se esqueça
        """,
        negative=r"""
            não|sem|nunca|nada|nenhum|nenhuma|nem|infelizmente|impossível|falh%|fracass%|recus%|rejeit%|negad%
            |erro|lamento|lamentamos|desculpe%|sinto muito|sem sucesso
        """,
        done=r"""
            (?:foi|foram|tem sido) (?:já )?\w+(?:ado|ada|ados|adas|ido|ida|idos|idas|to|ta)
            |(?:eu )?\w{3,}(?:ei|amos|emos)(?= (?:o|a|os|as|seu|sua|um|uma) )|com sucesso
            |já está \w+[ai]d[oa]
        """,
        pending=r"""
            (?:vou|vamos|vai|vão) \w+r|será%|serão|\w{3,}(?:arei|erei|irei|aremos|eremos|iremos)|quer que
            |deseja que|gostaria|posso|podemos|devo|confirme
        """,
    ),
)


def polarity(text: str, beside: str = "") -> Polarity:
    """Return what a text says of success; a text of which nothing is known has no polarity.

    A text that does not show its language is in that of the one `beside` it.
    """
    words = _words(text)
    language = _language(frozenset(words))
    tables = _TABLES[_language(frozenset(_words(beside))) or 0 if language is None else language]
    sentence = tables["harmless"].sub(" ", " ".join(words))
    return Polarity(*(tables[name].search(sentence) is not None for name in ("negative", "done", "pending")))


def polarity_differs(recorded: str, produced: str) -> bool:
    """Return True if only one text refuses, denies or fails, or one has done what the other promises or offers."""
    one, other = polarity(recorded, produced), polarity(produced, recorded)
    if one.negative != other.negative:
        return True
    undone = other if one.done else one
    return one.done != other.done and undone.pending


def _words(text: str) -> list[str]:
    return [word[:LONGEST_WORD] for word in _TOKEN.findall(plainly(text[:LONGEST_TEXT]).lower())]


def _language(words: frozenset[str]) -> int | None:
    """Return the index of the language with most of its hints among the words, None if there are none."""
    hits = [len(words & hints) for hints in _HINTS]
    return hits.index(max(hits)) if any(hits) else None


def _pattern(table: str) -> re.Pattern[str]:
    choices = "".join(line.strip() for line in table.splitlines())
    return re.compile(rf"(?<![\w'-])(?:{choices.replace('%', chr(92) + 'w*')})(?![\w'-])")


_TOKEN = re.compile(r"[\w'-]+|[.!?]")
_HINTS = [frozenset(language.hints.split()) for language in _LANGUAGES]
_TABLES = [
    {name: _pattern(getattr(language, name)) for name in ("harmless", "negative", "done", "pending")}
    for language in _LANGUAGES
]
