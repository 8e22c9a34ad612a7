//! Languages: of a page by the tag in its path, of a text by its words and
//! letters. It guesses from lists of common words and never claims certainty:
//! a text that fits no language, or several equally well, has none.

use std::collections::HashMap;
use std::sync::LazyLock;

/// Languages that documents are commonly translated to.
const LANGUAGES: [&str; 47] = [
    "ar", "az", "bg", "bn", "bs", "ca", "cs", "da", "de", "el", "en", "es", "et", "fa", "fi", "fr",
    "gl", "he", "hi", "hr", "hu", "hy", "id", "it", "ja", "ka", "ko", "lt", "lv", "mk", "ms", "nl",
    "pl", "pt", "ro", "ru", "sk", "sl", "sr", "sv", "ta", "th", "tlh", "tr", "uk", "vi", "zh",
];

/// Countries that people write instead of the language.
const COUNTRIES: [(&str, &str); 3] = [("cn", "zh"), ("jp", "ja"), ("kr", "ko")];

/// Returns the language of a tag such as `de`, `pt-BR`, `zh_hant` or `CN`.
pub fn language_of_tag(tag: &str) -> Option<&'static str> {
    // Every folder on every path is looked at, and hardly any is a tag.
    if !(2..=8).contains(&tag.len()) || !tag.is_ascii() {
        return None;
    }
    let folded = tag.to_lowercase();
    let is_region =
        |it: &str| (2..=4).contains(&it.len()) && it.chars().all(|c| c.is_ascii_alphanumeric());
    let language = match folded.split_once(['-', '_']) {
        Some((language, region)) if is_region(region) => language,
        Some(_) => return None,
        None => &folded,
    };
    let known = LANGUAGES.iter().find(|it| **it == language).copied();
    known.or_else(|| {
        let country = COUNTRIES.iter().find(|(country, _)| *country == language);
        country.map(|(_, language)| *language)
    })
}

/// Words that are common in one language and in few of the others.
const COMMON_WORDS: [(&str, &str); 10] = [
    (
        "en",
        "the of and is are how what which does when where why with this that you your can from should",
    ),
    (
        "de",
        "der die das und ist nicht ein eine wie wann wo warum welche welcher welches mit für von ich wird werden kann sich auf den dem zu muss soll",
    ),
    (
        "fr",
        "le la les des est et une un comment quel quelle quels quelles pourquoi quand où avec pour dans sur qui du ce peut être je vous",
    ),
    (
        "es",
        "el los las una un es y cómo qué cuál cuándo dónde por para con del está puedo puede hay según",
    ),
    (
        "pt",
        "os uma um é como qual quando onde por para com da dos das não são posso você está",
    ),
    (
        "it",
        "il lo gli una un è come che quale quando dove perché per con della del di si non sono posso",
    ),
    (
        "nl",
        "het een hoe wat welke wanneer waar waarom met voor van niet dat zijn wordt",
    ),
    (
        "pl",
        "jak co czy jest nie na się gdzie kiedy dlaczego dla który która oraz przez można",
    ),
    (
        "tr",
        "nasıl nedir ve bir bu için ile nerede neden hangi olarak",
    ),
    (
        "id",
        "yang dan apa bagaimana untuk dengan tidak adalah kapan cara",
    ),
];

/// Letters that only some languages have, the likeliest language first. A text
/// with one of them is in none of the languages without it.
const LETTERS: [(&str, &[&str]); 11] = [
    ("іїєґ", &["uk"]),
    ("ыэёъ", &["ru", "bg"]),
    ("پچژگ", &["fa"]),
    ("ơưạảấầẩẫậắằẳẵặẹẻẽếềểễệỉịọỏốồổỗộớờởỡợụủứừửữựỳỵỷỹđ", &["vi"]),
    ("ß", &["de"]),
    ("ñ¿¡", &["es", "gl"]),
    ("ãõ", &["pt"]),
    ("łśźż", &["pl"]),
    ("ğış", &["tr", "az"]),
    ("őű", &["hu"]),
    ("ěřů", &["cs"]),
];

/// Scripts by the first and last of their letters, with the languages that are
/// written in them, the likeliest first. Kana comes before Han, because
/// Japanese has both.
const SCRIPTS: [(char, char, &[&str]); 14] = [
    ('\u{3040}', '\u{30ff}', &["ja"]),
    ('\u{ac00}', '\u{d7a3}', &["ko"]),
    ('\u{1100}', '\u{11ff}', &["ko"]),
    ('\u{4e00}', '\u{9fff}', &["zh", "ja"]),
    ('\u{0400}', '\u{04ff}', &["ru", "uk", "bg", "sr", "mk"]),
    ('\u{0600}', '\u{06ff}', &["ar", "fa"]),
    ('\u{0590}', '\u{05ff}', &["he"]),
    ('\u{0370}', '\u{03ff}', &["el"]),
    ('\u{0900}', '\u{097f}', &["hi"]),
    ('\u{0980}', '\u{09ff}', &["bn"]),
    ('\u{0b80}', '\u{0bff}', &["ta"]),
    ('\u{0e00}', '\u{0e7f}', &["th"]),
    ('\u{10a0}', '\u{10ff}', &["ka"]),
    ('\u{0530}', '\u{058f}', &["hy"]),
];

/// Returns the languages that a text may be in, the likeliest first; none
/// where its words do not decide.
pub fn languages_of_text(text: &str) -> &'static [&'static str] {
    let folded = text.to_lowercase();
    let has = |letters: &str| folded.contains(|c: char| letters.contains(c));
    if let Some((_, languages)) = LETTERS.iter().find(|(letters, _)| has(letters)) {
        return languages;
    }
    let script = SCRIPTS
        .iter()
        .find(|(first, last, _)| folded.contains(|c: char| (*first..=*last).contains(&c)));
    if let Some((_, _, languages)) = script {
        return languages;
    }
    let counts = count_common_words(&folded);
    let most = counts.iter().copied().max().unwrap_or(0);
    let mut best = (0..counts.len()).filter(|at| counts[*at] == most);
    match (best.next(), best.next()) {
        (Some(at), None) if most > 0 => LANGUAGE_ALONE[at],
        _ => &[],
    }
}

/// The languages of [`COMMON_WORDS`], each as a list.
const LANGUAGE_ALONE: [&[&str]; 10] = [
    &["en"],
    &["de"],
    &["fr"],
    &["es"],
    &["pt"],
    &["it"],
    &["nl"],
    &["pl"],
    &["tr"],
    &["id"],
];

/// The languages of each common word, as places in [`COMMON_WORDS`]: a search
/// may look at hundreds of passages.
static LANGUAGES_OF_WORD: LazyLock<HashMap<&str, Vec<usize>>> = LazyLock::new(|| {
    let mut languages: HashMap<&str, Vec<usize>> = HashMap::new();
    for (at, (_, common)) in COMMON_WORDS.iter().enumerate() {
        for word in common.split(' ') {
            languages.entry(word).or_default().push(at);
        }
    }
    languages
});

fn count_common_words(folded: &str) -> [usize; COMMON_WORDS.len()] {
    let mut counts = [0; COMMON_WORDS.len()];
    for word in folded.split(|c: char| !c.is_alphanumeric()) {
        for at in LANGUAGES_OF_WORD.get(word).into_iter().flatten() {
            counts[*at] += 1;
        }
    }
    counts
}

/// Returns `true` if a text is plainly English although its page claims to be
/// in another language: a page that was not translated, or a folder whose name
/// means something else, such as `docs/it/`.
pub fn is_plainly_english(text: &str, claimed: &str) -> bool {
    const LEAST_WORDS: usize = 4;
    if claimed == "en" {
        return false;
    }
    let folded = text.to_lowercase();
    let script = SCRIPTS.iter().filter(|(_, _, it)| it.contains(&claimed));
    for (first, last, _) in script {
        if folded.contains(|c: char| (*first..=*last).contains(&c)) {
            return false;
        }
    }
    let counts = count_common_words(&folded);
    let theirs = COMMON_WORDS.iter().position(|(it, _)| *it == claimed);
    let theirs = theirs.map_or(0, |at| counts[at]);
    counts[0] >= LEAST_WORDS && counts[0] > 2 * theirs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_of_folders_and_files_are_languages() {
        for (tag, language) in [
            ("de", Some("de")),
            ("pt-BR", Some("pt")),
            ("zh_hant", Some("zh")),
            ("CN", Some("zh")),
            ("jp", Some("ja")),
            ("en-US", Some("en")),
            ("docs", None),
            ("de-", None),
            ("de-architecture", None),
            ("xx", None),
            ("日本", None),
        ] {
            assert_eq!(language_of_tag(tag), language, "{tag}");
        }
    }

    #[test]
    fn words_letters_or_script_give_the_language_of_a_question() {
        for (question, language) in [
            ("how do refunds work", Some("en")),
            ("wie lange ist das Token gültig", Some("de")),
            ("comment annuler une commande", Some("fr")),
            ("¿dónde se guarda la clave?", Some("es")),
            ("como configurar o proxy, não funciona", Some("pt")),
            ("jak włączyć tryb testowy", Some("pl")),
            ("yönlendirme nasıl yapılır", Some("tr")),
            ("как отменить заказ", Some("ru")),
            ("як скасувати замовлення і чому", Some("uk")),
            ("返金の期限はいつですか", Some("ja")),
            ("如何取消订单", Some("zh")),
            ("환불 기한", Some("ko")),
            ("ERR_LEDGER_4471", None),
            ("", None),
        ] {
            assert_eq!(
                languages_of_text(question).first().copied(),
                language,
                "{question}"
            );
        }
    }

    #[test]
    fn a_page_that_was_not_translated_is_plainly_english() {
        let english = "This is the guide for the people of IT: how to order a machine, and what you get with it.";
        for claimed in ["it", "ja", "ru", "cs"] {
            assert!(is_plainly_english(english, claimed), "{claimed}");
        }
        assert!(!is_plainly_english(english, "en"));
        assert!(!is_plainly_english(
            "Die Frist ist in der Tabelle `the of and is are`",
            "de"
        ));
        assert!(!is_plainly_english("`let x = 1;`", "de"));
        assert!(!is_plainly_english("返金 the of and is are how what", "ja"));
    }
}
