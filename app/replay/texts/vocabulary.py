"""The words by which texts name months, currencies, units and small numbers.

English, German, French, Spanish, Italian and Portuguese, of months Dutch, Polish, Russian and Arabic, too; a word means
the same whatever the language of its text.
"""

from __future__ import annotations


def choices(lines: str) -> str:
    """Return the choices of a pattern that is written in several lines."""
    return "".join(line.strip() for line in lines.splitlines())


def words(text: str) -> tuple[str, ...]:
    """Return the words of a text."""
    return tuple(text.split())


def table(rows: str) -> dict[str, str]:
    """Return meanings by word; reads lines of `MEANING: word word`; `_` in a word stands for a space."""
    lines = (line.partition(":") for line in rows.strip().splitlines())
    return {word.replace("_", " "): meaning.strip() for meaning, _, names in lines for word in names.split()}


CAPITALISED_MONTHS = table("""
    01: january jan januar janvier enero gennaio janeiro jänner
    02: february feb februar février fevrier febrero febbraio fevereiro
    03: march mar märz mars marzo março
    04: april apr avril abril aprile
    05: may mai mayo maggio maio
    06: june jun juni juin junio giugno junho
    07: july jul juli juillet julio luglio julho
    08: august aug août aout agosto
    09: september sep sept septembre septiembre settembre setembro
    10: october oct oktober okt octobre octubre ottobre outubro
    11: november nov novembre noviembre novembro
    12: december dec dezember dez décembre decembre diciembre dicembre dezembro
""")

ARABIC_MONTHS = table("""
    01: يناير كانون_الثاني جانفي
    02: فبراير شباط فيفري
    03: مارس آذار اذار
    04: أبريل ابريل إبريل نيسان أفريل
    05: مايو أيار ايار ماي
    06: يونيو يونيه حزيران جوان
    07: يوليو يوليه تموز جويلية
    08: أغسطس اغسطس آب اب أوت
    09: سبتمبر أيلول ايلول
    10: أكتوبر اكتوبر تشرين_الأول تشرين_الاول
    11: نوفمبر تشرين_الثاني
    12: ديسمبر كانون_الأول كانون_الاول
""")

MONTHS = (
    CAPITALISED_MONTHS
    | ARABIC_MONTHS
    | table("""
    01: januari styczeń stycznia январь января янв
    02: februari luty lutego февраль февраля фев
    03: maart mrt marzec marca март марта мар
    04: kwiecień kwietnia апрель апреля апр
    05: mei maj maja май мая
    06: czerwiec czerwca июнь июня июн
    07: lipiec lipca июль июля июл
    08: augustus sierpień sierpnia август августа авг
    09: wrzesień września сентябрь сентября сен сент
    10: październik października октябрь октября окт
    11: listopad listopada ноябрь ноября ноя нояб
    12: grudzień grudnia декабрь декабря дек
""")
)
"""Dutch, Polish and Russian months, which are never written with a capital letter, so that Maja and Mei are names."""

SIGNS = table("""
    USD: $ us$
    EUR: €
    GBP: £
    JPY: ¥ 円
    CNY: 元
    INR: ₹
    RUB: ₽
    KRW: ₩ 원
    ILS: ₪
    TRY: ₺
    UAH: ₴
    VND: ₫
    NGN: ₦
    PHP: ₱
    BRL: r$
    CAD: c$ ca$
    AUD: a$ au$
    NZD: nz$
    HKD: hk$
    SGD: s$
    MXN: mx$
    THB: ฿
    KZT: ₸
    GEL: ₾
    AZN: ₼
    GHS: ₵
    CRC: ₡
    PYG: ₲
    LAK: ₭
    MNT: ₮
    BDT: ৳
    KHR: ៛
""")
"""Signs of currencies, which stand before a number or after it without a boundary."""

CODES = frozenset(
    words(
        "USD EUR GBP JPY CNY INR CHF SEK NOK DKK ISK PLN CZK HUF RON BGN TRY RUB UAH BRL MXN ARS CLP COP PEN CAD AUD"
        " NZD SGD HKD TWD KRW THB IDR MYR PHP VND ZAR ILS AED SAR QAR EGP MAD NGN KES BTC ETH"
        " KZT GEL AZN GHS CRC PYG LAK MNT BDT KHR"
    )
)

CURRENCIES = table("""
    USD: dollar dollars bucks dólar dólares dollari
    EUR: euro euros
    GBP: pound pounds quid
    JPY: yen
    CHF: franken fr. sfr
    PLN: zł zloty
    CZK: kč
    INR: rupee rupees
    BRL: reais
    RUB: руб рубль рубля рублей
    UAH: грн гривень гривні
""")

_ZEROS = table("""
    2: hundred hundert
    3: thousand tausend тыс
    6: million millions millionen mio millones milioni milhões млн
    9: billion billions bn mrd milliarden млрд
    12: trillion trillions
    5: lakh lakhs
    7: crore crores
""")
SCALES = {word: int(zeros) for word, zeros in _ZEROS.items()}
"""Words after a number, and the zeros that they add."""

SCALE_LETTERS = {"k": 3, "m": 6, "b": 9}
"""Letters that scale an amount of money, as in $5M; without a currency only `k` does."""

NUMBER_WORDS = table("""
    2: two zwei deux dos due dois duas
    3: three drei trois tres tre três
    4: four vier quatre cuatro quattro quatro
    5: five fünf cinq cinco cinque
    6: six sechs seis sei
    7: seven sieben sept siete sette sete
    8: eight acht huit ocho otto oito
    9: nine neun neuf nueve nove
    10: ten zehn dix diez dieci dez
    11: eleven elf onze once undici
    12: twelve zwölf douze doce dodici doze
    13: thirteen dreizehn treize trece tredici treze
    14: fourteen vierzehn quatorze catorce quattordici catorze
    15: fifteen fünfzehn quinze quince quindici
    16: sixteen sechzehn seize dieciséis sedici dezesseis dezasseis
    17: seventeen siebzehn dix-sept diecisiete diciassette dezessete
    18: eighteen achtzehn dix-huit dieciocho diciotto dezoito
    19: nineteen neunzehn dix-neuf diecinueve diciannove dezenove
    20: twenty zwanzig vingt veinte venti vinte
    30: thirty dreißig trente treinta trenta trinta
    40: forty vierzig quarante cuarenta quaranta quarenta
    50: fifty fünfzig cinquante cincuenta cinquanta cinquenta
    60: sixty sechzig soixante sesenta sessanta sessenta
    70: seventy siebzig setenta settanta septante
    80: eighty achtzig ochenta ottanta oitenta huitante
    90: ninety neunzig noventa novanta nonante
""")
"""Words that can stand for a number which was written in digits; "one" is too often an article or a pronoun."""

ONES = words("one un une uno una eins ein eine um uma")
HUNDREDS = table("""
    100: cien ciento cento cem
    200: doscientos doscientas duzentos duzentas
    300: trescientos trescientas trezentos trezentas
    400: cuatrocientos cuatrocientas quatrocentos quatrocentas
    500: quinientos quinientas quinhentos quinhentas
    600: seiscientos seiscientas seiscentos seiscentas
    700: setecientos setecientas setecentos setecentas
    800: ochocientos ochocientas oitocentos oitocentas
    900: novecientos novecientas novecentos novecentas
""")
MULTIPLIERS = table("""
    12: dozen
    100: hundred hundert cent cents
    1000: thousand tausend mil mille mila
""")
"""Words that multiply the number before them, as those of `SCALES` do."""

NEVER_ALONE = frozenset(words("cent cents cento ciento vingts mila"))
"""Words that are other things than numbers unless a number or a unit is beside them: five cents, per cent."""

VAGUE = frozenset(
    words(
        "few several some many couple half quarter mehrere einige viele paar halbe quelques plusieurs demi varios"
        " varias unos algunos medio alcune diverse vari mezzo alguns vários meio"
    )
)
"""Words that make no certain number of a hundred behind them."""

PARTS = tuple(
    word.replace("_", r"[ \xa0-]")
    for word in words(
        "and_a_half and_a_quarter et_demie? y_medi[oa] e_mezz[oa] e_mei[oa] und_ein_halb point_(?:{0})"
        " (?:komma|virgule|coma|virgola|vírgula)_(?:{0})".format("|".join((*ONES, *NUMBER_WORDS)))
    )
)
"""Patterns of what makes a fraction of the number before it, as "two and a half" and "two point five"."""

LIST_LABELS = frozenset(words("step option schritt étape paso passo opción opzione opção punkt variante point"))
"""Words that number the entries of a list, as in "Step 2:"."""

LABELS = LIST_LABELS | frozenset(
    words(
        "room table gate seat platform track terminal floor level zone lane plan phase part chapter section page"
        " question appendix apartment building box bay slot ticket zimmer raum tisch gleis sitz etage kapitel abschnitt"
        " seite teil plattform chambre salle porte quai siège étage chapitre page article partie habitación sala mesa"
        " puerta andén asiento planta piso capítulo sección página parte camera stanza tavolo binario posto piano"
        " capitolo sezione pagina quarto portão plataforma assento andar seção artigo artículo articolo"
    )
)
"""Words with which a number behind them is the name of something, as in "Room 12"."""

PLAIN_CODES = frozenset(words("2fa mfa b2b b2c 3d 2d mp3 mp4 co2 h2o utf-8 i18n k8s 401k html5 covid-19"))
"""Words that look like codes."""

NO_NAMES = frozenset(
    words(
        "monday tuesday wednesday thursday friday saturday sunday mon tue tues wed thu thur thurs fri sat sun"
        " montag dienstag mittwoch donnerstag freitag samstag sonnabend sonntag lundi mardi mercredi jeudi vendredi"
        " samedi dimanche lunes martes miércoles jueves viernes sábado domingo lunedì martedì mercoledì giovedì"
        " venerdì sabato domenica segunda terça quarta quinta sexta"
        " i i'm i'll i've i'd ok okay yes no true false null none the a an am pm utc"
        " sie ihr ihre ihren ihrem ihnen mr mrs ms dr herr frau madame monsieur señor señora"
    )
)
"""Words that are written with a capital letter and name nobody."""

NO_NAME_KEYS = frozenset(words("status state type kind category level priority currency unit role mode result"))
"""Keys whose values are one of a fixed list, as `{"status": "Delivered"}`."""

NAME_KEYS = frozenset(
    words(
        "name firstname lastname fullname title city town country region district street address place location"
        " airport station carrier brand company customer author owner person user guest passenger payee merchant"
        " hotel restaurant product model team doctor agent driver seller from to"
    )
)
"""Last words of keys whose values name somebody or something, even where the value is a single word."""

TITLES = words(
    "mr mrs ms mx miss dr herr herrn frau m mme mlle madame monsieur señor señora sr sra signor signora sig"
    " senhor senhora dona don doña"
)
"""Words before a family name that stand for the first name."""

PARTICLES = frozenset(words("von van de der den di da del della do dos das du la le el al bin ibn zu"))
"""Words in lower case that are parts of names."""

GERMAN = frozenset(words("der die das den dem und ist nicht ein eine einen ich wir mit für von zu wird werden haben"))
"""German writes every noun with a capital letter, so that its sentences show no names."""

GREETINGS = words(
    "hi hello hey dear thanks hallo liebe lieber moin bonjour cher chère merci hola estimado estimada querido querida"
    " gracias ciao gentile caro cara grazie olá oi prezado prezada obrigado obrigada morning afternoon evening danke"
)
"""Words before the name of the person who is spoken to, which an answer may leave out."""
