//! Writes the plugin through which OpenCode reports its events, because its
//! settings have no hooks. The file is ours as a whole; one that was edited
//! belongs to the user, and stays.

use super::hooks::Program;

const SOURCE: &str = include_str!("../../../../plugin/opencode/memory-forge.js");
const MARK: &str = "const program = \"memory-forge\"";

/// Returns the text of the plugin's file.
pub(super) fn text(program: &Program) -> String {
    let word = serde_json::Value::String(program.word().to_owned());
    SOURCE.replacen(MARK, &format!("const program = {word}"), 1)
}

/// Returns `true` if this is the plugin as some `setup` wrote it.
pub(super) fn is_ours(found: &str) -> bool {
    program_of(found).is_some()
}

/// Returns the program that a plugin of ours calls.
pub(super) fn program_of(found: &str) -> Option<String> {
    let program = found.lines().find_map(|line| {
        let value = line.strip_prefix("const program = ")?;
        serde_json::from_str::<String>(value).ok()
    })?;
    (found == text(&Program::At(program.clone()))).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_can_be_any_path() {
        for program in [
            Program::OnPath,
            Program::At("/a \"b\"\\memory-forge".to_owned()),
        ] {
            let text = text(&program);
            assert!(is_ours(&text), "{text}");
            assert!(!is_ours(&format!("{text}// mine\n")));
        }
        assert!(!is_ours("export const x = 1\n"));
    }
}
