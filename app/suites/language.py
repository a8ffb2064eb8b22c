"""Recognizes the language of texts by their script and their most frequent words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence

from app.search.words import words_of

HITS_MIN = 2
"""Frequent words that a text in a Latin script needs, at least, so that its language counts as known."""

_FREQUENT = {
    "da": (
        "og jeg det at en den til er som på de med han af for ikke der var mig sig men et har om vi min havde "
        "ham hun nu over da fra du ud sin dem os op man hans hvor eller hvad skal kan kunne meget hvordan hej"
    ),
    "de": (
        "der die und in den von zu das mit sich des auf für ist im dem nicht ein eine als auch es an werden "
        "aus er hat dass sie nach wird bei einer um am sind noch wie einem über einen so zum war haben nur "
        "oder aber vor zur bis mehr durch man ich mir mich meine mein meinen wir kann bitte wo was warum habe "
        "du ihr uns hallo"
    ),
    "en": (
        "the of and to in is you that it he was for on are as with his they at be this have from or had by "
        "but not what all were we when your can there use an each which she do how their if will my me i "
        "am has would could should please where why does did a"
    ),
    "es": (
        "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ya este "
        "sí porque esta entre cuando muy sin sobre también me hasta hay donde quien desde todo nos mi qué "
        "puedo cómo quiero está tengo hola"
    ),
    "fr": (
        "quel quelle quels quelles être avoir chez "
        "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il sont "
        "mais comme ou si leur y dont aux avec cette ces ses été je vous nous mon ma mes votre où quand comment "
        "puis bonjour peux veux est-ce"
    ),
    "it": (
        "di che è e la il un a per in una mi sono ho non ma lo ha le si ti i con cosa se io come da ci no "
        "questo qui hai sei del bene tu sì me più al mio perché lei solo te era gli tutto della così mia ne "
        "dove quando vorrei posso ciao"
    ),
    "nl": (
        "de en van ik te dat die in een hij het niet zijn is was op aan met als voor had er maar om hem dan "
        "zou of wat mijn men dit zo door over ze zich bij ook tot je mij uit der daar haar naar heb hoe heeft "
        "waar kan graag hallo mag"
    ),
    "no": (
        "og jeg det at en den til er som på de med han av for ikke der var meg seg men et har om vi min hadde "
        "ham hun nå over da fra du ut sin dem oss opp man hans hvor eller hva skal kan kunne veldig hvordan "
        "hei"
    ),
    "pl": (
        "i w nie na się z że do to jest jak o co ale po za od tak ja czy był przez jego dla mnie już tylko mi "
        "ma jej być tego są gdzie kiedy dlaczego proszę mam moje mój może chcę dzień dobry"
    ),
    "pt": (
        "de a o que e do da em um para é com não uma os no se na por mais as dos como mas foi ao ele das tem "
        "à seu sua ou ser quando muito há nos já está eu também só pelo pela até isso meu minha você onde "
        "quero posso olá"
    ),
    "sv": (
        "och i att det som en på är av för med till den har de inte om ett han men var jag sig från vi så kan "
        "när år säger hon under också efter eller nu sin där vid mot ska skulle kommer ut får finns vara hade "
        "alla mycket min mitt du hej hur vad"
    ),
    "tr": (
        "bir ve bu da de için ile çok ne var mı mi ben sen o daha gibi kadar ama en olarak olan şey her biz "
        "siz değil nasıl neden nerede ki ya yok merhaba benim istiyorum lütfen"
    ),
}
FREQUENT: dict[str, frozenset[str]] = {language: frozenset(words_of(words)) for language, words in _FREQUENT.items()}
"""Frequent words of languages in Latin scripts, by ISO 639-1, as `words_of` writes them. They are no topics."""
NO_TOPICS = frozenset[str]().union(*FREQUENT.values())
# In the order of words, so that sums of shares are always equal.
_LANGUAGES: dict[str, list[str]] = {
    word: [language for language, words in sorted(FREQUENT.items()) if word in words] for word in sorted(NO_TOPICS)
}

_SCRIPTS: dict[str, re.Pattern[str]] = {
    name: re.compile(f"[{characters}]")
    for name, characters in {
        "kana": "\u3041-\u30ff",
        "han": "\u3400-\u9fff",
        "hangul": "\u1100-\u11ff\uac00-\ud7af",
        "thai": "\u0e01-\u0e5b",
        "arabic": "\u0600-\u06ff",
        "hebrew": "\u0591-\u05f4",
        "devanagari": "\u0900-\u097f",
        "greek": "\u0370-\u03ff",
        "cyrillic": "\u0400-\u04ff",
        "latin": "A-Za-z\u00c0-\u024f",
    }.items()
}
_OF_SCRIPT = {
    "han": "zh",
    "hangul": "ko",
    "thai": "th",
    "arabic": "ar",
    "hebrew": "he",
    "devanagari": "hi",
    "greek": "el",
    "cyrillic": "ru",
}
_DENSE = ("han", "kana", "hangul")
"""Scripts of which a character counts twice: they need few for a word."""
_UKRAINIAN = re.compile("[іїєґІЇЄҐ]")
_KANA_SHARE = 0.1
"""The share of kana among kana and Chinese characters from which a text is Japanese."""


def language_of(texts: Sequence[str], counts: Mapping[str, int]) -> str:
    """Return the ISO 639-1 code of the language of texts with so many of each word; "" for an unknown one.

    Each text is read at once, so a caller cuts it.
    """
    characters = {
        name: sum(len(pattern.findall(text)) for text in texts) * (2 if name in _DENSE else 1)
        for name, pattern in _SCRIPTS.items()
    }
    script = max(characters, key=lambda name: characters[name])
    if not characters[script]:
        return ""
    if script in ("han", "kana"):
        return "ja" if characters["kana"] > _KANA_SHARE * (characters["kana"] + characters["han"]) else "zh"
    if script == "cyrillic" and any(map(_UKRAINIAN.search, texts)):
        return "uk"
    return _OF_SCRIPT.get(script) or _by_words(counts)


def _by_words(counts: Mapping[str, int]) -> str:
    hits: Counter[str] = Counter()
    scores: dict[str, float] = {}
    for word, languages in _LANGUAGES.items():
        for language in languages if word in counts else ():
            hits[language] += counts[word]
            # A word of several languages is little evidence for each.
            scores[language] = scores.get(language, 0.0) + counts[word] / len(languages)
    best = min(scores, key=lambda language: (-scores[language], language), default="")
    return best if hits[best] >= HITS_MIN else ""
