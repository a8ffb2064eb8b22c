"""Other wordings of the recorded answers, written by hand: what is as right, and what is wrong with the same values."""

from __future__ import annotations

GREETING = "Hello Ada, how can I help?"
LOST = "Order 1042 over 89.90 EUR is lost; you get it back in full within 30 days."
UNSEEN = "The carrier does not answer at the moment."
REFUNDED = "I refunded 89.90 EUR, the number is R-77."
SENT = "I sent it to ada@example.com."
ROOMS = "The Grand has a room for 2,400 NOK a night, the Bristol one for 1,950 NOK."
BOOKED = "The Bristol is booked for Ada Lovelace, 5 to 7 November: BK-2031."
MENDED = "parse_date read the month first; it now reads the day first, and all 14 tests pass."
LEAVE = "25 days, see section 4.2."
CARRIED = "Up to 5 days, until 31 March, see section 4.5."
WELCOME = "You are welcome."
BALANCE = "Ihr Kontostand beträgt 1.299,00 €."
TRANSFERRED = "Ich habe 50,00 € an Grete überwiesen, Auftrag Ü-9."
NOT_TRANSFERRED = "Das ging leider nicht: Ihr Guthaben reicht nicht aus."
WEATHER = "En Sevilla hay 31 °C y sol; en Bilbao 18 °C y lluvia."
NOT_CHANGED = "No es posible: el tren 204 del viernes está completo."
CANCELLED = "Votre abonnement F-310 prend fin le 30 novembre 2026."
PAID = "You paid $1,299.00 for order A-1042 on 5 November 2026: $1,199.00 for the Laptop and $100.00 for the Bag."
MONEY = (
    "I have refunded $1,299.00 for order A-1042 (receipt RF-88213) and sent the receipt to "
    "maria.silva@example.com. The money arrives by 12 November 2026."
)
RECEIPT = "Your receipt is at https://shop.example.com/receipts/RF-88213 until 2027-11-12."
LOCKED = "Unfortunately I could not change the address: it is locked until 12 November 2026."
SLOTS = "Dr. Weber is free on 03/04/2026 at 09:30 and at 14:15. A visit takes 20 minutes and costs €85."
SLOT = "You are booked with Dr. Weber at 14:15 on 3 April 2026 (C-907), and number 2 on the waiting list for 09:30."

REWORDED: dict[str, tuple[str, ...]] = {
    GREETING: ("Hi Ada! What can I do for you today?", "Good morning, Ada. What do you need?"),
    LOST: (
        "Your order 1042 (89.90 EUR) has been lost. You will get the full amount back within 30 days.",
        "I am sorry: order 1042 is lost. We refund €89.90 in full, within 30 days.",
        "Lost parcels are refunded in full within 30 days. For order 1042 that is 89.90 €.",
    ),
    UNSEEN: (
        "The carrier is not answering right now, so I cannot tell where it was last seen.",
        "Unfortunately the carrier's system timed out, please try again later.",
    ),
    REFUNDED: (
        "Done: 89.90 EUR have been refunded under the number R-77.",
        "Your refund R-77 over €89.90 was accepted.",
        "I've refunded 89.90 € (R-77). Is there anything else I can do for you?",
    ),
    SENT: ("It has been sent to ada@example.com.", "Done, the e-mail went to ada@example.com."),
    ROOMS: (
        "There is a room at the Grand (NOK 2,400 per night) and one at the Bristol (NOK 1,950 per night).",
        "Both have rooms: Bristol for 1950 NOK and Grand for 2400 NOK a night.",
        "- Grand: 2,400 NOK\n- Bristol: 1,950 NOK\n\nBoth prices are per night.",
    ),
    BOOKED: (
        "I booked the Bristol for Ada Lovelace from November 5 to November 7. Your booking is BK-2031.",
        "Booking BK-2031: Bristol, Ada Lovelace, 5–7 November.",
        "Done! Ada Lovelace stays at the Bristol from 5 Nov to 7 Nov (BK-2031).",
    ),
    MENDED: (
        "I fixed parse_date: it reads the day before the month now. All 14 tests pass.",
        "All 14 tests pass now. The bug was in parse_date, which took the month for the day.",
    ),
    LEAVE: (
        "In your first year you get 25 days of leave (section 4.2).",
        "According to section 4.2 you have 25 days.",
    ),
    CARRIED: (
        "Yes, you can carry over 5 days at most, and must take them by March 31 (section 4.5).",
        "Section 4.5 lets you carry over five days until 31 March.",
    ),
    WELCOME: ("My pleasure!", "Gladly, any time."),
    BALANCE: (
        "Auf Ihrem Konto sind 1.299,00 EUR.",
        "Ihr aktueller Kontostand: 1299 €.",
        "Gerne! Der Kontostand beträgt derzeit 1.299,00 Euro.",
    ),
    TRANSFERRED: (
        "Die 50 € an Grete sind überwiesen (Auftrag Ü-9).",
        "Erledigt: 50,00 EUR wurden an Grete überwiesen. Die Auftragsnummer ist Ü-9.",
    ),
    NOT_TRANSFERRED: (
        "Die Überweisung wurde abgelehnt, weil Ihr Guthaben nicht reicht.",
        "Leider reicht Ihr Guthaben dafür nicht aus, die Überweisung wurde nicht ausgeführt.",
    ),
    WEATHER: (
        "Sevilla: 31 °C y sol. Bilbao: 18 °C y lluvia.",
        "En Bilbao llueve y hay 18 °C, mientras que en Sevilla hace sol con 31 °C.",
    ),
    NOT_CHANGED: (
        "Lo siento, el tren 204 del viernes ya está completo y no se puede cambiar.",
        "No he podido cambiarlo: el viernes el tren 204 está completo.",
    ),
    CANCELLED: (
        "Votre abonnement F-310 est résilié au 30/11/2026.",
        "C'est fait : l'abonnement F-310 se termine le 30 novembre 2026.",
    ),
    PAID: (
        "On Nov 5, 2026 you paid $1,299.00 for A-1042: the Laptop was $1,199 and the Bag $100.",
        "Order A-1042 of 2026-11-05 came to 1,299.00 USD (Laptop 1,199.00 USD, Bag 100.00 USD).",
        "You paid:\n\n- Laptop: $1199.00\n- Bag: $100.00\n\nThat is **$1,299.00** for A-1042, on November 5th, 2026.",
    ),
    MONEY: (
        "Your refund of $1299 for A-1042 is done, and the receipt RF-88213 was e-mailed to maria.silva@example.com. "
        "Expect the money by Nov 12, 2026.",
        "Done! I refunded USD 1,299.00 (order A-1042). Receipt RF-88213 has been sent to maria.silva@example.com, and "
        "you'll have the money by 12 November.",
    ),
    RECEIPT: (
        "You can see it here until 12 November 2027: https://shop.example.com/receipts/RF-88213",
        "Of course! [Receipt](https://shop.example.com/receipts/RF-88213), available until November 12, 2027.",
    ),
    LOCKED: (
        "I'm sorry, the address is locked until November 12, 2026, so I was unable to change it.",
        "The address can't be changed before 2026-11-12, as it is locked until then.",
    ),
    SLOTS: (
        "On 3 April 2026 Dr. Weber has 9:30 and 14:15. It takes 20 minutes and costs 85 EUR.",
        "Dr. Weber can see you on 03/04/2026 at 9:30 am or 2:15 pm. The fee is 85.00 € for 20 minutes.",
    ),
    SLOT: (
        "I booked Dr. Weber for you on April 3, 2026 at 2:15 pm (booking C-907). On the waiting list for 9:30 you are "
        "number 2.",
        "Done: C-907, Dr. Weber, 3 April, 14:15. You are also number 2 on the waiting list for 09:30.",
    ),
}
DENIED: dict[str, tuple[str, ...]] = {
    LOST: ("Order 1042 over 89.90 EUR is lost; unfortunately you can't get it back, even within 30 days.",),
    REFUNDED: (
        "I could not refund 89.90 EUR, the number is R-77.",
        "The refund R-77 over 89.90 EUR was declined.",
        "Unfortunately the refund R-77 of 89.90 EUR failed.",
    ),
    SENT: ("I could not send it to ada@example.com.", "I have not sent anything to ada@example.com."),
    BOOKED: ("The Bristol could not be booked for Ada Lovelace, 5 to 7 November: BK-2031.",),
    MENDED: ("parse_date still reads the month first; not all 14 tests pass.",),
    TRANSFERRED: ("Ich konnte die 50,00 € nicht an Grete überweisen, Auftrag Ü-9.",),
    CANCELLED: ("Votre abonnement F-310 n'a pas pu être résilié au 30 novembre 2026.",),
    MONEY: (
        "I could not refund $1,299.00 for order A-1042 (receipt RF-88213), and did not send the receipt to "
        "maria.silva@example.com. No money arrives by 12 November 2026.",
    ),
    SLOT: (
        "You could not be booked with Dr. Weber at 14:15 on 3 April 2026 (C-907), and you are not number 2 on the "
        "waiting list for 09:30.",
    ),
}
DONE: dict[str, tuple[str, ...]] = {
    UNSEEN: ("The carrier answered: your parcel is on its way.", "It was last seen in the depot."),
    NOT_TRANSFERRED: ("Ich habe das Geld an Karl überwiesen.", "Die Überweisung wurde ausgeführt."),
    NOT_CHANGED: ("He cambiado su tren 204 al viernes.", "Su tren 204 ha sido cambiado al viernes."),
    LOCKED: (
        "I have changed the address; it is locked until 12 November 2026.",
        "Your address was changed to Rua Augusta 24, Lisbon, and is locked until 12 November 2026.",
    ),
}
OFFERED: dict[str, tuple[str, ...]] = {
    REFUNDED: ("Shall I refund 89.90 EUR? The number will be R-77.", "I will refund 89.90 EUR under the number R-77."),
    SENT: ("Shall I send it to ada@example.com?", "I will send it to ada@example.com."),
    BOOKED: ("Would you like me to book the Bristol for Ada Lovelace, 5 to 7 November (BK-2031)?",),
    TRANSFERRED: ("Soll ich die 50,00 € an Grete überweisen, Auftrag Ü-9?",),
    MONEY: (
        "Would you like me to refund $1,299.00 for order A-1042 (receipt RF-88213) and to send the receipt to "
        "maria.silva@example.com? The money would arrive by 12 November 2026.",
    ),
    SLOT: ("Shall I book Dr. Weber at 14:15 on 3 April 2026 (C-907), and put you on the list for 09:30 as number 2?",),
}
