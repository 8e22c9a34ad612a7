//! Writes the plugin through which OpenCode reports its events, because its
//! settings have no hooks. The file is ours as a whole; one that was edited
//! belongs to the user, and stays.

use super::hooks::ProgramPath;

const PLUGIN_SOURCE: &str = include_str!("../../../../plugin/opencode/memory-forge.js");
const PROGRAM_LINE: &str = "const program = \"memory-forge\"";

/// Returns the text of the plugin's file.
pub(super) fn plugin_text(program: &ProgramPath) -> String {
    let word = serde_json::Value::String(program.as_word().to_owned());
    PLUGIN_SOURCE.replacen(PROGRAM_LINE, &format!("const program = {word}"), 1)
}

/// Returns `true` if this is the plugin as some `setup` wrote it.
pub(super) fn is_our_plugin(found: &str) -> bool {
    plugin_program(found).is_some()
}

/// Returns the program that a plugin of ours calls.
pub(super) fn plugin_program(found: &str) -> Option<String> {
    let program = found.lines().find_map(|line| {
        let value = line.strip_prefix("const program = ")?;
        serde_json::from_str::<String>(value).ok()
    })?;
    (found == plugin_text(&ProgramPath::At(program.clone()))).then_some(program)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_program_can_be_any_path() {
        for program in [
            ProgramPath::OnPath,
            ProgramPath::At("/a \"b\"\\memory-forge".to_owned()),
        ] {
            let text = plugin_text(&program);
            assert!(is_our_plugin(&text), "{text}");
            assert!(!is_our_plugin(&format!("{text}// mine\n")));
        }
        assert!(!is_our_plugin("export const x = 1\n"));
    }
}
