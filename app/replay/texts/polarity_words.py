"""The words by which texts in Latin letters tell what was refused, done or promised, language by language."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Language:
    """The words of a language: patterns of whole words between `|`, in which `%` stands for any letters.

    The language is known by `hints`, words that are frequent in it, or by `script`, a pattern of its letters. What is
    `harmless` is taken out first; a group in it is a word behind, which says what is denied. `acted` is the part of
    `done` in which the writer acted, and did more than to look something up or to tell it. A language that is not
    `spaced` writes its words without spaces between them, so its patterns match anywhere.
    """

    harmless: str
    negative: str
    done: str
    pending: str
    acted: str = "(?!)"  # nothing
    hints: str = ""
    script: str = ""
    spaced: bool = True


LATIN = (
    Language(
        hints="the is are your you and to of i has have it was been be will not can this for in we my with any no it",
        harmless=r"""
            no \. \d%|no problem|no worries|no need|no (?:further|additional|extra)(?:(?= (\w+))|)
            |no longer any (?:need|action)%
            |(?:no longer|don't|do not) (?:need|have) to (?:do|take|provide|worry about) any%
            |not only
            |no charge|no cost%|at no(?:(?= (\w+(?: \w+)?))|)|free of|no rush|no doubt|no matter|no later than
            |no more than|not? less than|don't hesitate|do not hesitate|don't worry|do not worry|don't forget
            |do not forget|not to worry|why not|nothing else|nothing (?:more|further)|anything else|if not
            |whether or not|if you (?:don't|do not|can't|cannot)
            |if (?:it|this|that) (?:doesn't|does not|isn't|is not)|if anything (?:isn't|is not)
            |let me know if \w+ \w+ not|without (?:delay|any issue%|any problem%|issue%|problem%)|cannot wait
            |can't wait|not a problem|not at all|couldn't be (?:happier|easier)|no issue%|no trouble
            |no action|not just|not yet due|error free|non-(?:stop|smoking|alcoholic|business)
            |without (?:any |a )?(?:extra|additional|further)(?:(?= (\w+))|)
            |without (?:any |a )?(?:charge|cost|fee|doubt|hesitation|interruption)%
        """,
        negative=r"""
            not|no|never|without|non-%|none|neither|nor|nothing|cannot|\w+n't|unfortunately|unable|fail%|failure|declin%
            |denied|den(?:y|ies)|refus%|reject%|impossible|ineligible|unavailable|unsuccessful%|sorry but
            |regret%|error|without success|not eligible|could no%|out of stock|against policy
        """,
        done=r"""
            (?:has|have|had|was|were|is|are|been|being|got) (?:\w+ly |already |now |just |all )?(?:been )?(?:\w+ly )?
            (?!need|suppos|expect|schedul|requir|interest|want|locat|deliver|arriv|ship)%ed
            |(?:i|we) (?:have |just |already |successfully |'ve )*(?!need|want|wait|hop|look)(?:e-)?%ed
            |(?:i|we)'ve (?:\w+ly |just )?%ed
            |(?:has|have|was|were|is|been) (?:already |now |just |all )?(?:been )?
            (?:sent|made|paid|put|done|complete|set|taken)
            |(?:i|we)(?:'ve| have)? (?:just |already )?(?:sent|made|paid|put|did|done|set|took|found)
            |(?:refund|payment|order|booking|reservation|appointment|ticket|e-?mail|message|return|request|access)
            (?: successfully)? (?!need|requir|expect|schedul)%ed|successfully|all done|all set
            |(?:went|gone) (?:out|to|through)
            |(?:^|(?<=[.!?] ))done(?! (?:by|with|when|if))
        """,
        acted=r"""
            (?:i|we)(?:'ve| have)? (?:just |already |now |also |successfully )*
            (?!need|want|wait|hop|look|check|ask|underst|receiv|notic|list|summar|outlin|includ|review|verif|search|locat
            |identif|calculat|compar|consider|mention|explain|answer|gather|collect|pull|add|attach|share)(?:e-)?%ed
            |(?:i|we)(?:'ve| have)? (?:just |already |now )?(?:sent|made|paid|put|set|taken|took)|all done|all set
            |(?:^|(?<=[.!?] ))done(?! (?:by|with|when|if))
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
    Language(
        hints="der die das und ist nicht ich sie wurde wir den ein eine ihre ihr für auf haben wird kein keine hat",
        harmless=r"""
            kein problem|keine sorge|nicht nur|zögern sie nicht|nicht zögern|nichts weiter%
            |keine (?:weiteren?|zusätzlichen?)(?:(?= (\w+))|)
            |nichts mehr|nicht mehr als|falls nicht|wenn nicht
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
        acted=r"""
            (?:ich|wir) (?:habe|haben) (?:[\w-]+ ){0,8}?(?:storniert|erstattet
            |(?:aus|an|ein|um|weiter|zurück|hinter)?ge(?!fund|prüf|seh|schau|sucht|les|hör)\w+(?:t|en)|(?:über|be|ver)(?!prüf|stand|sucht|merkt)\w{3,}(?:t|en))
            |(?:habe|haben) (?:ich|wir) (?:[\w-]+ ){0,8}?(?:storniert|erstattet
            |(?:aus|an|ein|um|weiter|zurück|hinter)?ge(?!fund|prüf|seh|schau|sucht|les|hör)\w+(?:t|en))
        """,
        pending=r"""
            (?:werde|werden|wird) (?:[\w-]+ ){0,8}?\w+(?:en|ern|eln)|(?:ich|wir) (?:kann|können|könnte%)
            |(?:soll|sollen|darf|kann) (?:ich|wir)|möchten sie|wollen sie|bestätigen sie|lassen sie mich
        """,
    ),
    Language(
        hints="le la les et est pas je vous votre nous été des du une un pour dans ne a avons au ce j'ai voulez-vous",
        harmless=r"""
            pas de (?:souci%|problème%|quoi)|aucun (?:souci|problème|frais)|n'hésitez pas|pas seulement
            |ne vous inquiétez pas|rien d'autre|si (?:ce n'est|cela n'est|vous ne) |pas plus de
            |sans (?:aucun% )?(?:frais|délai|problème|supplément|coût|doute|hésit|souci)%|non seulement
            |n'oubliez pas|aucune autre(?:(?= (\w+))|)
        """,
        negative=r"""
            plus besoin|ne \w+ plus|n'\w+ plus
            |pas|non|non-%|sans|aucun%|jamais|rien|ni|malheureusement|impossible|échou%|échec|refus%|rejet%|erreur|désolé%
            |regret%|hélas|incapable|sans succès
        """,
        done=r"""
            (?:a|ont|ai|avons|est|sont|suis) (?:bien |déjà )?(?:été )?(?:bien )?(?:\w{2,}(?:é|ée|és|ées)
            |fait%|remis|mis|pris|transmis|émis)
            |avec succès|j'ai (?:bien |déjà )?\w+(?:é|is|it|u)
        """,
        acted=r"""
            (?:j'ai|nous avons) (?:bien |déjà )?(?!trouv|vérif|cherch|regard|consult|reç|compris|list)\w+(?:é|is|it)
        """,
        pending=r"""
            (?:vais|allons|va|vont) (?:\w+ )?\w+(?:er|ir|re)|sera%|seront
            |(?:je|nous|vous) \w+(?:erai|irai|rons|rez)|j'\w+erai|voulez-vous|voulez vous|souhaitez-vous
            |souhaitez vous|puis-je|dois-je|(?:je peux|nous pouvons)|veuillez confirmer
        """,
    ),
    Language(
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
        acted=r"""
            (?:he|hemos) (?:ya )?(?!encontr|revis|comprob|busc|verific|recib|entend|consult)\w+(?:ado|ido|cho|sto|rto)
        """,
        pending=r"""
            (?:voy|vamos|va|van) a|será%|serán|\w{3,}(?:aré|eré|iré|aremos|eremos|iremos)|quiere que
            |desea que|le gustaría|puedo|podemos|debo|confirme
        """,
    ),
    Language(
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
        acted=r"""
            (?:ho|abbiamo) (?:già )?(?!trovat|controllat|verificat|cercat|ricevut|capit|consultat|vist)
            \w+(?:at|it|ut|ss|tt|s)[oaie]
        """,
        pending=r"""
            sarà%|saranno|\w{3,}(?:erò|irò|eremo|iremo)|vuole che|vuoi che|desidera|posso|possiamo|devo
            |confermi|sto per
        """,
    ),
    Language(
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
        acted=r"""
            (?:eu )?(?!encontr|verifi|procur|consult|receb|list)\w{3,}(?:ei|amos|emos)(?= (?:o|a|os|as|seu|sua|um|uma) )
        """,
        pending=r"""
            (?:vou|vamos|vai|vão) \w+r|será%|serão|\w{3,}(?:arei|erei|irei|aremos|eremos|iremos)|quer que
            |deseja que|gostaria|posso|podemos|devo|confirme
        """,
    ),
    Language(
        hints="het een niet ik u uw wij van voor op met heb wordt zijn geen naar aan deze dit dat de en is zonder",
        harmless=r"""
            geen probleem|geen zorgen|geen punt|niet alleen|niets (?:meer|verder)
            |(?:geen|zonder) (?:verdere|extra|bijkomende)(?:(?= (\w+))|)
            |aarzel niet|vergeet niet|niet (?:meer|minder|later) dan|als (?:het|dit|dat|u) niet|zo niet|geen dank
            |zonder (?:enige? )?(?:meerkosten|kosten|probleem|problemen|twijfel|vertraging)
        """,
        negative=r"""
            niet|niet-%|nee|geen|zonder|nooit|niets|niemand|noch|helaas|jammer genoeg|onmogelijk|mislukt%|fout|spijt%
            |afgewezen|afgekeurd|geweigerd|weiger%|uitgesloten|ongeldig|uitverkocht|sorry maar
        """,
        done=r"""
            (?:is|zijn|was|waren|werd|werden|heb|heeft|hebben) (?:[\w-]+ ){0,8}?(?!bekend|bereid|beperkt|bezorg|gepland)
            (?:terug|over|aan|uit|af|op|toe|door|in)?(?:(?:ge|be|ver|her|ont)\w{2,}(?:d|t|en)|\w+eerd)
            |met succes|succesvol|voltooid|afgerond
        """,
        acted=r"""
            (?:(?:ik|wij|we) (?:heb|hebben)|(?:heb|hebben) (?:ik|wij|we)) (?:[\w-]+ ){0,8}?
            (?:terug|over|aan|uit|af|op|toe|door|in)?(?:ge(?!vond|zien|zocht|kek|check)|be(?!kek)|ver|her)\w{2,}(?:d|t|en)
        """,
        pending=r"""
            (?:zal|zullen|ga|gaan|gaat) (?:[\w-]+ ){0,8}?\w+en|(?:ik|wij|we) (?:kan|kunnen)|wilt u|wil je|wenst u
            |(?:zal|kan|mag|moet) ik|(?:zullen|kunnen|mogen|moeten) we|nog niet|in behandeling|(?:graag )?bevestig%
            |(?:wordt|worden) (?:[\w-]+ ){0,8}?(?!bezorg|gelever|verwacht)(?:terug|over)?(?:ge|be|ver)\w{2,}(?:d|t|en)
        """,
    ),
)
