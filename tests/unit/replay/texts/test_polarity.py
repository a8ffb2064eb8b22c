"""Two texts say the same of success, or not, as the guard of `meaning` sees it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.replay.texts.polarity import Polarity, polarity, polarity_differs

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
DIFFERENT += [
    ("Uw bestelling is terugbetaald.", "Uw bestelling kon niet worden terugbetaald."),
    ("Ik heb de boeking geannuleerd.", "Ik zal de boeking annuleren."),
    ("Ik heb de boeking geannuleerd.", "Wilt u dat ik de boeking annuleer?"),
    ("Uw retour is goedgekeurd.", "Uw retour is helaas afgewezen."),
    ("De kamer is met ontbijt.", "De kamer is zonder ontbijt."),
    ("Het bedrag werd teruggestort.", "Het bedrag wordt teruggestort zodra u bevestigt."),
    ("U kunt het retourneren.", "U kunt het niet retourneren."),
    ("De e-mail is verstuurd.", "Kan ik de e-mail versturen?"),
    ("Заказ был возвращён.", "Заказ не удалось вернуть."),
    ("Я отменил бронирование.", "Я отменю бронирование."),
    ("Я отменила бронирование.", "Хотите, чтобы я отменила бронирование?"),
    ("Ваш возврат одобрен.", "К сожалению, ваш возврат отклонён."),
    ("Номер с завтраком.", "Номер без завтрака."),
    ("Деньги возвращены на карту.", "Деньги будут возвращены на карту после подтверждения."),
    ("Письмо отправлено.", "Могу отправить письмо."),
    ("Можно вернуть товар.", "Вернуть товар нельзя."),
    ("Мы оформили возврат.", "Мы оформим возврат."),
    ("注文を返金しました。", "注文を返金できませんでした。"),
    ("予約をキャンセルしました。", "予約をキャンセルします。"),
    ("予約をキャンセルしました。", "予約をキャンセルしましょうか。"),
    ("返品は承認されました。", "申し訳ございませんが、返品は拒否されました。"),
    ("部屋は朝食付きです。", "部屋は朝食なしです。"),
    ("返品できます。", "返品できません。"),
    ("返金は完了しています。", "返金は処理中です。"),
    ("返金いたしました。", "返金してもよろしいでしょうか。"),
    ("はい、可能です。", "いいえ、できない決まりです。"),
    ("تم رد المبلغ.", "لم يتم رد المبلغ."),
    ("لقد ألغيت الحجز.", "سألغي الحجز."),
    ("لقد ألغيت الحجز.", "هل تريد أن ألغي الحجز؟"),
    ("تمت الموافقة على الطلب.", "للأسف تم رفض الطلب."),
    ("الغرفة مع الإفطار.", "الغرفة بدون الإفطار."),
    ("تم إرسال البريد.", "سيتم إرسال البريد."),
    ("يمكنك إرجاع المنتج.", "لا يمكنك إرجاع المنتج."),
    ("تَمَّ رَدُّ المبلغ.", "لَمْ يَتِمَّ رَدُّ المبلغ."),
]
ALIKE += [
    ("Bestelling is terugbetaald.", "We hebben de bestelling terugbetaald. Aarzel niet om contact op te nemen."),
    ("Geen probleem, de tafel is geboekt.", "De tafel is geboekt."),
    ("Helaas kunnen we het niet terugbetalen.", "Terugbetaling is niet mogelijk."),
    ("Uw bestelling komt donderdag aan.", "Donderdag ontvangt u uw bestelling."),
    ("De verzending is zonder extra kosten.", "De verzending is gratis."),
    ("Ik heb u een e-mail gestuurd.", "De e-mail is naar u verzonden."),
    ("Hallo! Waarmee kan ik u helpen?", "Goedemorgen, waarmee kan ik u van dienst zijn?"),
    ("Uw saldo is 5 euro.", "Het saldo van uw rekening bedraagt 5 euro."),
    ("Деньги за заказ возвращены.", "Мы вернули деньги за заказ. Не стесняйтесь обращаться."),
    ("Без проблем, стол забронирован.", "Стол забронирован."),
    ("К сожалению, вернуть деньги нельзя.", "Возврат невозможен."),
    ("Ваш заказ прибудет в четверг.", "Заказ будет доставлен в четверг."),
    ("Ваш баланс: 5 рублей.", "На вашем счету 5 рублей."),
    ("Я отправил вам письмо.", "Письмо отправлено."),
    ("Возврат оформлен.", "Мы оформили возврат. Если понадобится помощь, напишите нам."),
    ("Доставка без дополнительной платы.", "Доставка бесплатная."),
    ("注文を返金しました。", "注文は返金済みです。ご遠慮なくお問い合わせください。"),
    ("問題ありません、席を予約しました。", "席を予約しました。"),
    ("返金できません。", "申し訳ございませんが、返金はいたしかねます。"),
    ("木曜日に届きます。", "木曜日に到着します。"),
    ("残高は五円です。", "現在の残高は五円となっております。"),
    (
        "予約をキャンセルしました。",
        "かしこまりました。ご予約のキャンセルが完了しました。他に何かお手伝いできることはありますか。",
    ),
    ("メールを送信いたしました。", "メールをお送りしました。よろしくお願いいたします。"),
    ("部屋は空いています。", "お部屋に空きがございます。"),
    ("تم رد المبلغ.", "لقد رددنا المبلغ. لا تتردد في التواصل معنا."),
    ("لا مشكلة، تم حجز الطاولة.", "تم حجز الطاولة."),
    ("للأسف لا يمكن رد المبلغ.", "رد المبلغ غير ممكن."),
    ("سيصل طلبك يوم الخميس.", "يصل الطلب يوم الخميس."),
    ("رصيدك خمسة دولارات.", "الرصيد الحالي خمسة دولارات."),
    ("تم إلغاء الحجز.", "قمت بإلغاء الحجز."),
    ("الشحن بدون رسوم إضافية.", "الشحن مجاني."),
    ("تم إرسال البريد.", "تم إرسال البريد إليك. هل هناك أي شيء آخر؟"),
]
DIFFERENT += [
    ("You no longer need it.", "You need it."),
    ("You don't need to pay it.", "You need to pay it."),
    ("It is done, no further action is needed.", "It is done, further action is needed."),
    ("No action is needed.", "An action is needed."),
    ("There is no charge for it.", "There is a charge for it."),
    ("It comes at no extra cost.", "It comes at an extra cost."),
    ("It comes without additional fees.", "It comes with additional fees."),
    ("It is not only for adults.", "It is only for adults."),
    ("It takes no more than 5 days.", "It takes more than 5 days."),
    ("Es hat keine zusätzlichen Kosten.", "Es hat zusätzliche Kosten."),
    ("Sie müssen es nicht mehr bezahlen.", "Sie müssen es bezahlen."),
    ("Vous n'avez plus besoin de la carte.", "Vous avez besoin de la carte."),
    ("Le billet est sans frais.", "Le billet est avec des frais."),
    ("Ya no necesita la tarjeta.", "Necesita la tarjeta."),
    ("No es necesario el pago.", "Es necesario el pago."),
    ("Il volo è senza costi aggiuntivi.", "Il volo è con costi aggiuntivi."),
    ("O pagamento não é necessário.", "O pagamento é necessário."),
    ("Het is zonder extra kosten.", "Het is met extra kosten."),
    ("Вам больше не нужна карта.", "Вам нужна карта."),
    ("料金はかかりません。", "料金がかかります。"),
    ("الغرفة بدون رسوم.", "الغرفة مع رسوم."),
]
ALIKE += [
    ("You no longer need to pay it.", "You don't need to pay it."),
    ("You no longer need to pay it.", "You do not have to pay it any more."),
    ("It is booked. You no longer need to do anything.", "It is booked."),
    ("It is booked. You don't need to do anything else.", "It is booked, no further steps are needed."),
    ("It is booked, no further action is needed.", "It is booked. For further help, write to us."),
    ("It comes without additional fees.", "It comes at no extra cost."),
    ("Let me know whether or not you like it.", "Let me know whether you like it."),
    ("It is room no. 12.", "It is room 12."),
    ("Sie müssen es nicht mehr bezahlen.", "Sie brauchen es nicht zu bezahlen."),
]


DIFFERENT += [
    ("Refunds take 5 to 7 days.", "I have refunded you. It takes 5 to 7 days."),
    ("You may want to e-mail ada@example.com.", "I've e-mailed ada@example.com."),
    ("I will ask a colleague. Refunds take 5 days.", "Done! Refunds take 5 days."),
    ("Erstattungen dauern 5 Tage.", "Ich habe den Betrag erstattet. Erstattungen dauern 5 Tage."),
    ("Un remboursement prend 5 jours.", "J'ai remboursé la commande. Un remboursement prend 5 jours."),
    ("El reembolso tarda 5 días.", "He cancelado el pedido. El reembolso tarda 5 días."),
    ("Il rimborso richiede 5 giorni.", "Ho annullato l'ordine. Il rimborso richiede 5 giorni."),
    ("O reembolso leva 5 dias.", "Cancelei o pedido. O reembolso leva 5 dias."),
    ("Een terugbetaling duurt 5 dagen.", "Ik heb de bestelling geannuleerd. Een terugbetaling duurt 5 dagen."),
    ("Возврат занимает 5 дней.", "Я отменил заказ. Возврат занимает 5 дней."),
    ("يستغرق الاسترداد 5 أيام.", "قمت بإلغاء الطلب. يستغرق الاسترداد 5 أيام."),
]
ALIKE += [
    ("I found 3 hotels.", "There are 3 hotels."),
    ("I checked your order: it ships on Monday.", "Your order ships on Monday."),
    ("I've listed the options below.", "Here are the options."),
    ("I refunded A-1.", "A-1 has been refunded."),
    ("I sent it to ada@example.com.", "Done, the e-mail went to ada@example.com."),
    ("Ich habe zwei Hotels gefunden.", "Es gibt zwei Hotels."),
    ("Ik heb het voor u geannuleerd.", "Bestelling is geannuleerd."),
    ("J'ai trouvé trois hôtels.", "Il y a trois hôtels."),
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
