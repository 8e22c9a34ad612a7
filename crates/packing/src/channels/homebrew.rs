//! Homebrew: a formula that fetches the archive of the system.

use super::{Archive, Published};
use crate::table::{HOMEPAGE, Program, VERSION};

/// Returns the formula of a program, for the systems that have an archive.
pub(crate) fn formula(program: &Program, archives: &[&Archive<'_>]) -> Published {
    let name = program.name;
    let class: String = name.split('-').map(capitalize).collect();
    let mut platforms = String::new();
    for system in ["on_macos", "on_linux"] {
        let mut blocks = String::new();
        for archive in archives {
            let Some((on, processor)) = archive.target.homebrew() else {
                continue;
            };
            if on == system {
                blocks += &format!(
                    "    {processor} do\n      url \"{}\"\n      sha256 \"{}\"\n    end\n",
                    archive.address(),
                    archive.sum
                );
            }
        }
        if !blocks.is_empty() {
            platforms += &format!("  {system} do\n{blocks}  end\n\n");
        }
    }
    let (install, test) = if program.has_commands {
        (
            format!(
                "    bin.install \"{name}\"\n    \
                 bash_completion.install \"completions/{name}.bash\" => \"{name}\"\n    \
                 zsh_completion.install \"completions/_{name}\"\n    \
                 fish_completion.install \"completions/{name}.fish\"\n    \
                 man1.install Dir[\"man/*.1\"]\n    \
                 pkgshare.install Dir[\"{name}.sums*\"]\n"
            ),
            format!(
                "    (testpath/\"knowledge/tides.md\").write \"# Tides\\n\\nHigh water at noon.\\n\"\n    \
                 assert_match \"knowledge/tides.md\", shell_output(\"#{{bin}}/{name} search noon --mode text\")\n"
            ),
        )
    } else {
        (
            format!("    bin.install \"{name}\"\n"),
            format!("    assert_match version.to_s, shell_output(\"#{{bin}}/{name} --version\")\n"),
        )
    };
    // Homebrew's rules for a description: no article, at most 80 characters.
    let summary = program.summary.trim_start_matches("The ");
    let summary: String = capitalize(summary.split(", kept").next().unwrap_or(summary));
    let text = format!(
        "class {class} < Formula\n  desc \"{summary}\"\n  homepage \"{HOMEPAGE}\"\n  \
         version \"{VERSION}\"\n  license any_of: [\"MIT\", \"Apache-2.0\"]\n\n{platforms}  \
         def install\n{install}  end\n\n  test do\n{test}  end\nend\n"
    );
    (format!("{name}.rb"), text.into_bytes())
}

fn capitalize(word: &str) -> String {
    let mut letters = word.chars();
    match letters.next() {
        Some(first) => first.to_uppercase().chain(letters).collect(),
        None => String::new(),
    }
}
