//! Which memory is brought before an action, without a request: an item whose
//! key matches the action, and otherwise nothing. Keys come from evidence and
//! from documents that state what they apply to. Similarity never decides here:
//! no threshold of it is right often enough. A prompt that is a question is the
//! one exception: a search answers it with a confidence that was measured.

mod decide;
mod fit;
mod gone;
mod keys;
mod pointer;
mod pushes;
mod question;
mod sentence;
mod solved;

pub use decide::{ActionSurroundings, PushChoice, choose_item, is_path_pattern};
pub use keys::{KeyTable, PushKey, command_form, refusal_forms};
pub use pointer::AnswerPointer;
pub use pushes::{
    OutcomeRecord, PUSHES_FILE, PushLog, PushOutcome, PushRecord, PushStanding, PushSubject,
    judge_outcome,
};
pub use question::find_question;
pub use sentence::PushItem;
pub use solved::solved_item;

/// The file of known keys, which a hook reads whole before every action.
pub const KEYS_FILE: &str = ".mind/evidence/keys.jsonl";
/// Maximum bytes of that file.
pub const MAX_KEYS_BYTES: usize = 64 << 10;
/// Maximum tokens of an item, by the estimate that needs no vocabulary.
pub const MAX_PUSH_TOKENS: usize = 60;
/// Maximum characters of a rule that are kept; less of it is shown.
pub const MAX_RULE_CHARS: usize = 200;
