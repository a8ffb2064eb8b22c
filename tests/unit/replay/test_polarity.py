"""Two texts say the same of success, or not, as the guard of `meaning` sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.polarity import Polarity, polarity, polarity_differs

DIFFERENT = [
    ("The order has been refunded.", "The order could not be refunded."),
    ("The order has been refunded.", "Unfortunately, the order is outside the return period."),
    ("I refunded it.", "I'll refund it."),
    ("I've cancelled your booking.", "Would you like me to cancel your booking?"),
    ("Your refund was issued.", "The refund failed."),
    ("The table is booked.", "I can't book the table."),
    ("I have sent the e-mail.", "I was unable to send the e-mail."),
    ("Your return was approved.", "Your return was declined."),
    ("The address has been changed.", "The address will be changed once you confirm."),
    ("Yes, you can return it.", "No, you can't return it."),
    ("Die Bestellung wurde erstattet.", "Die Bestellung konnte nicht erstattet werden."),
    ("Ich habe die Buchung storniert.", "Soll ich die Buchung stornieren?"),
    ("Ich habe das Geld erstattet.", "Ich werde das Geld erstatten."),
    ("Ihre Rückgabe wurde genehmigt.", "Ihre Rückgabe wurde leider abgelehnt."),
    ("La commande a été remboursée.", "La commande n'a pas pu être remboursée."),
    ("J'ai annulé la réservation.", "Voulez-vous que j'annule la réservation ?"),
    ("Nous avons remboursé la commande.", "Malheureusement, le délai est dépassé pour la commande."),
    ("El pedido ha sido reembolsado.", "El pedido no ha podido ser reembolsado."),
    ("He cancelado la reserva.", "¿Quiere que cancele la reserva?"),
    ("Su devolución fue aprobada.", "Su devolución fue rechazada."),
    ("L'ordine è stato rimborsato.", "Non è stato possibile rimborsare l'ordine."),
    ("Ho annullato la prenotazione.", "Vuole che annulli la prenotazione?"),
    ("O pedido foi reembolsado.", "O pedido não pôde ser reembolsado."),
    ("Infelizmente não é possível devolver o pedido.", "Pode devolver o pedido."),
]
DIFFERENT += [
    ("Refund issued: $50.", "I can issue a refund of $50 if you'd like."),
    ("I've updated your address.", "To update your address, please confirm the new one."),
    ("Your subscription is cancelled.", "Your subscription is still active."),
    ("Access granted.", "Access denied."),
    ("Der Betrag wurde überwiesen.", "Der Betrag wird überwiesen."),
    ("Ho inviato l'email.", "Invierò l'email."),
    ("Enviei o e-mail.", "Vou enviar o e-mail."),
    ("He enviado el correo.", "Enviaré el correo."),
]
DIFFERENT += [
    ("You can return it, refundable.", "You can return it, non-refundable."),
    ("The room comes with breakfast.", "The room comes without breakfast."),
    ("The e-mail has been sent.", "The e-mail will be sent."),
    ("Your refund was paid.", "Your refund will be paid."),
    ("Die Rückgabe ist möglich: ja.", "Die Rückgabe ist möglich: nein."),
    ("Das Zimmer ist mit Frühstück.", "Das Zimmer ist ohne Frühstück."),
    ("Votre billet est remboursable : oui.", "Votre billet est remboursable : non."),
    ("Votre billet est remboursable.", "Votre billet est non-remboursable."),
    ("La chambre est avec balcon.", "La chambre est sans balcon."),
    ("La habitación es con balcón.", "La habitación es sin balcón."),
    ("La camera è con balcone.", "La camera è senza balcone."),
    ("O quarto é com varanda.", "O quarto é sem varanda."),
]
ALIKE = [
    ("It is sent without extra cost.", "It is sent at no extra cost."),
    ("You can return it without any charge.", "You can return it for free."),
    ("It is booked, without a doubt.", "It is booked."),
    ("Your non-smoking room is booked.", "Your smoke-free room is booked."),
    ("Der Versand ist ohne zusätzliche Kosten.", "Der Versand ist kostenlos."),
    ("Das ist ohne jegliche Mehrkosten.", "Das ist kostenlos."),
    ("C'est sans aucun frais pour vous.", "C'est gratuit pour vous."),
    ("El envío es sin coste adicional.", "El envío es gratis."),
    ("Sin embargo, el pedido está listo.", "El pedido está listo."),
    ("La spedizione è senza costi aggiuntivi.", "La spedizione è gratuita."),
    ("O envio é sem qualquer custo.", "O envio é gratuito para você."),
    ("Would you like me to refund it?", "Shall I go ahead with the refund?"),
    ("I couldn't find that order.", "No order with that number exists."),
    ("I have refunded it. If you don't see it, write to us.", "It was refunded and you should see it soon."),
    ("Your order A-1 shipped on Nov 5 and will be delivered on Nov 8.", "A-1 was shipped; it is expected on Nov 8."),
    ("Je vous ai remboursé.", "Vous avez été remboursé."),
    ("Su pedido llegará el jueves.", "El jueves recibirá su pedido."),
    ("The order has been refunded.", "I've refunded your order."),
    ("The order has been refunded.", "Your refund is complete, no further action is needed."),
    ("Done, I refunded it.", "I refunded it. Don't hesitate to write if you need anything else."),
    ("No problem, it is booked.", "It is booked."),
    ("It costs $5.", "It costs $5, at no extra charge."),
    ("Not only is it booked, it is paid, too.", "It is booked and paid."),
    ("Unfortunately, we can't refund it.", "I'm afraid we cannot refund it."),
    ("The refund failed.", "The refund could not be made."),
    ("I refunded it.", "I refunded it. You'll get the money in 5 days."),
    ("Your order arrives on Thursday.", "Thursday is when your order arrives."),
    ("I was sorry to hear that; it is refunded now.", "It has been refunded."),
    ("It ships today.", "It ships today. Let me know if you need more."),
    ("Die Bestellung wurde erstattet.", "Ihre Bestellung haben wir erstattet. Zögern Sie nicht, sich zu melden."),
    ("Kein Problem, der Tisch ist reserviert.", "Der Tisch ist reserviert."),
    ("La commande a été remboursée.", "Nous avons remboursé la commande. N'hésitez pas à nous écrire."),
    ("El pedido ha sido reembolsado.", "Hemos reembolsado el pedido. No dude en escribirnos."),
    ("L'ordine è stato rimborsato.", "Abbiamo rimborsato l'ordine. Non esiti a scriverci."),
    ("O pedido foi reembolsado.", "O seu pedido foi reembolsado, sem custos. Não hesite em escrever."),
]


@pytest.mark.parametrize(("recorded", "produced"), DIFFERENT)
def test_refused_failed_done_and_promised_differ(recorded: str, produced: str) -> None:
    assert polarity_differs(recorded, produced)
    assert polarity_differs(produced, recorded)


@pytest.mark.parametrize(("recorded", "produced"), ALIKE)
def test_other_words_for_the_same_do_not_differ(recorded: str, produced: str) -> None:
    assert not polarity_differs(recorded, produced)
    assert not polarity_differs(produced, recorded)


def test_a_text_without_words_has_no_polarity() -> None:
    assert polarity("") == polarity("🙂 12") == Polarity()


@given(
    st.text()
    | st.lists(st.sampled_from(["habe", "is", "not", "no", ".", "already", "will be", "x" * 99])).map(" ".join)
)
def test_a_text_never_differs_from_itself(text: str) -> None:
    assert not polarity_differs(text, text)
