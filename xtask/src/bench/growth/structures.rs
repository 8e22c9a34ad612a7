//! Inputs that look like files as people write them, only longer: decisions,
//! tasks, sessions, rows, links, tables, and many files.

use std::fmt::Write as _;

use super::patterns::{Layout, Pattern, Place, repeat};

/// Lines made from their number, up to so many bytes.
fn lines(bytes: usize, one: impl Fn(&mut String, usize)) -> String {
    let mut out = String::new();
    let mut at = 0;
    while out.len() < bytes {
        one(&mut out, at);
        at += 1;
    }
    out
}

macro_rules! each {
    ($($format:tt)*) => {
        move |bytes| lines(bytes, |out, i| {
            let _ = i;
            let _ = write!(out, $($format)*, i = i);
        })
    };
}

/// Inputs that look like real files, only longer.
pub(super) fn all() -> Vec<Pattern> {
    use Layout::{Manifest, Mind};
    use Place::{Everywhere, File, Files};
    const DOCUMENT: Place = File("knowledge/tides.md");
    let front = |key: &'static str, item: &'static str| {
        move |bytes: usize| {
            let values = repeat(item, bytes / 2);
            let text = repeat(
                "A paragraph of words that goes on for a while.\n\n",
                bytes / 2,
            );
            format!("//- knowledge/front.md\n---\n{key}: {values}\n---\n\n{text}")
        }
    };
    let headed = |mark: &'static str| {
        move |bytes: usize| {
            let title = repeat("word ", bytes / 2);
            let text = repeat(
                "A paragraph of words that goes on for a while.\n\n",
                bytes / 2,
            );
            format!("\n\n{mark} {title}\n\n{text}")
        }
    };
    vec![
        Pattern::new("long heading", Mind, DOCUMENT, headed("#")),
        Pattern::new("long subheading", Manifest, DOCUMENT, headed("###")),
        Pattern::new("long title", Mind, Files, front("title", "word ")),
        Pattern::new("long name", Mind, Files, front("name", "word ")),
        Pattern::new("long tags", Mind, Files, |bytes| {
            let tags = lines(bytes / 2, |out, i| {
                let _ = write!(out, "tag{i}, ");
            });
            let text = repeat(
                "A paragraph of words that goes on for a while.\n\n",
                bytes / 2,
            );
            format!("//- knowledge/front.md\n---\ntags: [{tags}a]\n---\n\n{text}")
        }),
        Pattern::new("long aliases", Mind, Files, |bytes| {
            let names = lines(bytes / 2, |out, i| {
                let _ = writeln!(out, "  - alias {i}");
            });
            let text = repeat(
                "A paragraph of words that goes on for a while.\n\n",
                bytes / 2,
            );
            format!("//- knowledge/front.md\n---\naliases:\n{names}---\n\n{text}")
        }),
        Pattern::new("long line in a heading", Mind, DOCUMENT, |bytes| {
            format!("\n\n# {}\n", repeat("x", bytes))
        }),
        Pattern::new(
            "deep headings",
            Mind,
            Everywhere,
            each!("# A{i}\n## B{i}\n### C{i}\n#### D{i}\n##### E{i}\n###### F{i}\nword {i}\n"),
        ),
        Pattern::new(
            "sections with comments",
            Mind,
            Everywhere,
            each!("## Part {i}\n<!-- remark {i} -->\nword {i}\n\n"),
        ),
        Pattern::new("headings below a long one", Mind, Everywhere, |bytes| {
            let title = repeat("word ", bytes / 2);
            let below = lines(bytes / 2, |out, i| {
                let _ = write!(out, "## Part {i}\n\n- [ ] Task {i}\n\n");
            });
            format!("\n\n# {title}\n\n{below}")
        }),
        Pattern::new("rows below a long one", Manifest, Everywhere, |bytes| {
            let word = repeat("x", bytes / 2);
            let rows = repeat("| [[beans]] | b |\n", bytes / 2);
            format!("\n\n## Tier 2\n\n### {word}\n\n| {word} | b |\n|---|---|\n{rows}")
        }),
        Pattern::new("aliases that begin alike", Mind, Files, |bytes| {
            let mut names = String::new();
            let mut at = 1;
            while names.len() < bytes / 2 {
                let _ = writeln!(names, "  - {}", "word ".repeat(at).trim_end());
                at += 1;
            }
            let text = repeat("word ", bytes / 2);
            format!(
                "//- knowledge/front.md\n---\naliases:\n{names}---\n\nText.\n//- knowledge/text.md\n{text}\n"
            )
        }),
        Pattern::new("front matter keys", Mind, Files, |bytes| {
            let keys = lines(bytes, |out, i| {
                let _ = writeln!(out, "key{i}: value {i}");
            });
            format!("//- knowledge/front.md\n---\n{keys}---\n\n# Front\n\nword\n")
        }),
        Pattern::new("one front matter key", Mind, Files, |bytes| {
            let keys = repeat("tags: [a, b]\n", bytes);
            format!("//- knowledge/front.md\n---\n{keys}---\n\n# Front\n\nword\n")
        }),
        Pattern::new("nested front matter", Mind, Files, |bytes| {
            let depth = bytes / 2;
            let (open, close) = ("[".repeat(depth), "]".repeat(depth));
            format!("//- knowledge/front.md\n---\ntags: {open}{close}\n---\n\n# Front\n")
        }),
        Pattern::new(
            "decisions as blocks",
            Mind,
            File(".mind/DECISIONS.md"),
            each!(
                "## DEC-{i:03}: Way {i}\n- **Date:** 2026-01-02\n- **Decision:** Take way {i} instead of way word{i}\n- **Status:** Final\n\n"
            ),
        ),
        Pattern::new(
            "decisions that replace the one before",
            Mind,
            File(".mind/DECISIONS.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let last = i.saturating_sub(1);
                    let _ = write!(
                        out,
                        "## DEC-{i:03}: Way{i}\n- **Decision:** Way{i} replaces DEC-{last:03}\n\n"
                    );
                })
            },
        ),
        Pattern::new(
            "dated decisions of one day",
            Manifest,
            File("memory/decisions.md"),
            each!("**2026-01-02** - Take way {i} for part {i} of Thing{i}\n"),
        ),
        Pattern::new(
            "dated decisions, each of another day",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let (year, month, day) = (1900 + i / 336 % 200, i / 28 % 12 + 1, i % 28 + 1);
                    let _ = writeln!(
                        out,
                        "**{year}-{month:02}-{day:02}** - Way{i} replaces Way{} of word",
                        i / 2
                    );
                })
            },
        ),
        Pattern::new(
            "decisions that replace one thing",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let _ = writeln!(
                        out,
                        "**2026-01-{:02}** - Thing{} replaces Thing{} and Part{}",
                        i % 28 + 1,
                        i % 9,
                        i % 7,
                        i % 5
                    );
                })
            },
        ),
        Pattern::new(
            "decisions of one week alike",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let _ = writeln!(
                        out,
                        "- **2026-01-05** - alpha{} beta{} gamma{} delta{i}",
                        i / 2,
                        i / 3,
                        i / 5
                    );
                })
            },
        ),
        Pattern::new(
            "decisions that each end the one before",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let (year, month, day) = (1900 + i / 336 % 200, i / 28 % 12 + 1, i % 28 + 1);
                    let _ = writeln!(
                        out,
                        "**{year}-{month:02}-{day:02}** - Use Way{i} instead of Way{}",
                        i.saturating_sub(1)
                    );
                })
            },
        ),
        Pattern::new(
            "one long decision",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                let mut out = "**2026-01-02** - ".to_owned();
                out.push_str(&repeat("dropped Way for Thing, ", bytes));
                out.push('\n');
                out
            },
        ),
        Pattern::new(
            "numbered decisions",
            Manifest,
            File("memory/decisions.md"),
            |bytes| {
                let mut out = "\n## Key decisions\n\n".to_owned();
                out.push_str(&lines(bytes, |out, i| {
                    let _ = writeln!(out, "{i}. Way{i} replaces Way{}", i / 2);
                }));
                out
            },
        ),
        Pattern::new(
            "tasks",
            Mind,
            File(".mind/PROGRESS.md"),
            each!("- [ ] Task {i} (blocked-by: Task {i}) [[tides]]\n"),
        ),
        Pattern::new(
            "tasks that block one another",
            Mind,
            File(".mind/PROGRESS.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let _ = writeln!(out, "- [ ] Task {i} ^t{i} [blocked-by:: t{}]", i + 1);
                })
            },
        ),
        Pattern::new("tasks and blockers", Mind, Files, |bytes| {
            let tasks = lines(bytes / 2, |out, i| {
                let _ = writeln!(out, "- [ ] Task {i}");
            });
            let blockers = lines(bytes / 2, |out, i| {
                let _ = writeln!(out, "- Thing {i}");
            });
            format!(
                "//- .mind/PROGRESS.md\n\n{tasks}//- .mind/STATE.md\n\n## Blocked Items\n{blockers}"
            )
        }),
        Pattern::new(
            "tasks done",
            Mind,
            File(".mind/PROGRESS.md"),
            each!("- [x] Task {i} (completed 2025-01-02)\n"),
        ),
        Pattern::new("nested tasks", Mind, File(".mind/PROGRESS.md"), |bytes| {
            lines(bytes, |out, i| {
                let _ = writeln!(
                    out,
                    "{}- [x] Task {i} (completed 2025-01-02)",
                    "  ".repeat(i % 40)
                );
            })
        }),
        Pattern::new(
            "sessions",
            Mind,
            File(".mind/SESSION-LOG.md"),
            each!("## Session {i} — 2026-01-02 10:00:00\n- **Summary:** Part {i}\n\n"),
        ),
        Pattern::new(
            "sessions of one number",
            Mind,
            File(".mind/SESSION-LOG.md"),
            each!("## Session 1 — 2026-01-02 10:00:00\n- **Summary:** Part {i}\n\n"),
        ),
        Pattern::new(
            "dated sessions",
            Manifest,
            File("memory/session-log.md"),
            each!("## 2026-01-02 - Part {i}\n\n- Did {i}.\n\n---\n\n"),
        ),
        Pattern::new(
            "archived sessions",
            Mind,
            File(".mind/ARCHIVE.md"),
            each!("## Session {i} — 2026-01-02 10:00:00\n- **Summary:** Part {i}\n\n"),
        ),
        Pattern::new(
            "state with many parts",
            Mind,
            File(".mind/STATE.md"),
            |bytes| {
                lines(bytes, |out, i| {
                    let _ = write!(out, "\n## Blocked Items\n- Thing {i}\n");
                })
            },
        ),
        Pattern::new("manifest rows", Manifest, File("_MANIFEST.md"), |bytes| {
            let mut out =
                "\n## Tier 2 - By Domain\n| File | Summary | Volatility |\n|---|---|---|\n"
                    .to_owned();
            out.push_str(&lines(bytes, |out, i| {
                let _ = writeln!(out, "| [[garden/plant{i}]] | Plant {i} | STABLE |");
            }));
            out
        }),
        Pattern::new("domains", Manifest, File("_MANIFEST.md"), |bytes| {
            lines(bytes, |out, i| {
                let _ = writeln!(out, "| Domain{i} | [[domain{i}/_CLOSETS]] | Things {i} |");
            })
        }),
        Pattern::new(
            "one domain many times",
            Manifest,
            File("_MANIFEST.md"),
            |bytes| repeat("| Garden | [[garden/_CLOSETS]] | Beds and seeds |\n", bytes),
        ),
        Pattern::new(
            "closets entries",
            Manifest,
            File("garden/_CLOSETS.md"),
            each!("### [[plant{i}]]\n- **topics:** plant{i}, word\n- **facts:** It grows {i}\n\n"),
        ),
        Pattern::new("many small files", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- knowledge/n{}/note{i}.md\n# Note {i}\nWord {i}, see [[note{}]].\n",
                    i % 50,
                    i / 2
                );
            })
        }),
        Pattern::new("many small files of a domain", Manifest, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- garden/note{i}.md\n---\nblocked-by: [[note{}]]\n---\n# Note {i}\nWord {i}.\n",
                    i / 2
                );
            })
        }),
        Pattern::new("many files outside", Manifest, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- other/x{}/note{i}.md\n# Note {i}\nBeans {i}.\n",
                    i % 20
                );
            })
        }),
        Pattern::new("files of one name", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- knowledge/f{i}/note.md\n# Note\nSee [[note]] and [a](note.md).\n"
                );
            })
        }),
        Pattern::new("files of similar names", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let (a, b) = (
                    char::from(b'a' + (i % 26) as u8),
                    char::from(b'a' + (i / 26 % 26) as u8),
                );
                let _ = write!(
                    out,
                    "//- knowledge/s{}/reference{a}{b}guide.md\n# Guide {i}\nWord.\n",
                    i / 676
                );
            })
        }),
        Pattern::new("files of one text", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- knowledge/same{i}.md\n# Same\n\nThe same words stand in every file of this folder, line by line.\nAnd here is a second line of them.\nAnd a third.\n"
                );
            })
        }),
        Pattern::new("deep folders", Mind, Files, |bytes| {
            lines(bytes / 4, |out, i| {
                let folder = "d/".repeat(1 + i % 200);
                let _ = write!(out, "//- knowledge/{folder}note{i}.md\n# Note {i}\nWord.\n");
            })
        }),
        Pattern::new("many CLAUDE.md", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- src/p{i}/CLAUDE.md\n# Rules {i}\n\nBe kind to everybody who comes here.\n"
                );
            })
        }),
        Pattern::new("imports", Mind, Files, |bytes| {
            let mut out = "//- CLAUDE.md\n# Rules\n".to_owned();
            let names = lines(bytes / 2, |out, i| {
                let _ = writeln!(out, "@docs/rule{i}.md");
            });
            let count = names.lines().count();
            out.push_str(&names);
            for i in 0..count {
                let _ = write!(out, "//- docs/rule{i}.md\nRule {i}\n");
            }
            out
        }),
        Pattern::new("imports of one file", Mind, File("CLAUDE.md"), |bytes| {
            repeat("@knowledge/tides.md\n", bytes)
        }),
        Pattern::new("skills", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- .claude/skills/s{i}/SKILL.md\n---\nname: s{i}\ndescription: Does {i}\n---\n\n# S{i}\n"
                );
            })
        }),
        Pattern::new(
            "repeated lines in CLAUDE.md and knowledge",
            Mind,
            Files,
            |bytes| {
                let text = lines(bytes / 2, |out, i| {
                    let _ = writeln!(out, "A rule with a number of its own: {}", i % 100);
                });
                format!("//- CLAUDE.md\n{text}//- knowledge/rules.md\n{text}")
            },
        ),
        Pattern::new(
            "one line in CLAUDE.md and knowledge",
            Mind,
            Files,
            |bytes| {
                let text = repeat(
                    "The same rule with enough words to count as one.\n",
                    bytes / 2,
                );
                format!("//- CLAUDE.md\n{text}//- knowledge/rules.md\n{text}")
            },
        ),
        Pattern::new(
            "pointers of an agent",
            Mind,
            File(".agents/memory/eng/builder/MEMORY.md"),
            each!("- [Topic {i}](topic{i}.md) — about {i}\n"),
        ),
        Pattern::new("topics of an agent", Mind, Files, |bytes| {
            lines(bytes, |out, i| {
                let _ = write!(
                    out,
                    "//- .agents/memory/eng/builder/topic{i}.md\n---\nname: topic{i}\ndescription: about word {i}\ntype: project\n---\n\nWord {i}.\n"
                );
            })
        }),
        Pattern::new(
            "learnings",
            Mind,
            File(".agents/memory/eng/shared/learnings.md"),
            each!("## 2026-01-02\n\n- Learnt {i} (tags: a, b)\n\n"),
        ),
        Pattern::new(
            "corrections",
            Mind,
            File("knowledge/_FORGOTTEN.md"),
            |bytes| {
                let mut out = "\n## Corrected facts\n\n".to_owned();
                out.push_str(&lines(bytes, |out, i| {
                    let _ = writeln!(
                        out,
                        "- \"Word number {i}\" — corrected 2026-01-02, instead \"Word number {i} of two\""
                    );
                }));
                out
            },
        ),
        Pattern::new("corrected facts that overlap", Mind, Files, |bytes| {
            let mut facts = String::new();
            let mut at = 1;
            while facts.len() < bytes / 2 {
                let fact = "x1 ".repeat(1 + at % 160);
                let fact = fact.trim_end();
                let _ = writeln!(
                    facts,
                    "- \"{fact}\" — corrected 2026-01-02, instead \"a {fact}\""
                );
                at += 1;
            }
            let text = repeat("x1 ", bytes / 2);
            format!(
                "//- knowledge/_FORGOTTEN.md\n\n## Corrected facts\n\n{facts}//- knowledge/text.md\n# Text\n\n{text}\n"
            )
        }),
        Pattern::new(
            "forgotten",
            Mind,
            File("knowledge/_FORGOTTEN.md"),
            |bytes| {
                let mut out = "# Forgotten\n\n| File | Reason | Date |\n|---|---|---|\n".to_owned();
                out.push_str(&lines(bytes, |out, i| {
                    let _ = writeln!(out, "| knowledge/gone{i}.md | old | 2026-01-02 |");
                }));
                out
            },
        ),
        Pattern::new(
            "links to one note",
            Mind,
            DOCUMENT,
            each!("See [[old]] and [it](old.md#part-{i}) and [[old#Part {i}|part]].\n"),
        ),
        Pattern::new(
            "links to nowhere",
            Mind,
            DOCUMENT,
            each!("[[gone{i}]] [a](gone/{i}.md)\n"),
        ),
        Pattern::new(
            "link definitions",
            Mind,
            DOCUMENT,
            each!("[ref{i}]: old.md\n\nSee [ref{i}] and [x][ref{i}].\n\n"),
        ),
        Pattern::new("names in front matter", Mind, Files, |bytes| {
            let names = repeat("  - old\n", bytes);
            format!("//- knowledge/front.md\n---\nrelated:\n{names}---\n\n# Front\n\nword\n")
        }),
        Pattern::new("uses of one definition", Mind, DOCUMENT, |bytes| {
            format!(
                "\n\n{}\n\n[r]: {}\n",
                repeat("[a][r] ", bytes / 2),
                repeat("x", bytes / 2)
            )
        }),
        Pattern::new(
            "footnotes",
            Mind,
            DOCUMENT,
            each!("Word[^n{i}].\n\n[^n{i}]: Note {i}\n\n"),
        ),
        Pattern::new("wide table", Mind, DOCUMENT, |bytes| {
            let columns = bytes / 30;
            let row = |cell: &str| format!("|{}\n", format!(" {cell} |").repeat(columns));
            format!("\n\n{}{}{}", row("head"), row("---"), row("word").repeat(3))
        }),
        Pattern::new("short rows below a wide table", Mind, DOCUMENT, |bytes| {
            let columns = bytes / 16;
            let row = |cell: &str| format!("|{}\n", format!(" {cell} |").repeat(columns));
            format!("\n\n{}{}{}", row("a"), row("-"), repeat("|a\n", bytes / 4))
        }),
        Pattern::new("long table", Mind, DOCUMENT, |bytes| {
            let rows = lines(bytes, |out, i| {
                let _ = writeln!(out, "| a{i} | b{i} | c{i} |");
            });
            format!("\n\n| a | b | c |\n|---|---|---|\n{rows}")
        }),
        Pattern::new("long code", Mind, DOCUMENT, |bytes| {
            format!("\n\n```rust\n{}```\n", repeat("let a = b;\n", bytes))
        }),
        Pattern::new("nested quotes", Mind, DOCUMENT, |bytes| {
            let side = bytes.isqrt();
            lines(bytes, |out, i| {
                let _ = writeln!(out, "{} word", ">".repeat(i % side.max(1)));
            })
        }),
        Pattern::new("nested list", Mind, DOCUMENT, |bytes| {
            let side = bytes.isqrt() / 2;
            lines(bytes, |out, i| {
                let _ = writeln!(out, "{}- word", "  ".repeat(i % side.max(1)));
            })
        }),
        Pattern::new("words once each", Mind, DOCUMENT, each!("word{i} ")),
        Pattern::new(
            "secrets",
            Mind,
            Everywhere,
            each!("- password: hunter{i}Aa9Zz8Qq7\n"),
        ),
        Pattern::new("jwt with a rare dot", Mind, Everywhere, |bytes| {
            repeat(&format!("eyJ-{}.eyJ", "a".repeat(8192)), bytes)
        }),
        Pattern::new("transcript", Mind, File("transcripts/a.jsonl"), |bytes| {
            lines(bytes, |out, i| {
                let role = ["user", "assistant"][i % 2];
                let _ = writeln!(
                    out,
                    r#"{{"type":"{role}","uuid":"u{i}","sessionId":"s","timestamp":"2026-01-02T10:00:00Z","cwd":"/w","message":{{"role":"{role}","content":"Said {i}"}}}}"#
                );
            })
        }),
        Pattern::new("sides of a merge", Mind, Files, |bytes| {
            let side = |word: &str, from: usize| {
                lines(bytes / 3, |out, i| {
                    let what = if i % 3 == from { word } else { "same" };
                    let _ = writeln!(out, "- line {i} {what}");
                })
            };
            format!(
                "//- base.md\n{}//- ours.md\n{}//- theirs.md\n{}",
                side("x", 0),
                side("y", 1),
                side("z", 2)
            )
        }),
        Pattern::new(
            "sides of a merge without anything in common",
            Mind,
            Files,
            |bytes| {
                let side = |word: &str| {
                    lines(bytes / 3, |out, i| {
                        let _ = writeln!(out, "{word} {}", i % 7);
                    })
                };
                format!(
                    "//- base.md\n{}//- ours.md\n{}//- theirs.md\n{}",
                    side("x"),
                    side("y"),
                    side("z")
                )
            },
        ),
        Pattern::new(
            "settings",
            Mind,
            File("memory-forge.toml"),
            each!("\nunknown{i} = {i}"),
        ),
        Pattern::new(
            "ignore rules",
            Mind,
            File(".gitignore"),
            each!("/ignored{i}/*.md\n"),
        ),
    ]
}
