//! The words of time in six languages, as tables.

use jiff::civil::Weekday;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TimeUnit {
    Day,
    Week,
    Month,
    Year,
}

/// One row a month; the first is January.
const MONTH_WORDS: [&str; 12] = [
    "january jan januar jänner janvier enero ene gennaio janeiro",
    "february feb februar février fevrier febrero febbraio fevereiro fev",
    "march mar märz maerz mars marzo março",
    "april apr avril avr abril aprile abr",
    "may mai mayo maggio maio",
    "june jun juni juin junio giugno junho",
    "july jul juli juillet julio luglio julho",
    "august aug août aout agosto",
    "september sep sept septembre septiembre settembre setembro",
    "october oct oktober okt octobre octubre ottobre outubro",
    "november nov novembre noviembre novembro",
    "december dec dezember dez décembre decembre diciembre dicembre dezembro",
];

/// One row a day; the first is Monday.
const WEEKDAY_WORDS: [&str; 7] = [
    "monday mondays montag lundi lunes lunedì",
    "tuesday tuesdays dienstag mardi martes martedì",
    "wednesday wednesdays mittwoch mercredi miércoles mercoledì",
    "thursday thursdays donnerstag jeudi jueves giovedì",
    "friday fridays freitag vendredi viernes venerdì",
    "saturday saturdays samstag sonnabend samedi sábado sabato",
    "sunday sundays sonntag dimanche domingo domenica",
];

const NUMBER_WORDS: [&str; 13] = [
    "",
    "a an one ein eine einem einer einen un une una uno um uma",
    "two zwei deux dos due dois duas",
    "three drei trois tres tre três",
    "four vier quatre cuatro quattro quatro",
    "five fünf cinq cinco cinque",
    "six sechs seis sei",
    "seven sieben sept siete sette sete",
    "eight acht huit ocho otto oito",
    "nine neun neuf nueve nove",
    "ten zehn dix diez dieci dez",
    "eleven elf onze once undici",
    "twelve zwölf douze doce dodici doze",
];

fn find_row(table: &[&str], word: &str) -> Option<usize> {
    if word.is_empty() {
        return None;
    }
    table
        .iter()
        .position(|row| row.split(' ').any(|known| known == word))
}

pub(super) fn parse_month(word: &str) -> Option<i8> {
    find_row(&MONTH_WORDS, word).map(|at| at as i8 + 1)
}

/// Returns `true` for names of months that are also other words in some of the
/// languages.
pub(super) fn is_common_word(word: &str) -> bool {
    matches!(
        word,
        "may"
            | "march"
            | "mar"
            | "mars"
            | "mai"
            | "jan"
            | "jun"
            | "dec"
            | "nov"
            | "oct"
            | "ene"
            | "avr"
            | "abr"
            | "set"
            | "dez"
            | "sept"
            | "sep"
            | "august"
            | "april"
            | "june"
    )
}

pub(super) fn parse_weekday(word: &str) -> Option<Weekday> {
    let at = find_row(&WEEKDAY_WORDS, word)?;
    Weekday::from_monday_zero_offset(at as i8).ok()
}

pub(super) fn parse_number(word: &str) -> Option<i64> {
    find_row(&NUMBER_WORDS, word).map(|at| at as i64)
}

pub(super) fn parse_unit(word: &str) -> Option<TimeUnit> {
    Some(match word {
        "day" | "days" | "tag" | "tage" | "tagen" | "jour" | "jours" | "día" | "días" | "dia"
        | "dias" | "giorno" | "giorni" => TimeUnit::Day,
        "week" | "weeks" | "woche" | "wochen" | "semaine" | "semaines" | "semana" | "semanas"
        | "settimana" | "settimane" => TimeUnit::Week,
        "month" | "months" | "monat" | "monate" | "monaten" | "mois" | "mes" | "meses" | "mese"
        | "mesi" | "mês" => TimeUnit::Month,
        "year" | "years" | "jahr" | "jahre" | "jahren" | "an" | "ans" | "année" | "años"
        | "año" | "anno" | "anni" | "ano" | "anos" => TimeUnit::Year,
        _ => return None,
    })
}

/// Returns the step of the word before a unit or a day: last, this, next.
pub(super) fn step_before(word: &str) -> Option<i64> {
    Some(match word {
        "last" | "past" | "previous" | "letzte" | "letzten" | "letzter" | "letztes" | "vorige"
        | "vorigen" | "voriges" => -1,
        "this" | "diese" | "diesen" | "dieses" | "cette" | "ce" | "esta" | "este" | "questa"
        | "questo" => 0,
        "next" | "coming" | "nächste" | "nächsten" | "nächster" | "nächstes" => 1,
        _ => return None,
    })
}

/// Returns the step of the word behind a unit, as Romance languages have it.
pub(super) fn step_behind(word: &str) -> Option<i64> {
    Some(match word {
        "dernier" | "dernière" | "passé" | "passée" | "pasado" | "pasada" | "scorso" | "scorsa"
        | "passado" | "passada" => -1,
        "prochain" | "prochaine" | "próximo" | "próxima" | "prossimo" | "prossima" => 1,
        _ => return None,
    })
}

/// Returns how many words before a number point back or ahead, and in which
/// direction.
pub(super) fn ago_before<'a>(word: impl Fn(usize) -> &'a str) -> Option<(usize, i64)> {
    match (word(0), word(1), word(2)) {
        ("il", "y", "a") => Some((3, -1)),
        ("vor" | "hace" | "há", _, _) => Some((1, -1)),
        ("in" | "dans" | "tra" | "fra" | "dentro", _, _) => Some((1, 1)),
        _ => None,
    }
}

pub(super) fn is_ago_word(word: &str) -> bool {
    matches!(word, "ago" | "earlier" | "back" | "fa" | "atrás")
}

/// Returns the distance of a day that has a name of its own: yesterday, today,
/// tomorrow.
pub(super) fn day_offset(word: &str) -> Option<i64> {
    Some(match word {
        "today" | "tonight" | "heute" | "aujourd" | "hoy" | "oggi" | "hoje" => 0,
        "yesterday" | "gestern" | "ayer" | "ieri" | "ontem" => -1,
        "tomorrow" | "demain" | "domani" | "amanhã" => 1,
        "vorgestern" | "anteayer" | "anteontem" => -2,
        "übermorgen" => 2,
        _ => return None,
    })
}

/// Returns the first month of a season on the northern hemisphere.
pub(super) fn season_start(word: &str) -> Option<i8> {
    Some(match word {
        "spring" | "frühling" | "frühjahr" => 3,
        "summer" | "sommer" => 6,
        "autumn" | "fall" | "herbst" => 9,
        "winter" => 12,
        _ => return None,
    })
}
