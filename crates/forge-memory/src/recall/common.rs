//! Stop words of seven languages: words that phrase a query rather than state
//! its topic, as in "what did I say about". Chat transcripts contain them
//! everywhere, and in a small folder rarity alone does not reveal that.

use std::collections::HashSet;
use std::sync::LazyLock;

use crate::index::terms::TermSplitter;

/// Weight of a stop word next to other terms.
const COMMON_TERM_WEIGHT: f32 = 0.4;
/// Factor for vectors of an English model if the query is in another language
/// with Latin letters.
const FOREIGN_LANGUAGE_TRUST: f32 = 0.7;

const ENGLISH_COMMON_WORDS: &str = "\
a an the of in on at to for from by with about as and or if so than then not no any some ever \
is are was were be been being am do does did done have has had can could would should will shall \
may might must i me my mine you your we us our he she it they them his her their its this that \
these those there here what when where who whom which why how many much once";
const GERMAN_COMMON_WORDS: &str = "\
der die das den dem des ein eine einen einem einer eines und oder wenn als so nicht kein keine \
ist sind war waren sein hat haben hatte kann können konnte soll sollte muss müssen wird werden \
wurde ich mich mir mein meine meinen du dir dein wir uns unser ihr er sie es sich in im an am auf \
aus bei mit nach von vom zu zum zur über für um was wann wo wer wen wem welche welcher welches \
warum wie viele viel man da hier dort es";
const FRENCH_COMMON_WORDS: &str = "\
le la les l un une des du de d et ou si ne pas est sont était être a ai as avons ont avait peut \
peux faut je j me m mon ma mes tu te ton ta tes il elle on nous notre vous votre ils elles leur se \
s son sa ses ce c cette ces cela en y à au aux dans par pour sur avec que qu quoi qui quel quelle \
quels quelles quand où comment combien pourquoi";
const SPANISH_COMMON_WORDS: &str = "\
el la los las un una unos unas y o si no de del en a al por para con sin sobre es son era fue ser \
está están hay ha han he puede puedo yo me mi mis tú te tu tus él ella nosotros nos su sus se lo \
le les este esta esto ese esa eso que qué quién cuál cuáles cuándo dónde cómo cuánto cuántos \
cuántas por como";
const ITALIAN_COMMON_WORDS: &str = "\
il lo la i gli le l un uno una e o se non di del della dei delle in nel nella a al alla da dal per \
con su è sono era essere ha hanno ho può posso io mi mio mia tu ti tuo tua lui lei noi ci si \
questo questa che chi cosa quale quali quando dove come quanto quanti quante perché";
const PORTUGUESE_COMMON_WORDS: &str = "\
o a os as um uma e ou se não de do da dos das em no na nos nas ao à por para com sem sobre é são \
era foi ser está há tem pode posso eu me meu minha tu você ele ela nós seu sua este esta isto isso \
que quem qual quais quando onde como quanto quantos quantas porque";
const RUSSIAN_COMMON_WORDS: &str = "\
и в во на с со по к ко у о об от до из за для при не ни ли или если а но же бы что чего чем кто \
кого какой какая какие как когда где куда почему зачем сколько я мы вы он она они оно мне меня мой \
моя мои нам нас наш вам вас ваш его ее её их это этот эта эти то тот был была было были есть быть \
можно нужно";

static COMMON_WORD_LISTS: LazyLock<Vec<HashSet<String>>> = LazyLock::new(|| {
    let mut terms = TermSplitter::default();
    [
        ENGLISH_COMMON_WORDS,
        GERMAN_COMMON_WORDS,
        FRENCH_COMMON_WORDS,
        SPANISH_COMMON_WORDS,
        ITALIAN_COMMON_WORDS,
        PORTUGUESE_COMMON_WORDS,
        RUSSIAN_COMMON_WORDS,
    ]
    .map(|list| terms.distinct_terms(list).into_iter().collect())
    .into()
});

/// Weighs the terms of a query. The language with most stop words in the query
/// decides: "die" is a stop word in one language and a topic in another.
pub(super) fn weigh_terms(terms: &[String]) -> Vec<f32> {
    let list = detect_language(terms).map(|at| &COMMON_WORD_LISTS[at]);
    let common = |term: &String| list.is_some_and(|list| list.contains(term));
    terms
        .iter()
        .map(|term| {
            if common(term) {
                COMMON_TERM_WEIGHT
            } else {
                1.0
            }
        })
        .collect()
}

/// Estimates how far an English model can be trusted with a query, from 0 to 1.
/// Another language is recognized by its stop words or its script.
pub(super) fn english_share(question: &str, terms: &[String]) -> f32 {
    let letters = question.chars().filter(|c| c.is_alphabetic());
    // Every text in a script that the model does not know is near every other
    // one, so letters of such scripts lower the trust in vectors.
    let latin = |c: &char| matches!(*c as u32, 0..=0x24F | 0x1E00..=0x1EFF);
    let (all, read) = letters.fold((0, 0), |(all, read), c| (all + 1, read + latin(&c) as u32));
    let share = match all {
        0 => 1.0,
        _ => read as f32 / all as f32,
    };
    match detect_language(terms) {
        None | Some(0) => share,
        Some(_) => share * FOREIGN_LANGUAGE_TRUST,
    }
}

/// Returns the list that contains most words of a query.
fn detect_language(terms: &[String]) -> Option<usize> {
    let held = |list: &HashSet<String>| terms.iter().filter(|it| list.contains(*it)).count();
    let mut most = (0, None);
    for (at, list) in COMMON_WORD_LISTS.iter().enumerate() {
        let count = held(list);
        if count > most.0 {
            most = (count, Some(at));
        }
    }
    most.1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(question: &str, telling: &[&str]) {
        let terms = TermSplitter::default().distinct_terms(question);
        let weights = weigh_terms(&terms);
        let left = terms.iter().zip(weights).filter(|it| it.1 == 1.0);
        let left: Vec<&str> = left.map(|it| it.0.as_str()).collect();
        assert_eq!(left, telling, "{question}");
    }

    #[test]
    fn what_asks_counts_less_than_what_is_asked_for() {
        check("How many weddings did I attend?", &["wed", "attend"]);
        check(
            "Wie viele Briefe haben wir an die Bank geschickt?",
            &["brief", "bank", "geschickt"],
        );
        check(
            "Où est-ce que j'ai garé la voiture ?",
            &["est-ce", "j'ai", "gare", "voitur"],
        );
        check("Где лежит ключ от архива?", &["лежит", "ключ", "архива"]);
    }

    #[test]
    fn an_english_model_is_believed_in_english() {
        let of = |question: &str| {
            english_share(question, &TermSplitter::default().distinct_terms(question))
        };
        assert_eq!(of("Where is the key?"), 1.0);
        assert_eq!(of("retry_policy"), 1.0);
        assert_eq!(of("42"), 1.0);
        assert_eq!(of("Wo ist der Schlüssel?"), FOREIGN_LANGUAGE_TRUST);
        assert_eq!(of("где ключ"), 0.0);
        assert_eq!(of("鍵はどこですか"), 0.0);
        let mixed = of("API 設計");
        assert!(mixed > 0.5 && mixed < 1.0, "{mixed}");
    }

    #[test]
    fn a_word_is_common_in_its_own_language_only() {
        check("when did the plants die", &["plant", "die"]);
        check("retry_policy", &["retry_policy", "retri", "polici"]);
    }
}
