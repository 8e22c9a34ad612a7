//! Which parts of a file that agents load are rules. The heading above a text
//! decides how much is believed of its words: under "Conventions" everything
//! is a rule unless it is a long explanation, under "Architecture" only what
//! clearly orders or forbids. In doubt a text counts as a rule, since a rule
//! that moves is lost to the agent and an explanation that stays costs tokens.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::document::{CodeBlock, Document};
use crate::knowledge::readme::find_sentence_end;

use super::line_span;

/// Subject of a section, by its heading.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SectionRole {
    /// How to work: rules, conventions, reviews.
    Rules,
    /// How to build, test and run.
    Commands,
    /// How things are: structure, history, examples.
    Reference,
    Other,
}

/// Words of headings under which rules are written.
#[rustfmt::skip]
const RULE_WORDS: &[&str] = &[
    "accessibility", "anti", "antipatterns", "behavior", "behaviour", "best", "boundaries",
    "branch", "branches", "branching", "caution", "caveats", "checklist", "coding", "commit",
    "commits", "committing", "constraints", "contributing", "contribution", "contributions",
    "contributors", "convention", "conventions", "critical", "discipline", "dont", "expectations",
    "gate", "gates", "git", "gotcha", "gotchas", "guardrails", "guidance", "guideline",
    "guidelines", "handling", "important", "imports", "instruction", "instructions", "invariants",
    "limits", "logging", "mandates", "naming", "patterns", "pitfalls", "policies", "policy", "pr",
    "practice", "practices", "preferences", "principle", "principles", "privacy", "procedure",
    "procedures", "process", "protocol", "prs", "pull", "quality", "release", "releases",
    "releasing", "requirements", "review", "reviews", "role", "rule", "rules", "safety", "security",
    "standard", "standards", "strategy", "style", "tips", "tone", "verification", "verify", "versioning", "voice", "warning",
    "warnings", "workflow", "workflows",
];

/// Words of headings under which things are described.
#[rustfmt::skip]
const REFERENCE_WORDS: &[&str] = &[
    "about", "acknowledgements", "api", "apis", "appendix", "architecture", "background",
    "changelog", "component", "components", "concept", "concepts", "config", "configuration",
    "contents", "context", "credits", "data", "database", "dependencies", "deployment", "design",
    "diagram", "directories", "directory", "endpoints", "entry", "environment", "example",
    "examples", "faq", "features", "file", "files", "flow", "flows", "glossary", "history",
    "implementation", "integration", "integrations", "internals", "introduction", "layout",
    "license", "links", "map", "metrics", "mission", "model", "models", "module", "modules",
    "notes", "options", "overview", "packages", "performance", "pipeline", "purpose", "reading",
    "reference", "references", "resources", "roadmap", "routes", "samples", "schema", "services",
    "stack", "status", "structure", "structures", "summary", "support", "tech", "technologies",
    "technology", "terminology", "tree", "types", "variables", "works",
];

/// Words of headings under which people write how to build, test and run.
#[rustfmt::skip]
const COMMAND_WORDS: &[&str] = &[
    "build", "building", "builds", "check", "checks", "cli", "command", "commands", "debug",
    "debugging", "develop", "development", "format", "formatting", "install", "installation",
    "installing", "lint", "linting", "quickstart", "run", "running", "script", "scripts", "setup",
    "start", "test", "testing", "tests", "usage",
];

/// A title with more words than this is a statement, not a label.
const MAX_LABEL_WORDS: usize = 7;

/// Returns the role that a title gives, if it gives one.
fn role_of_title(title: &str) -> Option<SectionRole> {
    if orders(title) {
        return Some(SectionRole::Rules);
    }
    let words = spaced(title);
    let words: Vec<&str> = words.split_whitespace().collect();
    if words.len() > MAX_LABEL_WORDS {
        return None;
    }
    let has = |known: &[&str]| words.iter().any(|word| known.contains(word));
    if has(REFERENCE_WORDS) && !has(RULE_WORDS) {
        return Some(SectionRole::Reference);
    }
    // "Commit commands" is read for its commands, "Testing rules" for its rules.
    match (has(COMMAND_WORDS), has(RULE_WORDS)) {
        (_, true) => Some(SectionRole::Rules),
        (true, false) => Some(SectionRole::Commands),
        (false, false) => None,
    }
}

/// Returns the role of each section: its own, or that of the nearest heading
/// above which has one. The title of the whole file gives none.
pub(super) fn section_roles(document: &Document) -> Vec<SectionRole> {
    let mut roles: Vec<SectionRole> = Vec::new();
    for (index, section) in document.sections.iter().enumerate() {
        let is_title = section.level == 1 && has_children(document, index);
        let own = match section.level {
            0 => None,
            _ if is_title => None,
            _ => role_of_title(&section.title),
        };
        let inherited = section.parent.and_then(|parent| roles.get(parent).copied());
        roles.push(own.or(inherited).unwrap_or(SectionRole::Other));
    }
    roles
}

fn has_children(document: &Document, index: usize) -> bool {
    let mut sections = document.sections.iter();
    sections.any(|section| section.parent == Some(index))
}

/// A paragraph, a list item, a row of a table, or another run of lines that is
/// read as one.
pub(super) struct RuleItem {
    pub(super) lines: Range<usize>,
    text: String,
    /// The indentation of the list that it is an item of, and where that list
    /// begins.
    list: Option<(usize, usize)>,
    /// Whether that list has numbers.
    is_step: bool,
    /// The item of a list around this one.
    parent: Option<usize>,
    /// Where the table begins that it is a row of.
    table: Option<usize>,
    role: SectionRole,
}

/// A list while its lines are read.
#[derive(Clone, Copy)]
struct OpenList {
    indent: usize,
    /// The line that it begins at.
    start: usize,
    /// Its latest item.
    latest: usize,
    /// The number of that item.
    number: Option<u32>,
}

/// Returns the number of "2. Build".
fn list_number(text: &str) -> Option<u32> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    text[..end].parse().ok()
}

/// Returns the text of a document in items, without front matter, code and
/// headings.
pub(super) fn items(document: &Document, roles: &[SectionRole]) -> Vec<RuleItem> {
    let mut items: Vec<RuleItem> = Vec::new();
    let mut is_open = false;
    let mut lists: Vec<OpenList> = Vec::new();
    // Numbered lists of this section that a paragraph may have interrupted.
    let mut steps: Vec<OpenList> = Vec::new();
    let headings = heading_lines(document);
    let code = code_lines(document);
    let mut section = 0;
    for index in 0..document.line_starts.len() {
        let span = line_span(document, index);
        while document
            .sections
            .get(section + 1)
            .is_some_and(|next| next.heading.start <= span.start)
        {
            section += 1;
        }
        let raw = document.span_text(&span);
        let text = raw.trim_start_matches('\u{feff}').trim();
        let is_skipped = code[index] || span.end <= document.body.start;
        if text.is_empty() || is_skipped || headings[index] {
            is_open = false;
            if headings[index] {
                lists.clear();
                steps.clear();
            }
            continue;
        }
        let indent = raw.len() - raw.trim_start().len();
        let is_marker = is_list_marker(text);
        if is_marker {
            lists.retain(|list| list.indent <= indent);
            let number = list_number(text);
            let is_same = |list: &OpenList| {
                list.indent == indent && list.number.is_some() == number.is_some()
            };
            if !lists.last().is_some_and(is_same) {
                lists.retain(|list| list.indent < indent);
                // "2." behind a paragraph goes on where "1." ended.
                let begun = steps
                    .iter()
                    .rfind(|list| is_same(list) && list.number.map(|it| it + 1) == number);
                let start = begun.map_or(index, |list| list.start);
                lists.push(OpenList {
                    indent,
                    start,
                    latest: items.len(),
                    number,
                });
            }
            if let Some(list) = lists.last_mut() {
                list.number = number;
                if number.is_some() {
                    steps.retain(|it| it.start != list.start);
                    steps.push(*list);
                }
            }
        } else if !is_open && indent == 0 {
            lists.clear();
        }
        let is_row = text.starts_with('|');
        let begins = is_marker || is_row;
        match items.last_mut().filter(|_| is_open && !begins) {
            Some(item) => {
                item.lines.end = index + 1;
                item.text.push(' ');
                item.text
                    .push_str(text.trim_start_matches('>').trim_start());
            }
            None => {
                let above = if is_marker {
                    lists.len().checked_sub(2)
                } else {
                    // A paragraph below an item belongs to it.
                    lists.len().checked_sub(1).filter(|_| indent > 0)
                };
                let table = items.last().filter(|_| is_row && is_open);
                items.push(RuleItem {
                    lines: index..index + 1,
                    text: text.trim_start_matches('>').trim_start().to_owned(),
                    list: lists
                        .last()
                        .filter(|_| is_marker)
                        .map(|list| (list.indent, list.start)),
                    is_step: is_marker && list_number(text).is_some(),
                    parent: above.map(|it| lists[it].latest),
                    table: is_row.then(|| table.and_then(|it| it.table).unwrap_or(index)),
                    role: roles.get(section).copied().unwrap_or(SectionRole::Other),
                });
            }
        }
        if is_marker && let Some(list) = lists.last_mut() {
            list.latest = items.len() - 1;
        }
        is_open = true;
    }
    items
}

/// Returns for each line whether it is part of a block of code. A line that
/// begins with a name in code is none.
pub(super) fn code_lines(document: &Document) -> Vec<bool> {
    let mut lines = vec![false; document.line_starts.len()];
    for code in document.code.iter().filter(|it| !it.span.is_empty()) {
        let (first, last) = document.line_range(&code.span);
        lines[first - 1..last].fill(true);
    }
    lines
}

fn heading_lines(document: &Document) -> Vec<bool> {
    let mut lines = vec![false; document.line_starts.len()];
    for section in document.sections.iter().filter(|it| it.level > 0) {
        let (first, last) = document.line_range(&section.heading);
        lines[first - 1..last].fill(true);
    }
    lines
}

/// The items of each list, and the rows of each table.
fn item_groups(items: &[RuleItem]) -> Vec<Vec<usize>> {
    let mut groups: BTreeMap<(usize, usize, bool), Vec<usize>> = BTreeMap::new();
    for (at, item) in items.iter().enumerate() {
        let key = match (item.list, item.table) {
            (Some((indent, start)), _) => (start, indent, true),
            (None, Some(start)) => (start, 0, false),
            (None, None) => continue,
        };
        groups.entry(key).or_default().push(at);
    }
    groups.into_values().collect()
}

/// Returns the item that introduces a list: the paragraph before it, or the
/// item around it.
fn introduction_of(items: &[RuleItem], group: &[usize]) -> Option<usize> {
    let first = group[0];
    let above = first.checked_sub(1)?;
    let item = &items[above];
    let is_above = item.list.is_none()
        && item.table.is_none()
        && items[first].lines.start <= item.lines.end + 1;
    if is_above && (ends_in_colon(&item.text) || announces(&item.text)) {
        return Some(above);
    }
    items[first]
        .parent
        .filter(|parent| ends_in_colon(&items[*parent].text))
}

fn ends_in_colon(text: &str) -> bool {
    text.trim_end_matches(['*', '_']).ends_with(':')
}

/// Whether a line is half of an order, whose other half is the list below it:
/// "Before any of these:".
fn is_condition(text: &str) -> bool {
    let last = sentences(plain(text)).last().unwrap_or_default();
    ends_in_colon(text) && begins_with(last, LIST_CONDITIONS)
}

/// Words that begin such a line.
const LIST_CONDITIONS: &[&str] = &[
    "after", "before", "during", "if", "once", "unless", "until", "when", "whenever", "while",
];

/// Returns for each item whether it is a rule, or part of one: the line that
/// introduces a list of rules, the list that a rule announces, the item around
/// a rule and the items below it. Steps stay together. A list half of which are
/// rules stays whole; of another one only rules stay that read alone.
pub(super) fn find_rules(items: &[RuleItem]) -> Vec<bool> {
    let mut rules: Vec<bool> = items.iter().map(is_rule).collect();
    for at in (0..items.len()).rev() {
        if let Some(parent) = items[at]
            .parent
            .filter(|_| rules[at] && items[at].list.is_none())
        {
            rules[parent] = true;
        }
    }
    // From the inside: what stays of a list keeps the item around it.
    for group in item_groups(items).iter().rev() {
        if items[group[0]].table.is_some() {
            choose_rows(items, group, &mut rules);
        } else {
            choose_items(items, group, &mut rules);
        }
        for at in group {
            if let Some(parent) = items[*at].parent.filter(|_| rules[*at]) {
                rules[parent] = true;
            }
        }
    }
    // The details of a rule stay with it. In a description an item that
    // stays for one below it does not keep the others.
    for at in 0..items.len() {
        let Some(parent) = items[at].parent else {
            continue;
        };
        let is_meant = items[at].role != SectionRole::Reference
            || is_rule(&items[parent])
            || items[parent].is_step;
        rules[at] |= rules[parent] && is_meant;
    }
    rules
}

/// Decides what stays of a table. Rows without the others are no table.
fn choose_rows(items: &[RuleItem], group: &[usize], rules: &mut [bool]) {
    let introduction = introduction_of(items, group);
    let ordering = group.iter().filter(|at| rules[**at]).count();
    let stays = ordering > group.len() / 2
        || introduction.is_some_and(|at| rules[at])
        || group.iter().any(|at| orders(&items[*at].text))
        || has_imperative(&items[group[0]]);
    group.iter().for_each(|at| rules[*at] = stays);
    if let Some(at) = introduction.filter(|at| stays && ends_in_colon(&items[*at].text)) {
        rules[at] = true;
    }
}

/// Decides what stays of a list.
fn choose_items(items: &[RuleItem], group: &[usize], rules: &mut [bool]) {
    let introduction = introduction_of(items, group);
    let is_announced = introduction.is_some_and(|at| {
        let item = &items[at];
        is_rule(item) || is_condition(&item.text)
    });
    let holds = |at: &usize| rules[*at];
    // An item that stays for one below it is no rule itself.
    let ordering = group.iter().filter(|at| is_rule(&items[**at])).count();
    let has_rules = ordering * 2 >= group.len() && (ordering > 1 || group.len() == 1);
    let is_mere_hint = |at: &usize| is_rule(&items[*at]) && is_hint(&items[*at]);
    let has_strong = group.iter().any(|at| holds(at) && !is_mere_hint(at));
    let is_torn = group.iter().any(|at| {
        let item = &items[*at];
        // "Never edit it" is about what the line above the list names.
        let is_alone = introduction.is_none() && reads_alone(item);
        holds(at) && !is_mere_hint(at) && is_rule(item) && !is_alone
    });
    let is_step = items[group[0]].is_step;
    let stays = is_announced || has_rules || is_torn || is_step && has_strong;
    if !stays {
        group
            .iter()
            .filter(|at| is_mere_hint(at))
            .for_each(|at| rules[*at] = false);
        return;
    }
    group.iter().for_each(|at| rules[*at] = true);
    if let Some(at) = introduction.filter(|at| ends_in_colon(&items[*at].text)) {
        rules[at] = true;
    }
}

/// Returns what stays together: the lines of an item, numbered steps with what
/// is below them, a list half of which stays, and a list with the line that
/// introduces it.
pub(super) fn line_groups(items: &[RuleItem]) -> Vec<LineGroup> {
    let mut groups = Vec::new();
    for item in items {
        groups.push(LineGroup {
            keeper: GroupKeeper::Any,
            parts: vec![item.lines.clone()],
        });
    }
    for group in item_groups(items) {
        let lines = |at: &usize| items[*at].lines.clone();
        if items[group[0]].is_step {
            let mut parts: Vec<Range<usize>> = group.iter().map(lines).collect();
            // What is below an item follows it.
            let mut within = BTreeSet::from([group[0]]);
            for (at, item) in items.iter().enumerate().skip(group[0] + 1) {
                if item.parent.is_some_and(|it| within.contains(&it)) {
                    parts.push(item.lines.clone());
                    within.insert(at);
                } else if group.binary_search(&at).is_ok() {
                    within.insert(at);
                } else if group.last().is_some_and(|last| *last < at) {
                    break;
                }
            }
            groups.push(LineGroup {
                keeper: GroupKeeper::Any,
                parts,
            });
        } else if items[group[0]].list.is_some() {
            groups.push(LineGroup {
                keeper: GroupKeeper::Half,
                parts: group.iter().map(lines).collect(),
            });
        }
        let introduction = introduction_of(items, &group);
        if let Some(at) = introduction.filter(|at| ends_in_colon(&items[*at].text)) {
            let parts = std::iter::once(&at).chain(&group).map(lines).collect();
            groups.push(LineGroup {
                keeper: GroupKeeper::First,
                parts,
            });
        }
    }
    groups
}

/// Lines that stay together.
pub(super) struct LineGroup {
    keeper: GroupKeeper,
    pub(super) parts: Vec<Range<usize>>,
}

/// What keeps all parts of a group.
enum GroupKeeper {
    /// Any part.
    Any,
    /// The first part.
    First,
    /// Half of the parts, but not one alone.
    Half,
}

impl LineGroup {
    /// Whether all parts stay where these lines do.
    pub(super) fn stays(&self, lines: &[bool]) -> bool {
        let is_kept = |part: &&Range<usize>| lines[(*part).clone()].contains(&true);
        match self.keeper {
            GroupKeeper::Any => self.parts.iter().any(|part| is_kept(&part)),
            GroupKeeper::First => self.parts.first().is_some_and(|part| is_kept(&part)),
            GroupKeeper::Half => {
                let kept = self.parts.iter().filter(is_kept).count();
                kept > 1 && kept * 2 >= self.parts.len()
            }
        }
    }
}

/// Whether the title of a section is that of a step: "Step 2: Build".
pub(super) fn is_step_title(title: &str) -> bool {
    let words = spaced(title);
    let mut words = words.split_whitespace();
    let is_name = words
        .next()
        .is_some_and(|it| matches!(it, "step" | "phase" | "stage"));
    is_name && words.next().is_some_and(|it| it.parse::<u32>().is_ok())
}

/// Returns `true` if a column of a table contains instructions.
fn has_imperative(header: &RuleItem) -> bool {
    let mut cells = header.text.split('|');
    // "Call" alone is the name of a column.
    cells.any(|cell| cell.trim().contains(' ') && begins_with(cell, CLEAR_IMPERATIVES))
}

/// Returns `true` if a paragraph announces rules.
fn announces(text: &str) -> bool {
    let words = spaced(text);
    ["these are", "the following", "non negotiable", "rules"]
        .iter()
        .any(|it| words.contains(&format!(" {it} ")))
}

pub(super) fn is_list_marker(text: &str) -> bool {
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    text.starts_with("- ")
        || text.starts_with("* ")
        || text.starts_with("+ ")
        || text.starts_with("• ")
        || digits.len() < text.len() && (digits.starts_with(". ") || digits.starts_with(") "))
}

/// Words that order or forbid wherever they are.
#[rustfmt::skip]
const ORDERS: &[&str] = &[
    "always", "never", "must", "mustn't", "shall", "don't", "forbidden", "prohibited", "mandatory",
    "do not", "may not", "not allowed", "make sure", "non negotiable", "be sure", "at all times",
    "under no circumstances", "no exceptions", "strictly", "need to", "needs to", "have to",
    "has to", "ought to", "cannot be", "can't be", "shouldn't", "should not", "refuse",
    "be careful", "not permitted", "disallowed", "banned", "only when", "only if", "only after",
    "is required", "are required", "needs", "must not", "should",
];

/// Words that do so in a short item, and that explanations use too.
#[rustfmt::skip]
const ORDERS_IN_SHORT: &[&str] = &[
    "only", "required", "requires", "require", "avoid", "ensure", "prefer", "preferred", "should",
    "instead of", "rather than", "at least", "at most", "no more than", "maximum", "minimum",
    "cannot", "can't", "not", "no", "without", "unless", "expected", "recommended", "recommend",
    "important", "critical", "careful", "threshold", "consistent", "convention", "conventions",
    "and not", "go in", "goes in", "live in", "belongs", "belong", "default to", "invoke",
];

/// The ones among them that descriptions use more often than rules. A list of
/// descriptions may hold them.
#[rustfmt::skip]
const HINTS: &[&str] = &[
    "require", "requires", "maximum", "minimum", "not", "no", "without", "expected", "threshold",
    "consistent", "convention", "conventions", "and not", "at least", "at most", "live in",
    "default to", "careful", "important", "critical",
];

/// First words of sentences that give an order.
#[rustfmt::skip]
const IMPERATIVES: &[&str] = &[
    "accept", "add", "adhere", "aim", "allow", "annotate", "answer", "append", "apply", "ask",
    "assert", "assign", "assume", "attach", "audit", "avoid", "be", "begin", "break", "bring",
    "build", "bump", "call", "capture", "catch", "challenge", "change", "check", "choose", "cite",
    "clean", "clear", "clone", "close", "co", "combine", "comment", "commit", "compare", "complete",
    "compose", "configure", "confirm", "consider", "consult", "continue", "convert", "copy",
    "cover", "create", "debug", "declare", "default", "define", "delegate", "delete", "deploy",
    "describe", "design", "disable", "disclose", "discuss", "do", "document", "double", "drop",
    "edit", "embed", "enable", "encode", "end", "enforce", "ensure", "escape", "evaluate",
    "examine", "execute", "explain", "explore", "export", "expose", "extend", "extract", "fail",
    "favor", "favour", "fetch", "fill", "find", "finish", "fix", "flag", "focus", "follow", "force",
    "fork", "format", "generate", "get", "give", "go", "group", "guard", "handle", "have", "hide",
    "honor", "identify", "ignore", "implement", "import", "include", "increment", "inform",
    "inherit", "inject", "inline", "insert", "inspect", "install", "invoke", "isolate", "iterate",
    "keep", "know", "label", "launch", "learn", "leave", "let", "leverage", "limit", "link", "list",
    "load", "log", "look", "maintain", "make", "mark", "match", "measure", "merge", "minimise",
    "minimize", "mirror", "mock", "monitor", "move", "name", "note", "notify", "offer", "omit",
    "only", "open", "optimize", "order", "organize", "override", "parse", "pass", "paste", "pay",
    "perform", "pick", "pin", "place", "plan", "point", "prefer", "prefix", "prepare", "present",
    "preserve", "prevent", "prioritize", "proceed", "propose", "provide", "publish", "pull", "push",
    "put", "query", "quote", "raise", "re", "read", "rebase", "rebuild", "recommend", "record",
    "reduce", "refactor", "refer", "reference", "regenerate", "register", "reject", "release",
    "rely", "remember", "remove", "rename", "reopen", "repeat", "replace", "reply", "report",
    "reproduce", "request", "require", "reset", "resolve", "respect", "respond", "restart",
    "restore", "restrict", "return", "reuse", "revert", "review", "rewrite", "run", "sanitize",
    "save", "scan", "scope", "search", "see", "select", "send", "separate", "set", "share", "show",
    "sign", "simplify", "skip", "sort", "specify", "split", "squash", "stage", "start", "state",
    "stay", "stick", "stop", "store", "stub", "submit", "suggest", "summarize", "switch", "sync",
    "tag", "take", "tell", "test", "think", "throw", "track", "translate", "treat", "trust", "try",
    "type", "understand", "update", "upgrade", "use", "utilize", "validate", "verify", "visit",
    "wait", "watch", "work", "wrap", "write",
];

/// The ones among them that are also nouns; an object after them makes an order.
#[rustfmt::skip]
const NOUNS_AS_WELL: &[&str] = &[
    "answer", "audit", "branch", "break", "build", "change", "clone", "comment", "commit",
    "convert", "cover", "debug", "default", "design", "display", "document", "double", "edit",
    "embed", "end", "exercise", "export", "fail", "fetch", "flag", "focus", "force", "fork",
    "format", "group", "guard", "import", "increment", "input", "label", "launch", "limit", "link",
    "list", "load", "log", "mark", "match", "measure", "mock", "monitor", "name", "note", "order",
    "override", "parse", "pass", "plan", "point", "prefix", "present", "process", "query", "quote",
    "record", "reference", "release", "report", "request", "review", "run", "scan", "scope",
    "search", "separate", "set", "share", "show", "sign", "sort", "stage", "state", "store", "stub",
    "support", "switch", "sync", "tag", "test", "track", "trust", "type", "upgrade", "watch",
    "work", "wrap",
];

/// Words that begin the object of a verb.
#[rustfmt::skip]
const OBJECTS: &[&str] = &[
    "a", "after", "all", "an", "and", "any", "as", "at", "before", "both", "by", "changes", "code",
    "conventional", "each", "errors", "every", "existing", "explicit", "explicitly", "files", "for",
    "from", "if", "in", "it", "its", "new", "no", "not", "on", "one", "only", "or", "our", "out",
    "related", "small", "tests", "that", "the", "their", "them", "these", "this", "those", "to",
    "until", "up", "user", "users", "when", "whether", "with", "without", "your", "yourself",
];

/// The ones among them that rarely begin a description.
#[rustfmt::skip]
const CLEAR_IMPERATIVES: &[&str] = &[
    "add", "ask", "avoid", "be", "bump", "call", "check", "commit", "confirm", "consult", "create",
    "delete", "do", "document", "ensure", "extend", "follow", "honor", "include", "keep", "leave",
    "make", "match", "never", "only", "place", "prefer", "preserve", "put", "read", "refer",
    "register", "remember", "remove", "respect", "run", "see", "set", "treat", "update", "use",
    "validate", "verify", "wait", "write",
];

/// Signs that people put before what is allowed and what is not.
const PERMISSION_SIGNS: &[char] = &[
    '✅', '❌', '⚠', '🚫', '⛔', '❗', '🔴', '🛑', '✓', '✗', '✔', '✘', '‼',
];

/// An item with more words than this explains, and rules may be in it.
const MAX_SHORT_WORDS: usize = 40;

/// A paragraph among rules with more words than this, none of which orders,
/// explains them.
const MAX_RULE_WORDS: usize = 60;

/// A sentence with more words than this uses words like `only` in passing.
const MAX_PLAIN_WORDS: usize = 25;

/// Words that order in a plain sentence, wherever it is.
const PLAIN_ORDERS: &[&str] = &[
    "only",
    "required",
    "requires",
    "avoid",
    "ensure",
    "prefer",
    "preferred",
    "instead of",
    "recommended",
];

/// Whether an item as a whole orders or forbids something.
fn is_rule(item: &RuleItem) -> bool {
    if is_row_of_dashes(&item.text) {
        return false;
    }
    let text = plain(&item.text);
    if item.text.contains(PERMISSION_SIGNS)
        || is_checkbox(&item.text)
        || sentences(text).any(orders)
    {
        return true;
    }
    let is_plain = |it: &&str| it.split_whitespace().count() <= MAX_PLAIN_WORDS;
    if sentences(text)
        .filter(is_plain)
        .any(|it| has_any(it, PLAIN_ORDERS))
    {
        return true;
    }
    let words = item.text.split_whitespace().count();
    let is_short = words <= MAX_SHORT_WORDS;
    if is_short && has_command(&item.text) {
        return true;
    }
    let begins = |verbs: &[&str]| {
        sentences(text).any(|sentence| gives_order(sentence, verbs))
            || after_label(text).is_some_and(|rest| begins_with(rest, verbs))
    };
    match item.role {
        SectionRole::Rules => words <= MAX_RULE_WORDS || begins(IMPERATIVES),
        SectionRole::Reference => begins(CLEAR_IMPERATIVES),
        SectionRole::Commands | SectionRole::Other => {
            is_short && has_any(text, ORDERS_IN_SHORT) || begins(IMPERATIVES)
        }
    }
}

/// Whether an item is a rule for a word alone that descriptions have too, or
/// for a verb behind a label.
fn is_hint(item: &RuleItem) -> bool {
    if item.role == SectionRole::Rules {
        return false;
    }
    let text = plain(&item.text);
    let is_plain = |it: &&str| it.split_whitespace().count() <= MAX_PLAIN_WORDS;
    let is_order = item.text.contains(PERMISSION_SIGNS)
        || is_checkbox(&item.text)
        || sentences(text).any(|it| orders(it) || gives_order(it, IMPERATIVES))
        || after_label(text).is_some_and(|it| begins_with(it, CLEAR_IMPERATIVES));
    let is_word = |it: &&&str| !HINTS.contains(it);
    let words: Vec<&str> = ORDERS_IN_SHORT.iter().filter(is_word).copied().collect();
    let has_word = item.text.split_whitespace().count() <= MAX_SHORT_WORDS && has_any(text, &words);
    let has_plain = sentences(text)
        .filter(is_plain)
        .any(|it| has_any(it, PLAIN_ORDERS));
    !is_order && !has_word && !has_plain && !has_command(&item.text)
}

/// Whether an item of a list names a command with its arguments in code, as in
/// "Tests: `make test`". Prose mentions commands to explain them.
fn has_command(text: &str) -> bool {
    let is_command = |code: &str| {
        let mut words = code.split_whitespace();
        let is_program = words.next().is_some_and(|it| PROGRAMS.contains(&it));
        is_program && words.next().is_some()
    };
    is_list_marker(text) && text.split('`').skip(1).step_by(2).any(is_command)
}

/// Whether an item is understood without the others of its list.
fn reads_alone(item: &RuleItem) -> bool {
    let words = spaced(plain(&item.text));
    let mut words = words.split_whitespace();
    let first = words.next().unwrap_or_default();
    !REFERRING.contains(&first) && words.next().is_some()
}

/// First words of an item that is about the one before it.
#[rustfmt::skip]
const REFERRING: &[&str] = &[
    "also", "and", "both", "but", "either", "else", "finally", "it", "its", "neither", "next", "or",
    "otherwise", "same", "second", "should", "similarly", "that", "their", "then", "these", "they",
    "third", "this", "those",
];

/// Whether a sentence begins with one of these verbs, also behind a condition.
fn gives_order(sentence: &str, verbs: &[&str]) -> bool {
    let main = after_condition(sentence);
    begins_with(sentence, verbs) || main.is_some_and(|it| begins_with(it, verbs))
}

/// Returns the text after the condition of "If it fails, run it again".
fn after_condition(sentence: &str) -> Option<&str> {
    #[rustfmt::skip]
const CONDITIONS: &[&str] = &[
    "after", "as", "before", "during", "for", "if", "in", "instead", "on", "once", "rather", "to",
    "unless", "when", "whenever", "while", "with",
];
    let (_, main) = sentence.split_once(", ")?;
    let main = main.strip_prefix("please ").unwrap_or(main);
    begins_with(sentence, CONDITIONS).then_some(main)
}

fn is_row_of_dashes(text: &str) -> bool {
    text.starts_with('|') && text.chars().all(|c| matches!(c, '|' | '-' | ':' | ' '))
}

fn is_checkbox(text: &str) -> bool {
    ["- [ ] ", "* [ ] ", "- [x] "]
        .iter()
        .any(|it| text.starts_with(it))
}

/// The text of an item behind its list marker and its number.
fn plain(text: &str) -> &str {
    if !is_list_marker(text) {
        return text;
    }
    text.split_once(' ')
        .map_or(text, |(_, rest)| rest.trim_start())
}

/// Returns the text after the label of "**Tests**: write them first"; what follows a name
/// in code describes it.
fn after_label(text: &str) -> Option<&str> {
    if text.trim_start_matches(['*', '_']).starts_with('`') {
        return None;
    }
    let (at, sign) = [": ", " — ", " – ", " - ", ":** ", ":* "]
        .iter()
        .filter_map(|sign| text.find(sign).map(|at| (at, sign)))
        .min()?;
    (text[..at].split_whitespace().count() <= 6).then(|| &text[at + sign.len()..])
}

fn has_any(text: &str, known: &[&str]) -> bool {
    let words = spaced(text);
    known.iter().any(|it| words.contains(&format!(" {it} ")))
}

fn begins_with(sentence: &str, verbs: &[&str]) -> bool {
    let words = spaced(sentence);
    let is_number = |word: &str| word.bytes().all(|b| b.is_ascii_digit());
    let mut rest = words.split_whitespace().filter(|word| !is_number(word));
    let fillers = [
        "please", "first", "then", "finally", "next", "also", "just", "to",
    ];
    let Some(first) = rest.find(|word| !fillers.contains(word)) else {
        return false;
    };
    let object = rest.next();
    // "Use `x`": a name in code is an object too.
    let is_object = |word: &str| {
        OBJECTS.contains(&word)
            || words_before_code(sentence).is_some_and(|it| it <= 1)
            || sentence.ends_with(['!', '.']) && word.ends_with('s')
    };
    let has_object = object.is_none_or(is_object);
    // A path or a name in code is the subject of a description.
    let is_name = sentence.trim_start_matches(['*', '_']).starts_with('`');
    !is_name && verbs.contains(&first) && (has_object || !NOUNS_AS_WELL.contains(&first))
}

/// The number of words before the first name in code.
fn words_before_code(sentence: &str) -> Option<usize> {
    let (before, _) = sentence.split_once('`')?;
    Some(before.split_whitespace().count())
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text.trim();
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let (sentence, behind) = rest.split_at(find_sentence_end(rest).max(1));
        rest = behind.trim_start();
        Some(sentence.trim())
    })
}

/// Whether a text orders or forbids something in any place.
pub(super) fn orders(text: &str) -> bool {
    let shouts = |word: &str| {
        matches!(
            word,
            "NEVER"
                | "ALWAYS"
                | "MUST"
                | "CRITICAL"
                | "IMPORTANT"
                | "WARNING"
                | "NOT"
                | "ONLY"
                | "DO"
                | "REQUIRED"
                | "NO"
                | "STOP"
                | "BEFORE"
                | "MANDATORY"
        )
    };
    text.split(|c: char| !c.is_alphanumeric()).any(shouts) || has_any(text, ORDERS)
}

/// The words in lower case with a space around each.
fn spaced(text: &str) -> String {
    let lower = text.to_lowercase().replace('’', "'");
    // `read-only` orders nothing.
    let lower = lower.replace("-only", "").replace("always-", "");
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .map(|word| word.trim_matches('\''))
        .filter(|word| !word.is_empty())
        .collect();
    format!(" {} ", words.join(" "))
}

/// Programs whose name at the beginning of a line marks a command.
#[rustfmt::skip]
const PROGRAMS: &[&str] = &[
    "bash", "brew", "bun", "bundle", "bunx", "cargo", "cd", "cmake", "composer", "curl", "deno",
    "docker", "dotnet", "export", "gh", "git", "go", "gradle", "hatch", "just", "kubectl", "make",
    "mise", "mix", "mvn", "nix", "node", "npm", "npx", "nx", "php", "pip", "pip3", "pnpm", "poetry",
    "pre-commit", "pytest", "python", "python3", "rails", "rake", "ruff", "rustup", "sbt", "source",
    "sudo", "swift", "task", "terraform", "tox", "tsc", "turbo", "uv", "uvx", "xcodebuild", "yarn",
];

/// Whether code is a command for a shell.
pub(super) fn is_shell(document: &Document, code: &CodeBlock) -> bool {
    let mut lines = document.span_text(&code.span).lines().map(str::trim);
    let is_command = |line: &str| {
        let line = line.strip_prefix("$ ").unwrap_or(line);
        let program = line.split_whitespace().next().unwrap_or_default();
        PROGRAMS.contains(&program) || program.starts_with("./")
    };
    let language = code.language.to_lowercase();
    match language.as_str() {
        "bash" | "sh" | "shell" | "zsh" | "console" | "fish" | "powershell" | "ps1" | "bat"
        | "cmd" | "terminal" | "shellscript" => {
            lines.any(|line| !line.is_empty() && !line.starts_with(['#', '`', '~']))
        }
        "" | "text" | "txt" => code.fenced && !is_tree(document, code) && lines.any(is_command),
        _ => false,
    }
}

/// Whether code draws folders and files, or boxes and arrows.
pub(super) fn is_tree(document: &Document, code: &CodeBlock) -> bool {
    document
        .span_text(&code.span)
        .contains(['├', '└', '│', '┌', '▼', '→', '┐'])
}

/// A block of code with more lines than this is an example, also where a rule
/// introduces it.
const MAX_SHORT_CODE: usize = 15;

/// Whether code belongs to the rules of its section: a form that they
/// prescribe, or lines that order something.
pub(super) fn is_rule_code(
    document: &Document,
    code: &CodeBlock,
    role: SectionRole,
    is_introduced: bool,
) -> bool {
    if is_tree(document, code) && role != SectionRole::Rules {
        return false;
    }
    let text = document.span_text(&code.span);
    let lines = text.lines().count();
    let is_form = is_introduced && lines <= MAX_SHORT_CODE && role != SectionRole::Reference;
    let is_prose = matches!(
        code.language.as_str(),
        "" | "text" | "txt" | "markdown" | "md"
    );
    let has_order = text.lines().any(|line| {
        let comment = line.trim_start();
        let is_comment = comment.starts_with(['#', '/', '*', '-', ';']) || comment.contains("//");
        (is_comment || is_prose) && (orders(line) || line.contains(PERMISSION_SIGNS))
    });
    is_form || has_order || role == SectionRole::Rules && lines <= MAX_SHORT_CODE
}
