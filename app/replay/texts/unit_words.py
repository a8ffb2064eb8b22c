"""The words by which texts name units of measurement and time zones, in the languages of `vocabulary`."""

from __future__ import annotations

from app.replay.texts.vocabulary import table, words

UNITS = table("""
    %: % percent per_cent prozent pour_cent por_ciento per_cento por_cento pct
    ct: cent cents
    s: s sec secs second seconds sekunde sekunden seconde secondes segundo segundos secondo secondi
    min: min mins minute minutes minuten minuto minutos minuti
    h: h hr hrs hour hours stunde stunden heure heures hora horas ora ore
    day: day days tag tage tagen jour jours día días dia dias giorno giorni calendar_day calendar_days kalendertag
    day: kalendertage kalendertagen jours_calendaires días_naturales días_corridos dias_corridos giorni_di_calendario
    business day: business_day business_days working_day working_days workday workdays weekday weekdays werktag werktage
    business day: werktagen arbeitstag arbeitstage arbeitstagen geschäftstag geschäftstage geschäftstagen
    business day: bankarbeitstage bankarbeitstagen
    business day: jour_ouvrable jours_ouvrables jour_ouvré jours_ouvrés día_hábil días_hábiles
    business day: día_laborable días_laborables giorno_lavorativo giorni_lavorativi giorno_feriale giorni_feriali
    business day: dia_útil dias_úteis banking_day banking_days bank_day bank_days
    business hour: business_hour business_hours working_hour working_hours heures_ouvrées heures_ouvrables
    business hour: horas_hábiles horas_laborables ore_lavorative horas_úteis arbeitsstunden
    week: week weeks woche wochen semaine semaines semana semanas settimana settimane
    month: month months monat monate monaten mois mes meses mese mesi mês
    year: year years yr yrs jahr jahre jahren ans année années año años anno anni ano anos
    night: night nights nacht nächte nuit nuits noche noches notte notti noite noites
    ms: ms millisecond milliseconds
    kg: kg kilo kilos kilogram kilograms kilogramm
    g: g gram grams gramm grammes gramos
    mg: mg milligram milligrams milligramm
    μg: mcg μg microgram micrograms mikrogramm
    IU: iu
    t: tonne tonnes tonnen
    st: stone
    lb: lb lbs
    oz: oz ounce ounces
    km: km kilometer kilometers kilometre kilometres kilómetros
    m: m meter meters metre metres metros metri
    cm: cm centimeter centimeters centimetre centimetres
    mm: mm
    mi: mile miles meilen
    yd: yd yard yards
    ft: ft foot feet
    in: inch inches
    l: l liter liters litre litres litros litri
    dl: dl
    cl: cl
    ml: ml milliliter milliliters millilitre millilitres
    gal: gallon gallons
    kcal: kcal
    kJ: kj
    B: byte bytes
    KB: kb
    MB: mb
    GB: gb
    TB: tb
    °C: °c
    °F: °f
    km/h: km/h km/hr kmh kph kilometers_per_hour kilometres_per_hour kilometer_pro_stunde stundenkilometer
    km/h: kilomètres_par_heure kilomètres-heure kilómetros_por_hora chilometri_orari quilômetros_por_hora
    mph: mph mi/h miles_per_hour miles_an_hour meilen_pro_stunde milles_par_heure millas_por_hora miglia_orarie
    mph: milhas_por_hora
    m/s: m/s meters_per_second metres_per_second meter_pro_sekunde mètres_par_seconde metros_por_segundo
    m/s: metri_al_secondo
    kn: kn knot knots knoten nœuds nudos nodi
    kWh: kwh
    kW: kw
    V: v volt volts
    W: w watt watts
    ha: ha hectare hectares hektar hectárea hectáreas ettaro ettari
    acre: acre acres
    m²: qm mq
    m³: cbm
    cm³: ccm cc
    ft²: sqft sf
""")

_LENGTHS = table("""
    km: km kilometer kilometers kilometre kilometres kilometern kilomètre kilomètres kilómetro kilómetros chilometro
    km: chilometri quilômetro quilômetros
    m: m meter meters metre metres metern mètre mètres metro metros metri
    cm: cm centimeter centimeters centimetre centimetres zentimeter zentimetern centimètre centimètres centímetros
    cm: centimetri
    mm: mm millimeter millimeters millimetre millimetres millimetern millimètres milímetros millimetri
    ft: ft ft. foot feet
    in: in in. inch inches
    yd: yd yard yards
    mi: mi mile miles
""")
_POWERS = {
    "²": words(
        "{0}² {0}2 {0}^2 sq{0} sq_{0} sq._{0} square_{0} quadrat{0} {0}_carré {0}_carrés {0}_cuadrado"
        " {0}_cuadrados {0}_quadrato {0}_quadrati {0}_quadrado {0}_quadrados"
    ),
    "³": words(
        "{0}³ {0}3 {0}^3 cu{0} cu_{0} cu._{0} cubic_{0} kubik{0} {0}_cube {0}_cubes {0}_cúbico {0}_cúbicos"
        " {0}_cubo {0}_cubi"
    ),
}
UNITS |= {
    pattern.format(length).replace("_", " "): f"{unit}{power}"
    for length, unit in _LENGTHS.items()
    for power, patterns in _POWERS.items()
    for pattern in patterns
}
"""Areas and volumes: each word for a length makes one of each."""

ZONES = table("""
    +0000: Z UTC GMT WET coordinated_universal_time greenwich_mean_time universal_time
    +0100: CET MEZ BST WAT central_european_time british_summer_time
    +0200: CEST MESZ EET SAST central_european_summer_time
    +0300: EEST MSK TRT МСК
    +0400: GST
    +0500: PKT
    +0530: IST
    +0700: ICT WIB
    +0800: SGT HKT AWST
    +0900: JST KST
    +1000: AEST
    +1100: AEDT
    +1200: NZST
    +1300: NZDT
    -0300: BRT
    -0400: EDT eastern_daylight_time
    -0500: EST CDT eastern_standard_time central_daylight_time
    -0600: CST MDT central_standard_time mountain_daylight_time
    -0700: MST PDT mountain_standard_time pacific_daylight_time
    -0800: PST pacific_standard_time
    -0500|-0400: ET eastern_time eastern
    -0600|-0500: CT central_time
    -0700|-0600: MT mountain_time
    -0800|-0700: PT pacific_time pacific
    -1000: HST
""")
"""Offsets from UTC, several between `|` where the season decides; abbreviations count only as they are written here."""
