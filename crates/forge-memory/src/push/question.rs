//! Finds the question in a prompt, if it is one that documents could answer.
//! Prompts that ask about the current work, ask the agent to do something, or
//! ask for its opinion are none of these: nothing in a repository answers them.

/// Bytes of a prompt in which a question is looked for. Longer ones are tasks,
/// or have a log in them.
const MAX_PROMPT_BYTES: usize = 600;
/// Lines that a prompt with a question has at most.
const MAX_LINES: usize = 6;
/// Sentences that may stand around the question.
const MAX_SENTENCES: usize = 3;
/// Words that a question has at least and at most. In a shorter one there is
/// too little to compare, and a longer one asks several things.
const WORDS: std::ops::RangeInclusive<usize> = 4..=40;

/// The first words of questions about how something is, in English: the one
/// language in which it was measured how often a pointer is right.
const OPENERS: [&str; 21] = [
    "how", "how's", "what", "what's", "where", "where's", "which", "why", "who", "when", "whose",
    "is", "isn't", "are", "aren't", "does", "doesn't", "do", "don't", "can", "must",
];

/// Words in front of a question that do not belong to it.
const LEAD_INS: [&str; 26] = [
    "and",
    "but",
    "so",
    "ok",
    "okay",
    "hi",
    "hey",
    "hello",
    "also",
    "btw",
    "by the way",
    "quick question",
    "one question",
    "question",
    "please",
    "tell me",
    "remind me",
    "explain",
    "i wonder",
    "any idea",
    "do you know",
    "can you tell me",
    "could you tell me",
    "can you explain",
    "can you remind me",
    "i want to know",
];

/// Words of questions that ask the agent, or about what is on the screen.
const ABOUT_THE_WORK: [&str; 29] = [
    "you",
    "your",
    "yours",
    "yourself",
    "u",
    "this",
    "these",
    "those",
    "just",
    "yet",
    "now",
    "today",
    "yesterday",
    "currently",
    "did",
    "didn't",
    "was",
    "were",
    "wasn't",
    "weren't",
    "shall",
    "next",
    "better",
    "prefer",
    "think",
    "green",
    "above",
    "below",
    "earlier",
];

/// Words behind which `that` points at something outside of the question.
const BEFORE_POINTING: [&str; 22] = [
    "is", "are", "does", "do", "can", "must", "what's", "of", "to", "for", "in", "on", "with",
    "about", "like", "use", "uses", "using", "why", "how", "call", "calls",
];

/// Returns the only question of a prompt, if a document may answer it: without
/// what leads to it, and with the sentences around it, which say what it is
/// about.
pub fn find_question(prompt: &str) -> Option<&str> {
    let prompt = prompt.trim();
    let is_short = prompt.len() <= MAX_PROMPT_BYTES && prompt.lines().count() <= MAX_LINES;
    if !is_short || prompt.starts_with(['/', '!', '#', '<', '{']) || prompt.contains("```") {
        return None;
    }
    let sentences = split_sentences(prompt);
    if sentences.len() > MAX_SENTENCES {
        return None;
    }
    let is_alone = sentences.len() == 1;
    let mut questions = sentences.into_iter().filter_map(question_of_sentence);
    let question = questions.next()?;
    // Two questions have two answers.
    let is_answerable = questions.next().is_none() && !is_about_the_work(question);
    is_answerable.then_some(if is_alone { question } else { prompt })
}

/// Splits a text behind its full stops, question marks and lines.
fn split_sentences(text: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let is_end = chars.peek().is_none_or(|(_, next)| next.is_whitespace());
        // A dot inside of a word is a name: `config.toml`.
        if c == '\n' || matches!(c, '.' | '?' | '!' | ';') && is_end {
            sentences.push(text[start..at + c.len_utf8()].trim());
            start = at + c.len_utf8();
        }
    }
    sentences.push(text[start..].trim());
    sentences.retain(|it| it.chars().any(char::is_alphanumeric));
    sentences
}

/// Returns the question that a sentence is, without what leads to it.
fn question_of_sentence(sentence: &str) -> Option<&str> {
    let mut rest = sentence;
    let is_separator = |c: char| c.is_whitespace() || ",:-–—".contains(c);
    while let Some(after) = LEAD_INS.iter().find_map(|lead| {
        let head = rest.get(..lead.len())?;
        let after = rest[head.len()..].strip_prefix(is_separator)?;
        head.eq_ignore_ascii_case(lead).then_some(after)
    }) {
        rest = after.trim_start_matches(is_separator);
    }
    let mut words = rest.split_whitespace();
    let mut first = words.next()?.to_lowercase();
    // "In which folder …": the opener is the second word.
    if matches!(
        first.as_str(),
        "in" | "at" | "from" | "with" | "to" | "by" | "since" | "under"
    ) {
        first = words.next()?.to_lowercase();
        if !matches!(first.as_str(), "which" | "what" | "where" | "when") {
            return None;
        }
    }
    let is_question = OPENERS.contains(&first.as_str());
    // "Is there …" needs no mark, but "is done" is a report.
    let is_marked = rest.ends_with('?')
        || matches!(
            first.as_str(),
            "how"
                | "where"
                | "which"
                | "who"
                | "why"
                | "what"
                | "what's"
                | "where's"
                | "how's"
                | "when"
        ) && !rest.ends_with(['.', '!', ':']);
    (is_question && is_marked && WORDS.contains(&rest.split_whitespace().count())).then_some(rest)
}

/// Returns `true` if no document can know the answer: it is about what is being
/// done, or addressed to the agent.
fn is_about_the_work(question: &str) -> bool {
    let words: Vec<String> = question
        .split_whitespace()
        .map(|word| {
            let word = word.trim_matches(|c: char| !c.is_alphanumeric());
            word.to_lowercase().replace('’', "'")
        })
        .collect();
    let points = |at: usize| {
        let before = at.checked_sub(1).and_then(|at| words.get(at));
        at + 1 == words.len() || before.is_some_and(|it| BEFORE_POINTING.contains(&it.as_str()))
    };
    // "Can we add …" asks for work.
    let is_request = words.len() > 1 && words[0] == "can" && words[1] == "we";
    let mut numbered = words.iter().enumerate();
    is_request
        || numbered.any(|(at, word)| {
            ABOUT_THE_WORK.contains(&word.as_str()) || word == "that" && points(at)
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_about_how_something_is_is_found_in_a_prompt() {
        for (prompt, question) in [
            ("How do we retry webhooks?", "How do we retry webhooks?"),
            ("how do we retry webhooks", "how do we retry webhooks"),
            (
                "Hey, quick question: where is the cache kept?",
                "where is the cache kept?",
            ),
            (
                "I changed config.toml on the server. Does the worker read it at start?",
                "I changed config.toml on the server. Does the worker read it at start?",
            ),
            (
                "can you tell me which port the worker listens on?",
                "which port the worker listens on?",
            ),
            (
                "In which folder are tools placed?",
                "In which folder are tools placed?",
            ),
            (
                "Is there a folder that nothing is written to?",
                "Is there a folder that nothing is written to?",
            ),
        ] {
            assert_eq!(find_question(prompt), Some(question), "{prompt}");
        }
    }

    #[test]
    fn requests_remarks_and_questions_about_the_work_are_none() {
        for prompt in [
            "yes",
            "proceed",
            "Why?",
            "what is that?",
            "Fix the login and run the tests",
            "Can you add a retry to the client?",
            "could you look at the cache?",
            "What did you change in the parser?",
            "why does this test fail on the branch?",
            "what do you think about the cache?",
            "Can we add a retry to the client?",
            "how many places use that now?",
            "is done, the tests of the parser pass",
            "How does the cache work? And where is it kept?",
            "/review how does the cache work?",
            "How does the cache work?\n```\nfn main() {}\n```",
            "Wie werden Webhooks wiederholt?",
            "",
        ] {
            assert_eq!(find_question(prompt), None, "{prompt}");
        }
        let long = format!(
            "{} How is the cache filled?",
            "A line of a log. ".repeat(60)
        );
        assert_eq!(find_question(&long), None);
    }

    proptest::proptest! {
        #[test]
        fn a_question_is_a_part_of_its_prompt(prompt in "(how|is|Can you tell me|ok,|[a-zé ?.!’\n]{0,12}| ){0,20}") {
            if let Some(question) = find_question(&prompt) {
                proptest::prop_assert!(prompt.contains(question));
            }
        }
    }
}
