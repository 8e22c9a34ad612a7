//! Text that speaks to the agent as if it were its master: it would have
//! earlier instructions ignored, plays the part of the system or of a tool,
//! hides things from the user, sends data away or runs what it decodes.
//!
//! It knows phrases and no meaning: it makes an attack louder, not impossible.
//! What merely talks about such text, in code marks, is left alone.

use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

use regex::bytes::Regex;
use unicode_normalization::UnicodeNormalization;

use crate::secrets::hints::{HintMatch, HintTable};

/// A place that reads as an order to the agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectedOrder {
    /// The name of the rule, such as `override`.
    pub rule: &'static str,
    /// The subject of the rule, as the end of a sentence.
    pub about: &'static str,
    /// The line at which it begins.
    pub line: usize,
    /// The bytes that read as an order.
    pub span: Range<usize>,
    /// Whether it is left out of text that the agent did not request. The
    /// others are common in honest notes, and are only reported.
    pub grave: bool,
}

/// Finds every such place, in the order of the text; overlapping ones are
/// merged.
pub fn find_orders(text: &str) -> Vec<InjectedOrder> {
    let folded = FoldedText::of(text);
    let mut found: Vec<(Range<usize>, usize)> = Vec::new();
    for HintMatch {
        rule, hint, start, ..
    } in ORDER_HINTS.find_hints(&folded.text)
    {
        let hint = ORDER_RULES[rule].hints[hint];
        if !is_word_start(&folded.text, start) || !starts_with_hint(&folded.text[start..], hint) {
            continue;
        }
        let window =
            &folded.text[start..folded.text.floor_char_boundary(start + MATCH_WINDOW_BYTES)];
        let Some(matched) = rule_pattern(rule).find(window.as_bytes()) else {
            continue;
        };
        let span = start..start + window.ceil_char_boundary(matched.end());
        if (ORDER_RULES[rule].check)(&folded.text, &span) {
            found.push((span, rule));
        }
    }
    found.sort_by_key(|(span, rule)| (span.start, *rule));
    let mut orders: Vec<InjectedOrder> = Vec::new();
    let (mut line, mut counted) = (1, 0);
    for (span, rule) in found {
        let span = folded.original_span(span);
        if let Some(last) = orders.last_mut()
            && span.start < last.span.end
        {
            last.span.end = last.span.end.max(span.end);
            last.grave |= ORDER_RULES[rule].grave;
            continue;
        }
        line += memchr::memchr_iter(b'\n', &text.as_bytes()[counted..span.start]).count();
        counted = span.start;
        let OrderRule {
            name, about, grave, ..
        } = ORDER_RULES[rule];
        orders.push(InjectedOrder {
            rule: name,
            about,
            line,
            span,
            grave,
        });
    }
    orders
}

/// Replaces each line that holds a grave order by a line that states so.
/// Idempotent.
pub fn remove_orders(text: &str) -> Cow<'_, str> {
    let orders = find_orders(text);
    if !orders.iter().any(|order| order.grave) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut kept = 0;
    for order in orders.iter().filter(|order| order.grave) {
        if order.span.end <= kept {
            continue;
        }
        let start = text[..order.span.start].rfind('\n').map_or(0, |at| at + 1);
        let end = text[order.span.end..].find('\n');
        let end = end.map_or(text.len(), |at| order.span.end + at);
        out.push_str(&text[kept..start.max(kept)]);
        out.push_str(&format!(
            "‹left out: line {} {}; `memory-forge audit` names it›",
            order.line, order.about
        ));
        kept = end;
    }
    out.push_str(&text[kept..]);
    Cow::Owned(out)
}

#[derive(Clone, Copy)]
struct OrderRule {
    name: &'static str,
    about: &'static str,
    grave: bool,
    /// The words at which the pattern is tried, in lower case. The pattern
    /// starts at the hint.
    hints: &'static [&'static str],
    /// `~` matches what may be between two words.
    pattern: &'static str,
    /// The whole text in lower case, and the place in it.
    check: fn(&str, &Range<usize>) -> bool,
}

/// Spaces, line ends and the marks of Markdown around words.
const WORD_SEPARATOR: &str = r#"(?:[\s*_>#|"'`,:;.()\[\]\-]{1,12})"#;
/// The bytes that a pattern may read from its hint on.
const MATCH_WINDOW_BYTES: usize = 480;

const ORDER_RULES: &[OrderRule] = &[
    OrderRule {
        name: "override",
        about: "wants earlier instructions ignored",
        grave: true,
        hints: &["ignore", "disregard", "forget", "bypass", "override"],
        pattern: concat!(
            r"(?:ignore|disregard|forget|bypass|override)~(?:(?:all|any|every|the|of|",
            r"your|my|these|those|other)~){0,4}(?:(?:previous|prior|above|earlier|",
            r"preceding|foregoing|former|existing|system|original|safety|initial|",
            r"current)~(?:(?:and|or|given|system|safety|",
            r"developer)~){0,2}){1,2}(?:instructions?|prompts?|directives?|guidelines|",
            r"guardrails|orders)\b",
        ),
        check: is_not_negated,
    },
    OrderRule {
        name: "override",
        about: "wants earlier instructions ignored",
        grave: true,
        hints: &[
            "ignore",
            "disregard",
            "forget",
            "stop following",
            "do not follow",
            "don't follow",
        ],
        pattern: concat!(
            r"(?:ignore|disregard|forget|stop~following|do~not~follow|",
            r"don't~follow)~(?:(?:all|any|every)~(?:of~)?)?(?:everything~(?:above|",
            r"before~this|you~(?:were|have~been)~told)|(?:your|the)~(?:system~prompt|",
            r"instructions?~(?:above|before|from~(?:the~)?(?:user|system|developer))|",
            r"(?:safety~)?guardrails|training)|what~(?:the~)?(?:user|system|",
            r"developer)~(?:said|asked|told)|your~(?:previous~|prior~|",
            r"original~)?(?:instructions?|guidelines|programming))",
        ),
        check: is_not_negated,
    },
    OrderRule {
        name: "persona",
        about: "gives the agent another role",
        grave: true,
        hints: &[
            "you are now",
            "your new instructions",
            "your new system prompt",
            "your new objective",
            "enter developer mode",
            "enable developer mode",
        ],
        pattern: concat!(
            r"(?:you~are~now~(?:(?:a|an|the|in|operating~in|",
            r"running~in)~)*(?:developer~mode|debug~mode|god~mode|dan\b|jailbroken|",
            r"unrestricted|unfiltered|uncensored|free~from|no~longer~bound)|",
            r"your~new~(?:instructions|system~prompt|objective)~(?:are|is)|en(?:ter|",
            r"able)~developer~mode~(?:and|now|where|with~no))",
        ),
        check: accept_any,
    },
    OrderRule {
        name: "false-voice",
        about: "plays the part of the system, a tool or a fence",
        grave: true,
        hints: &[
            "<system",
            "</system",
            "<|",
            "[inst]",
            "[/inst]",
            "<<sys>>",
            "<</sys>>",
            "<tool",
            "</tool",
            "<function",
            "</function",
            "<assistant",
            "</assistant",
            "<user-prompt",
            "</user-prompt",
            "<data ",
            "</data ",
            "=== end briefing",
            "=== session briefing",
            "=== end checkpoint",
            "<important",
            "</important",
        ],
        pattern: concat!(
            r"(?:</?system[-_ ]?(?:reminder|prompt|message|instructions?)?[ ]?>|<\|",
            r"(?:im_start|im_end|system|assistant|user|endoftext|eot_id|start_header_id|",
            r"end_header_id)\|>|\[/?inst\]|<</?sys>>|</?tool[-_](?:results?|responses?|",
            r"use|calls?|output)[ ]?>|</?function[-_](?:calls?|results?)[ ]?>|",
            r"</?assistant(?:[-_]\w{1,20})?>|</?user-prompt-submit-hook[ ]?>|",
            r"</?data [0-9a-f]{8,64}>|=== (?:end|session) (?:briefing|checkpoint)|",
            r"</?important[-_](?:instructions?|system)[ ]?>)",
        ),
        check: is_not_quoted,
    },
    OrderRule {
        name: "false-voice",
        about: "plays the part of the system, a tool or a fence",
        grave: true,
        hints: &["system", "developer", "assistant"],
        pattern: concat!(
            r"(?:system|developer|assistant)(?: (?:prompt|message|instructions?|override|",
            r"notice))?(?:\*\*)?\s{0,2}:(?:\*\*)?~?(?:you~(?:are~now|must|will~now|",
            r"have~been)|ignore|disregard|from~now~on|new~instructions|override)\b",
        ),
        check: is_at_line_start,
    },
    OrderRule {
        name: "conceal",
        about: "wants something hidden from the user",
        grave: true,
        hints: &[
            "do not",
            "don't",
            "never",
            "without",
            "must not",
            "hide this",
            "keep this",
        ],
        pattern: concat!(
            r"(?:(?:do~not|don't|never|must~not)~(?:ever~)?(?:tell|inform|mention|reveal|",
            r"disclose|admit|notify|alert)~(?:(?:any~of~)?(?:this|these|it|",
            r"that)~(?:\w{1,20}~)?(?:to~)?|about~(?:this|it)~to~)(?:the|your|",
            r"any)~(?:user|human|operator|person)s?\b|(?:do~not|don't|never)~(?:tell|",
            r"inform|notify|alert)~(?:the|your)~(?:user|human|operator)~(?:about~(?:this|",
            r"these|it)\b|that~you\b|what~you\b|you~(?:did|have|are|were)\b)|(?:hide|",
            r"keep)~this~(?:hidden~|secret~)?from~(?:the|your)~(?:user|human|operator)\b|",
            r"without~(?:telling|informing|notifying|alerting)~(?:the|your)~(?:user|",
            r"human|operator)~(?:about~(?:this|it)\b|that~you\b))",
        ),
        check: accept_any,
    },
    OrderRule {
        name: "send-away",
        about: "wants data sent away",
        grave: true,
        hints: &[
            "send",
            "post",
            "upload",
            "forward",
            "exfiltrate",
            "transmit",
            "leak",
            "submit",
        ],
        pattern: concat!(
            r"(?:send|post|upload|forward|exfiltrate|transmit|leak|submit)~(?:(?:all|any|",
            r"the|your|every|each|of|its|user's|contents?|content|full|entire|current|",
            r"found|output|values?|a~copy)~){1,6}(?:[^\s\n]{1,30}~(?:and|or|",
            r",)~)?(?:[a-z]{1,15}~)?(?:api[ _-]?keys?|credentials?|secrets?|passwords?|",
            r"access~tokens?|\.?env(?:~file)?|ssh~keys?|private~keys?|id_rsa|",
            r"environment~variables|conversation(?:~history)?|chat~history|system~prompt|",
            r"source~code)\b[^\n]{0,80}?\bto~(?:the~(?:url|address|server|endpoint|",
            r"webhook)~)?[`<(\[]?(?:https?://|[a-z0-9._-]{1,40}@[a-z0-9.-]{3,40}\b|",
            r"[0-9]{1,3}\.[0-9]{1,3}\.[0-9]{1,3}\.)",
        ),
        check: accept_any,
    },
    OrderRule {
        name: "send-away",
        about: "wants data sent away",
        grave: true,
        hints: &["curl", "wget", "invoke-webrequest", "iwr "],
        pattern: concat!(
            r"(?:curl|wget|invoke-webrequest|iwr)\b[^\n]{0,200}?(?:\$\((?:cat|env|",
            r"printenv|base64|head|tail)\b|`(?:cat|env|printenv) |@?(?:~|",
            r"\$home)/\.(?:ssh|aws|gnupg|netrc|npmrc|kube|config/gh)|@(?:\./)?\.env\b|",
            r"id_rsa|id_ed25519)",
        ),
        check: accept_any,
    },
    OrderRule {
        name: "run-decoded",
        about: "runs what it decodes",
        grave: true,
        hints: &["base64", "eval", "exec", "powershell", "pwsh", "decode"],
        pattern: concat!(
            r#"(?:base64~{0,1}(?:-d|--decode)\b[^\n|]{0,80}\|\s{0,4}(?:sudo\s{1,4})?(?:ba|"#,
            r#"z|da|k)?sh\b|base64~{0,1}(?:-d|--decode)\b[^\n|]{0,80}\|\s{0,4}(?:python3?|"#,
            r#"perl|node|ruby)\b|eval\s{0,4}\(\s{0,4}(?:atob|buffer\.from)\(|"#,
            r#"exec\s{0,4}\(\s{0,4}(?:base64\.|codecs\.|zlib\.|__import__)|"#,
            r#"eval\s{1,4}["']?\$\([^)\n]{0,200}base64|(?:powershell|"#,
            r#"pwsh)[^\n]{0,80}\s-(?:enc|encodedcommand)\s{1,4}[a-z0-9+/]{16}|"#,
            r#"decode~(?:this|the~following|it)~[^\n]{0,60}base64[^\n]{0,60}\b(?:run|"#,
            r#"execute|follow|obey)\b|decode~[^\n]{0,60}\band~(?:then~)?(?:run|execute|"#,
            r#"follow|obey)~(?:it|the~(?:result|instructions|command))\b)"#,
        ),
        check: accept_any,
    },
    OrderRule {
        name: "command",
        about: "gives the agent an order",
        grave: true,
        hints: &[
            "you must",
            "you are required",
            "you are ordered",
            "when you read this",
            "if you are an ai",
            "if you are a language",
            "if you are an llm",
            "as an ai",
        ],
        pattern: concat!(
            r"(?:you~must~(?:now|immediately|first~silently|silently|secretly)~(?:run|",
            r"execute|send|delete|install|download|reveal|obey|approve|push|disable)\b|",
            r"you~are~(?:required|ordered)~to~(?:immediately~|silently~)?(?:run|execute|",
            r"obey|send|delete|install|download)\b|",
            r"when~you~read~this[^\n.]{0,40}\b(?:run|execute|call|send|delete|install|",
            r"download|respond|reply|output)\b|if~you~are~an?~(?:ai|llm|",
            r"language~model)[^\n.]{0,60}\b(?:run|execute|call|send|delete|install|",
            r"download|respond|reply|output|ignore|must|please)\b|as~an~ai~(?:agent|",
            r"assistant|model)?~?you~(?:must|should|will)\b)",
        ),
        check: accept_any,
    },
    OrderRule {
        name: "address",
        about: "speaks to the agent",
        grave: false,
        hints: &[
            "important",
            "attention",
            "urgent",
            "note to",
            "note for",
            "message to",
            "message for",
            "instructions for",
            "instruction for",
        ],
        pattern: concat!(
            r"(?:(?:important|urgent|attention)(?:\*\*)?\s{0,2}[:!](?:\*\*)?~?(?:run|",
            r"execute|you~must|you~have~to|always~run|never~run)\b|(?:attention|",
            r"important|urgent|note|message|instructions?)~(?:(?:to|for)~)?(?:all~|any~|",
            r"the~)?(?:ai|llm|language~model|claude|codex|copilot|gemini|",
            r"chatgpt)~?(?:agents?|assistants?|models?|code)?(?:\*\*)?\s{0,2}:)",
        ),
        check: accept_any,
    },
];

fn accept_any(_: &str, _: &Range<usize>) -> bool {
    true
}

/// Returns `true` unless the order is negated: `Never forget the system prompt`
/// wants the opposite.
fn is_not_negated(text: &str, span: &Range<usize>) -> bool {
    let before = text[..span.start].trim_end();
    !["never", "not", "n't"]
        .iter()
        .any(|no| before.ends_with(no))
}

/// Returns `true` unless the tag is between code marks, which mention it and do
/// not use it.
fn is_not_quoted(text: &str, span: &Range<usize>) -> bool {
    !(text[..span.start].ends_with('`') && text[span.end..].starts_with('`'))
}

/// Returns `true` if the match is where a speaker's name can be: at the start
/// of a line or behind a label, with only marks between.
fn is_at_line_start(text: &str, span: &Range<usize>) -> bool {
    let before = text[..span.start].rsplit('\n').next().unwrap_or_default();
    let before = before.trim_end_matches(['*', ' ', '`', '"']);
    if before.ends_with(':') {
        return true;
    }
    before
        .trim_matches(['#', '*', '>', ' ', '\t', '[', ']', '-', '_'])
        .is_empty()
}

fn is_word_start(text: &str, start: usize) -> bool {
    let first = text.as_bytes()[start];
    let before = text[..start].chars().next_back();
    !first.is_ascii_alphanumeric() || !before.is_some_and(char::is_alphanumeric)
}

/// Returns `true` if all words of a hint are here. The patterns check that too,
/// but compiling one takes a hook longer than skipping "done" for "do not".
fn starts_with_hint(text: &str, hint: &str) -> bool {
    if !hint.starts_with(char::is_alphabetic) {
        return true;
    }
    let mut rest = text;
    for (nth, word) in hint.trim_end().split(' ').enumerate() {
        if nth > 0 {
            rest = rest.trim_start_matches(|c| !char::is_alphanumeric(c));
        }
        match rest.strip_prefix(word) {
            Some(behind) => rest = behind,
            None => return false,
        }
    }
    !rest.starts_with(char::is_alphabetic)
}

fn rule_pattern(rule: usize) -> &'static Regex {
    ORDER_HINTS.compiled_pattern(rule, || {
        ORDER_RULES[rule].pattern.replace('~', WORD_SEPARATOR)
    })
}

static ORDER_HINTS: LazyLock<HintTable> = LazyLock::new(|| {
    // Words may be apart by more than a space: the first one is looked for.
    let first_word = |hint: &&'static str| match hint.split_once(' ') {
        Some((first, _)) if first.len() > 1 && hint.starts_with(char::is_alphabetic) => first,
        _ => *hint,
    };
    let rules = ORDER_RULES.iter();
    HintTable::new(
        false,
        rules.map(|it| it.hints.iter().map(first_word).collect()),
    )
});

/// A text folded for comparison: in lower case, without characters that cannot
/// be seen, and with letters that only look like Latin ones replaced by these.
struct FoldedText {
    text: String,
    /// Where each character begins, here and in the original; none where the
    /// places are the same.
    places: Option<Vec<(usize, usize)>>,
}

impl FoldedText {
    fn of(text: &str) -> FoldedText {
        // Most texts: folding moves no character.
        if text.is_ascii() {
            return FoldedText {
                text: text.to_ascii_lowercase(),
                places: None,
            };
        }
        let mut folded = String::with_capacity(text.len());
        let mut places = Vec::new();
        let mut same = true;
        for (at, c) in text.char_indices() {
            if c.is_ascii() {
                if !same || folded.len() != at {
                    places.push((folded.len(), at));
                    same = folded.len() == at;
                }
                folded.push(c.to_ascii_lowercase());
                continue;
            }
            places.push((folded.len(), at));
            same = false;
            if super::hidden::is_unseen(c) {
                continue;
            }
            match latin_lookalike(c) {
                Some(letter) => folded.push(letter),
                None => folded.extend(std::iter::once(c).nfkc().flat_map(char::to_lowercase)),
            }
        }
        FoldedText {
            text: folded,
            places: Some(places),
        }
    }

    fn original_span(&self, span: Range<usize>) -> Range<usize> {
        let Some(places) = &self.places else {
            return span;
        };
        // The last place at or before: what follows it moved along.
        let of = |at: usize| {
            let index = places.partition_point(|(here, _)| *here <= at);
            match index.checked_sub(1).map(|index| places[index]) {
                Some((here, there)) => there + (at - here),
                None => at,
            }
        };
        of(span.start)..of(span.end)
    }
}

/// Returns the Latin letter that a letter of another alphabet looks like.
fn latin_lookalike(c: char) -> Option<char> {
    Some(match c {
        'а' | 'А' | 'α' | 'Α' => 'a',
        'е' | 'Е' | 'ё' | 'ε' | 'Ε' => 'e',
        'о' | 'О' | 'ο' | 'Ο' => 'o',
        'р' | 'Р' | 'ρ' | 'Ρ' => 'p',
        'с' | 'С' => 'c',
        'у' | 'У' | 'υ' | 'Υ' => 'y',
        'х' | 'Х' | 'χ' | 'Χ' => 'x',
        'і' | 'І' | 'ι' | 'Ι' | 'ı' => 'i',
        'ѕ' | 'Ѕ' => 's',
        'ј' | 'Ј' => 'j',
        'ԁ' => 'd',
        'ɡ' => 'g',
        'һ' | 'Η' => 'h',
        'Τ' | 'Т' | 'т' => 't',
        'Ν' => 'n',
        'М' | 'Μ' => 'm',
        '‘' | '’' => '\'',
        '“' | '”' => '"',
        '‑' | '–' | '—' => '-',
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        _ => return None,
    })
}

#[cfg(test)]
mod tests;
