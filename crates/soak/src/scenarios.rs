//! Every command that writes, with a small workspace in which it has something
//! to do. The crash model and the random kills take their commands from here,
//! and a test holds the list to the program's own table of commands.

use testkit::TestWorkspace;

/// One command and what it needs.
pub struct Scenario {
    /// The command as the table of commands has it; what follows ` · ` tells
    /// several ways to call one apart.
    pub name: &'static str,
    pub files: &'static str,
    pub home: &'static str,
    pub git: bool,
    /// What a fixture cannot say.
    pub make: Option<fn(&TestWorkspace)>,
    /// Commands that come before, undisturbed.
    pub first: &'static [&'static [&'static str]],
    pub run: &'static [&'static str],
    pub input: &'static str,
    /// How it ends undisturbed.
    pub status: i32,
    /// It writes into `.memory-forge/` alone.
    pub only_derived: bool,
    /// It makes several changes, one after another: cut off between them, each
    /// file is as before or as after, and the same command goes on with the
    /// rest.
    pub several: bool,
    /// Of those, the files that it changes more than once on its way.
    pub on_its_way: &'static [&'static str],
    /// An error of the disk has it do something else, on purpose; only ends of
    /// the process are tried.
    pub only_stops: bool,
}

impl Scenario {
    /// The command without what tells its variants apart.
    pub fn command(&self) -> &'static str {
        self.name.split(" · ").next().unwrap_or(self.name)
    }
}

const PLAIN: Scenario = Scenario {
    name: "",
    files: "",
    home: "",
    git: false,
    make: None,
    first: &[],
    run: &[],
    input: "",
    status: 0,
    only_derived: false,
    several: false,
    on_its_way: &[],
    only_stops: false,
};

/// State in `.mind/` and notes in `knowledge/`, with what people write there.
const MIND: &str = "
    //- knowledge/refunds.md
    ---
    importance: 6
    ---
    # Refunds

    Refunds of the billing engine are paid within five days. The port is 8080.
    <!-- kept by hand -->
    //- knowledge/office.md
    # Office

    The office lease ends in 2027. See [refunds](refunds.md).
    //- CLAUDE.md
    # Shop

    Be kind.
    //- .mind/STATE.md
    # Project State

    ## Current Phase
    Phase 1: Seeds

    ## House rules
    Mine, and they stay.

    ## Next Action
    Order the seeds
    //- .mind/PROGRESS.md
    # Progress Tracker

    ### In Progress
    - [ ] Carry the ledger over
      - [ ] one account first
    //- .mind/DECISIONS.md
    # Decision Log

    ## DEC-001: Way of the early days
    - **Decision:** measured first
    //- .mind/SESSION-LOG.md
    # Session Log

    ## Session 1 — 2026-02-20 10:00:00
    - **Summary:** Began
";

/// A workspace with a manifest.
const OFFICE: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:2.1.3 -->
    <!-- summary-format-version:2 -->

    A remark of mine.

    ## Tier 1 - Always Load
    | File | Summary | Volatility |
    |---|---|---|
    | [[memory/status]] | Where we are | VOLATILE |

    ## Tier 2 - By Domain

    ### Garden
    Closets: [[garden/_CLOSETS]]

    | File | Summary |
    |---|---|
    | [[beans]] | |

    ## Tier 3 - Archive
    | File | Reason | Date |
    |---|---|---|

    ## Hub Map
    | Domain | Hub | Summary |
    |---|---|---|
    | Garden | [[garden/_CLOSETS]] | |
    //- memory/status.md
    # Status

    Last updated: 2026-02-28

    **Phase:** Spring

    ## Active Focus
    Sow the beds

    ## In Progress
    - Order the seeds

    ## Next Priorities
    1. Dig
    //- memory/session-log.md
    # Session Log

    ---

    ## 2026-02-27 - Second

    - Measured the beds.

    ---
    //- memory/decisions.md
    # Decisions

    **2026-02-01** - Seeds come from Bloom

    **2026-02-20** - Dropped Bloom
    //- garden/beans.md
    ---
    people: [Ann]
    ---
    # Beans
    They climb. The office shed holds the poles; see the plan of seeds.
    //- garden/plan.md
    # Plan
    Lease a bed. Back to [[beans]] and [beans](beans.md).
    //- garden/_CLOSETS.md
    # Closets: garden

    <!-- memex-closets:1.0 -->

    ## [[beans]]
    - subjects: beans
";

/// A workspace of the first format.
pub const OLD: &str = "
    //- _MANIFEST.md
    # Context Routing
    <!-- memex-managed:1.4.0 -->

    Keep me.

    ## Tier 1 - Always Load

    | File | Purpose | Freshness |
    |---|---|---|
    | [[memory/status]] |  | Daily |

    ## Hub Map

    | Domain | Hub | Summary |
    |---|---|---|
    | Legal | [[legal-index]] |  |
    | People | [[people/_CLOSETS]] |  |

    ## A section of mine

    Stays as it is.
    //- memory/status.md
    # Status

    We build the billing engine.
    //- legal/legal-index.md
    | File | Purpose | Status |
    |---|---|---|
    | [[lease]] | Rent and terms | Active |
    //- legal/lease.md
    # Lease

    The office lease ends on 2027-01-31.
    //- people/anna.md
    # Anna

    Anna Berg runs the office.
";

/// Notes in no order.
const NOTES: &str = "
    //- legal/lease.md
    # Lease of the shop

    The landlord raises the rent. Tenant and landlord sign the contract.
    //- legal/permits.md
    # Permits

    The landlord and the city sign the contract. See [rent](../misc/rent-increase.md).
    //- recipes/rye.md
    # Rye bread

    Flour, water, salt and sourdough. Bake the dough for an hour.
    //- recipes/rolls.md
    # Rolls

    Flour, butter and dough. Bake them early. See lease and [[baguette]].
    //- misc/rent-increase.md
    # Rent increase

    The landlord wants more rent; the contract of the tenant says no.
    //- misc/baguette.md
    # Baguette

    Dough of flour, water and salt. Bake it hot.
";

const AGENT: &str = "
    //- .agents/memory/eng/builder/MEMORY.md
    - [Cache](cache.md) — expires hourly
    - [Gone](gone.md) — by hand
    //- .agents/memory/eng/builder/cache.md
    # Cache

    The cache of the billing engine expires hourly.
    //- .agents/memory/eng/builder/loose.md
    # Loose

    Nobody points here.
    //- knowledge/office.md
    # Office

    The office lease.
";

/// Settings of clients that a person wrote, with comments and an order.
const CLIENTS: &str = "
    //- .claude/settings.json
    {
      // mine, and it stays
      \"model\": \"opus\"
    }
    //- .codex/config.toml
    # mine
    model = \"o\"
    //- .gemini/settings.json
    { \"theme\": \"x\" }
";

const TRANSCRIPT: &str = "
    //- knowledge/office.md
    # Office

    The office lease.
    //- t/one.jsonl
    {\"type\":\"user\",\"uuid\":\"r0\",\"sessionId\":\"5b539e53-47c8-4996-bc4e-3896a787c8ab\",\"cwd\":\"/work/shop\",\"gitBranch\":\"main\",\"version\":\"2.1.0\",\"isSidechain\":false,\"parentUuid\":null,\"timestamp\":\"2026-02-03T10:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Why do refunds fail on Sundays?\"}}
    {\"type\":\"assistant\",\"uuid\":\"r1\",\"sessionId\":\"5b539e53-47c8-4996-bc4e-3896a787c8ab\",\"cwd\":\"/work/shop\",\"gitBranch\":\"main\",\"version\":\"2.1.0\",\"isSidechain\":false,\"parentUuid\":\"r0\",\"timestamp\":\"2026-02-03T10:01:00.000Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"The billing job does not run then.\"}]}}
    //- t/two.jsonl
    {\"type\":\"user\",\"uuid\":\"q0\",\"sessionId\":\"6b539e53-47c8-4996-bc4e-3896a787c8ab\",\"cwd\":\"/work/shop\",\"gitBranch\":\"main\",\"version\":\"2.1.0\",\"isSidechain\":false,\"parentUuid\":null,\"timestamp\":\"2026-02-04T10:00:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Which seeds?\"}}
    {\"type\":\"assistant\",\"uuid\":\"q1\",\"sessionId\":\"6b539e53-47c8-4996-bc4e-3896a787c8ab\",\"cwd\":\"/work/shop\",\"gitBranch\":\"main\",\"version\":\"2.1.0\",\"isSidechain\":false,\"parentUuid\":\"q0\",\"timestamp\":\"2026-02-04T10:01:00.000Z\",\"message\":{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"Beans.\"}]}}
";

const BANK: &str = "
    //- bank/projectbrief.md
    # Project Brief
    A shop for wombats, with an office.
    //- bank/activeContext.md
    # Active Context
    ## Current Focus
    Checkout
    //- bank/features/cart.md
    # Cart
    It holds ten.
    //- bm/specs/Search Design.md
    ---
    title: Search Design
    permalink: specs/search-design
    ---
    # Search Design
    - relates_to [[Engine]]
    //- bm/Engine.md
    ---
    title: Engine
    permalink: specs/engine
    ---
    The billing engine.
";

const MERGE: &str = "
    //- base.md
    # Decision Log
    //- DECISIONS.md
    # Decision Log

    ## DEC-001: Ours
    - a
    //- theirs.md
    # Decision Log

    ## DEC-001: Theirs
    - b
";

const PRIVATE: &str = "
    //- knowledge/plan.local.md
    # Plan

    Seeds first.
    //- knowledge/README.md
    - [Plan](plan.local.md) — mine
";

macro_rules! hook {
    ($event:literal, $more:literal) => {
        Scenario {
            name: concat!("hook · ", $event),
            files: MIND,
            run: &["hook"],
            input: concat!(
                "{\"hook_event_name\":\"",
                $event,
                "\",\"session_id\":\"s2\"",
                $more,
                "}"
            ),
            ..PLAIN
        }
    };
}

macro_rules! tool {
    ($tool:literal, $arguments:literal) => {
        Scenario {
            name: concat!("mcp · ", $tool),
            files: MIND,
            run: &["mcp"],
            input: concat!(
                r#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}"#,
                "\n",
                r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
                "\n",
                r#"{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":""#,
                $tool,
                r#"","arguments":"#,
                $arguments,
                "}}\n"
            ),
            ..PLAIN
        }
    };
}

/// Returns the scenarios that this machine can run: some need git.
pub fn runnable_scenarios() -> impl Iterator<Item = &'static Scenario> {
    let has_git = testkit::git::is_installed();
    SCENARIOS.iter().filter(move |it| has_git || !it.git)
}

/// Every command that writes. Those that only look are in [`READERS`].
pub static SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "init",
        files: "//- src/main.rs\nfn main() {}\n//- .gitignore\ntarget\n",
        git: true,
        run: &["init", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "init · template",
        files: "//- src/main.rs\nfn main() {}\n",
        run: &["init", "--template", "cli", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "init · workspace",
        run: &["init", "--workspace", "A billing engine", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "init · organise",
        files: NOTES,
        run: &["init", "--organise"],
        ..PLAIN
    },
    Scenario {
        name: "init · apply",
        files: NOTES,
        first: &[&["init", "--organise"]],
        run: &["init", "--apply", "memory-forge-plan.toml", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "index",
        files: MIND,
        make: Some(|ws| ws.write("knowledge/late.md", "# Late\n\nSeeds came late.\n")),
        run: &["index"],
        only_derived: true,
        ..PLAIN
    },
    Scenario {
        name: "index · list",
        files: MIND,
        make: Some(|ws| {
            let marks = "<!-- memory-forge:index:begin -->\n<!-- memory-forge:index:end -->\n";
            ws.write("knowledge/README.md", format!("Mine.\n\n{marks}"));
        }),
        run: &["index"],
        // A list that cannot be written is a warning: the index is what was asked for.
        only_stops: true,
        ..PLAIN
    },
    Scenario {
        name: "index · force",
        files: MIND,
        run: &["index", "--force"],
        only_derived: true,
        ..PLAIN
    },
    Scenario {
        name: "save · context",
        files: MIND,
        run: &[
            "save",
            "context",
            "retry",
            "--content",
            "Retry the billing three times.",
        ],
        ..PLAIN
    },
    Scenario {
        name: "save · skill",
        files: MIND,
        run: &[
            "save",
            "skill",
            "flaky",
            "--content",
            "Freeze the clock.",
            "--description",
            "Tests fail at random",
            "--trigger",
            "flaky",
            "--client",
            "claude",
        ],
        ..PLAIN
    },
    Scenario {
        name: "forget",
        files: MIND,
        run: &["forget", "knowledge/office.md", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "forget · fact",
        files: MIND,
        run: &[
            "forget",
            "--fact",
            "The port is 8080",
            "--instead",
            "The port is 9090",
            "--yes",
        ],
        ..PLAIN
    },
    Scenario {
        name: "restore",
        files: MIND,
        first: &[&["forget", "knowledge/office.md", "--yes"]],
        run: &["restore", "knowledge/office.md"],
        ..PLAIN
    },
    Scenario {
        name: "restore · fact",
        files: MIND,
        first: &[&["forget", "--fact", "The port is 8080", "--yes"]],
        run: &["restore", "--fact", "The port is 8080"],
        ..PLAIN
    },
    Scenario {
        name: "doctor · fix",
        files: MIND,
        make: Some(overgrown),
        run: &["doctor", "--fix", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "doctor · undo",
        files: MIND,
        first: &[&["mind", "decide", "Queue", "--decision", "The database"]],
        run: &["doctor", "--undo", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "undo",
        files: MIND,
        first: &[&["mind", "decide", "Queue", "--decision", "The database"]],
        run: &["undo"],
        ..PLAIN
    },
    Scenario {
        name: "mind set",
        files: MIND,
        run: &[
            "mind",
            "set",
            "--phase",
            "Phase 2: Beds",
            "--next",
            "Dig",
            "--blocked",
            "Rain",
        ],
        ..PLAIN
    },
    Scenario {
        name: "mind decide",
        files: MIND,
        run: &[
            "mind",
            "decide",
            "Queue",
            "--decision",
            "The database is the queue",
        ],
        ..PLAIN
    },
    Scenario {
        name: "mind task add",
        files: MIND,
        run: &["mind", "task", "add", "Sow the seeds"],
        ..PLAIN
    },
    Scenario {
        name: "mind task done",
        files: MIND,
        run: &["mind", "task", "done", "one account"],
        ..PLAIN
    },
    Scenario {
        name: "mind log",
        files: MIND,
        run: &["mind", "log", "Beds are dug", "--next", "Sow"],
        ..PLAIN
    },
    Scenario {
        name: "mind checkpoint",
        files: MIND,
        run: &["mind", "checkpoint"],
        ..PLAIN
    },
    Scenario {
        name: "mind compress",
        files: MIND,
        make: Some(long_logs),
        run: &["mind", "compress"],
        ..PLAIN
    },
    Scenario {
        name: "mind session update",
        files: OFFICE,
        run: &[
            "mind",
            "session",
            "update",
            "--next",
            "Call Ann",
            "--decision",
            "Print on A5",
        ],
        ..PLAIN
    },
    Scenario {
        name: "mind session end",
        files: OFFICE,
        run: &[
            "mind",
            "session",
            "end",
            "--title",
            "Beds",
            "--did",
            "Dug them",
            "--next",
            "Sow",
            "--decision",
            "Beans first",
        ],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "mind session end · mind",
        files: MIND,
        run: &[
            "mind", "session", "end", "--title", "Beds", "--did", "Dug them", "--next", "Sow",
        ],
        ..PLAIN
    },
    Scenario {
        name: "mind idea",
        files: OFFICE,
        run: &["mind", "idea", "Send a photo of the well"],
        ..PLAIN
    },
    Scenario {
        name: "agent init",
        files: AGENT,
        run: &["agent", "init"],
        ..PLAIN
    },
    Scenario {
        name: "agent index",
        files: AGENT,
        run: &["agent", "index", "--fix"],
        ..PLAIN
    },
    Scenario {
        name: "agent remember",
        files: AGENT,
        run: &[
            "agent",
            "remember",
            "Deploys",
            "--agent",
            "eng/builder",
            "--type",
            "project",
            "--content",
            "On Thursdays, after the billing run.",
        ],
        ..PLAIN
    },
    Scenario {
        name: "agent learn",
        files: AGENT,
        run: &[
            "agent",
            "learn",
            "Freezing the clock fixed it",
            "--squad",
            "eng",
        ],
        ..PLAIN
    },
    Scenario {
        name: "agent rotate",
        files: AGENT,
        make: Some(long_learnings),
        run: &["agent", "rotate", "--max-bytes", "8000"],
        ..PLAIN
    },
    Scenario {
        name: "lint",
        files: OFFICE,
        make: Some(|ws| ws.write("garden/loose.md", "# Loose\n\nSee [[bean]].\n")),
        run: &["lint", "--fix", "--yes"],
        status: 1,
        ..PLAIN
    },
    Scenario {
        name: "check · fix",
        files: OFFICE,
        make: Some(|ws| {
            ws.write("garden/loose.md", "# Loose\n\nSee [[bean]].\n");
            many_decisions(ws);
        }),
        run: &["check", "--fix", "--yes"],
        status: 1,
        ..PLAIN
    },
    Scenario {
        name: "consolidate",
        files: OFFICE,
        make: Some(many_decisions),
        run: &["consolidate", "--fix", "--force"],
        ..PLAIN
    },
    Scenario {
        name: "workspace sources add",
        files: MIND,
        home: "//- club/knowledge/a.md\n# A\n",
        run: &["workspace", "sources", "add", "club", "../home/club"],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "workspace sources remove",
        files: MIND,
        home: "//- club/knowledge/a.md\n# A\n",
        first: &[&["workspace", "sources", "add", "club", "../home/club"]],
        run: &["workspace", "sources", "remove", "club"],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "workspace sources set",
        files: MIND,
        home: "//- club/knowledge/a.md\n# A\n",
        first: &[&["workspace", "sources", "add", "club", "../home/club"]],
        run: &[
            "workspace",
            "sources",
            "set",
            "club",
            "--searchable",
            "false",
        ],
        several: true,
        ..PLAIN
    },
    tool!(
        "save_knowledge",
        r#"{"type":"context","name":"retry","content":"Retry the billing."}"#
    ),
    tool!(
        "correct_knowledge",
        r#"{"fact":"The tide table is monthly","instead":"It is weekly"}"#
    ),
    Scenario {
        only_derived: true,
        ..tool!("index_knowledge", r#"{"force":true}"#)
    },
    tool!("forget_knowledge", r#"{"max_files":1}"#),
    tool!(
        "memory_update_state",
        r#"{"phase":"Phase 2: Beds","next_action":"Dig"}"#
    ),
    tool!(
        "memory_save_decision",
        r#"{"title":"Queue","decision":"The database"}"#
    ),
    tool!("memory_save_progress", r#"{"task":"Sow the seeds"}"#),
    tool!(
        "memory_save_session",
        r#"{"summary":"Beds are dug","next":"Sow"}"#
    ),
    Scenario {
        name: "workspace closets build",
        files: OFFICE,
        run: &["workspace", "closets", "build"],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "links apply",
        files: OFFICE,
        run: &["links", "apply", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "links rename",
        files: OFFICE,
        run: &["links", "rename", "beans", "peas", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "graph write",
        files: OFFICE,
        run: &["graph", "write"],
        ..PLAIN
    },
    Scenario {
        name: "graph pull",
        files: MIND,
        run: &["graph", "pull", "--state"],
        ..PLAIN
    },
    Scenario {
        name: "graph pull · remove",
        files: MIND,
        first: &[&["graph", "pull", "--state"]],
        run: &["graph", "pull", "--state", "--remove"],
        ..PLAIN
    },
    Scenario {
        name: "workspace manifest refresh",
        files: OFFICE,
        run: &["workspace", "manifest", "refresh"],
        ..PLAIN
    },
    Scenario {
        name: "workspace domain add",
        files: OFFICE,
        make: Some(|ws| ws.write("notes/talk.md", "# Talk\n\nBack to [[beans]].\n")),
        run: &[
            "workspace",
            "domain",
            "add",
            "Research",
            "--move",
            "notes/talk.md",
            "--yes",
        ],
        ..PLAIN
    },
    Scenario {
        name: "workspace archive",
        files: OFFICE,
        run: &[
            "workspace",
            "archive",
            "garden/beans.md",
            "--reason",
            "Ended",
        ],
        ..PLAIN
    },
    Scenario {
        name: "workspace organise",
        files: NOTES,
        run: &["workspace", "organise"],
        ..PLAIN
    },
    Scenario {
        name: "workspace upgrade",
        files: OLD,
        run: &["workspace", "upgrade"],
        several: true,
        on_its_way: &["ws/_MANIFEST.md"],
        ..PLAIN
    },
    Scenario {
        name: "import native",
        files: MIND,
        home: "//- .claude/projects/[slug]/memory/MEMORY.md\n- [D](deploys.md) — how\n\
               //- .claude/projects/[slug]/memory/deploys.md\n---\nname: Deploys\n---\nBlue first.\n\
               //- .claude/projects/[slug]/memory/rules.md\n# Rules\n\nBe kind.\n",
        run: &["import", "native"],
        ..PLAIN
    },
    Scenario {
        name: "import transcripts",
        files: TRANSCRIPT,
        run: &["import", "transcripts", "t"],
        ..PLAIN
    },
    Scenario {
        name: "import memory-bank",
        files: BANK,
        run: &["import", "memory-bank", "bank"],
        ..PLAIN
    },
    Scenario {
        name: "import claude-mem",
        files: BANK,
        make: Some(claude_mem),
        run: &["import", "claude-mem"],
        ..PLAIN
    },
    Scenario {
        name: "import basic-memory",
        files: BANK,
        run: &["import", "basic-memory", "bm"],
        ..PLAIN
    },
    Scenario {
        name: "export json",
        files: MIND,
        run: &["export", "json", "--output", "out/memory.json"],
        ..PLAIN
    },
    Scenario {
        name: "export jsonl",
        files: MIND,
        run: &["export", "jsonl", "--output", "out/memory.jsonl"],
        ..PLAIN
    },
    Scenario {
        name: "view",
        files: MIND,
        run: &["view", "--export", "site"],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "export native",
        files: MIND,
        home: "//- .claude/projects/[slug]/memory/MEMORY.md\n- [Mine](mine.md) — stays\n",
        run: &[
            "export",
            "native",
            "knowledge/refunds.md",
            "knowledge/office.md",
            "--yes",
        ],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "setup",
        files: CLIENTS,
        run: &["setup", "claude", "codex", "gemini", "--mcp", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "setup · user",
        files: MIND,
        home: CLIENTS,
        run: &[
            "setup", "claude", "codex", "gemini", "--scope", "user", "--yes",
        ],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "setup · git",
        files: MIND,
        git: true,
        run: &["setup", "--git", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "uninstall",
        files: CLIENTS,
        first: &[&["setup", "claude", "codex", "gemini", "--mcp", "--yes"]],
        run: &["uninstall", "--yes"],
        ..PLAIN
    },
    Scenario {
        name: "uninstall · user",
        files: MIND,
        home: CLIENTS,
        first: &[&[
            "setup", "claude", "codex", "gemini", "--scope", "user", "--yes",
        ]],
        run: &["uninstall", "--scope", "user", "--yes"],
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "merge",
        files: MERGE,
        run: &["merge", "base.md", "DECISIONS.md", "theirs.md"],
        // What cannot be read is merged by lines, as git does without us.
        only_stops: true,
        several: true,
        ..PLAIN
    },
    Scenario {
        name: "share",
        files: PRIVATE,
        git: true,
        run: &["share", "knowledge/plan.local.md", "--yes"],
        ..PLAIN
    },
    hook!("SessionStart", ",\"source\":\"startup\""),
    hook!("Stop", ""),
    hook!("PreCompact", ",\"trigger\":\"auto\""),
    hook!("SessionEnd", ",\"reason\":\"logout\""),
    hook!(
        "SubagentStart",
        ",\"agent_type\":\"reviewer\",\"agent_id\":\"a1\""
    ),
    hook!(
        "SubagentStop",
        ",\"agent_type\":\"reviewer\",\"agent_id\":\"a1\""
    ),
    hook!(
        "TaskCompleted",
        ",\"task_id\":\"7\",\"task_subject\":\"Read the ledger\""
    ),
    hook!(
        "PostToolUseFailure",
        ",\"tool_name\":\"Bash\",\"tool_use_id\":\"c1\",\"tool_input\":{\"command\":\"cat -A x\"},\"error\":\"Exit code 1\\ncat: illegal option -- A\""
    ),
    Scenario {
        name: "hook · PreToolUse of a whole read of a large file",
        files: MIND,
        make: Some(|ws| ws.write("big.log", "a line of a log\n".repeat(20_000))),
        run: &["hook", "--client=claude"],
        input: "{\"hook_event_name\":\"PreToolUse\",\"session_id\":\"s3\",\"tool_name\":\"Read\",\"tool_use_id\":\"c2\",\"tool_input\":{\"file_path\":\"big.log\"}}",
        ..PLAIN
    },
    Scenario {
        name: "hook · SessionStart of a session that follows one left open",
        files: MIND,
        git: true,
        make: Some(|ws| {
            long_logs(ws);
            ws.write("src/open.rs", "fn work() {}\n");
        }),
        first: &[&["hook", "session-start"], &["hook", "stop"]],
        run: &["hook"],
        input: "{\"hook_event_name\":\"SessionStart\",\"session_id\":\"s3\",\"source\":\"startup\"}",
        ..PLAIN
    },
];

/// Commands that change no file of the user's, with arguments to show it.
pub static READERS: &[(&str, &[&str])] = &[
    ("search", &["search", "seeds"]),
    ("stats", &["stats"]),
    ("preview", &["preview", "knowledge/office.md"]),
    ("why", &["why", "--command", "cat -A x"]),
    ("replay", &["replay", "."]),
    ("audit", &["audit"]),
    ("mind show", &["mind", "show"]),
    ("mind health", &["mind", "health"]),
    ("mind session start", &["mind", "session", "start"]),
    ("mind idea list", &["mind", "idea", "list"]),
    (
        "agent context",
        &["agent", "context", "--for", "run", "--agent", "eng/builder"],
    ),
    ("agent recall", &["agent", "recall", "seeds"]),
    ("workspace sources list", &["workspace", "sources", "list"]),
    (
        "workspace closets check",
        &["workspace", "closets", "check"],
    ),
    (
        "workspace closets show",
        &["workspace", "closets", "show", "beans"],
    ),
    ("links check", &["links", "check"]),
    ("links suggest", &["links", "suggest"]),
    ("graph show", &["graph", "show", "beans"]),
    ("graph check", &["graph", "check"]),
    ("graph query", &["graph", "query"]),
    ("graph path", &["graph", "path", "beans", "plan"]),
    ("graph export", &["graph", "export", "--format", "dot"]),
    ("graph ask blocked", &["graph", "ask", "blocked"]),
    ("graph ask active", &["graph", "ask", "active"]),
    ("graph ask idle", &["graph", "ask", "idle"]),
    (
        "graph ask critical-path",
        &["graph", "ask", "critical-path"],
    ),
    ("graph ask done", &["graph", "ask", "done"]),
    ("graph ask rejections", &["graph", "ask", "rejections"]),
    ("graph ask impact", &["graph", "ask", "impact", "beans"]),
    ("graph ask path", &["graph", "ask", "path", "beans", "plan"]),
    // These write to a server alone, and here is none: they say so.
    ("graph push", &["graph", "push"]),
    ("graph status", &["graph", "status"]),
    ("graph drop", &["graph", "drop", "--yes"]),
    ("graph cypher", &["graph", "cypher", "RETURN 1"]),
    ("engine init", &["engine", "init"]),
    ("engine upgrade", &["engine", "upgrade", "--yes"]),
    ("engine check", &["engine", "check"]),
    ("engine member list", &["engine", "member", "list"]),
    ("engine member add", &["engine", "member", "add", "ann"]),
    (
        "engine member renew",
        &["engine", "member", "renew", "--yes"],
    ),
    (
        "engine member remove",
        &["engine", "member", "remove", "ann", "--yes"],
    ),
    ("engine tenant list", &["engine", "tenant", "list"]),
    (
        "engine tenant drop",
        &["engine", "tenant", "drop", "acme", "--yes"],
    ),
    ("engine push", &["engine", "push"]),
    ("engine search", &["engine", "search", "seeds"]),
    ("engine status", &["engine", "status"]),
    ("engine drop", &["engine", "drop", "--yes"]),
    // Files come from a server, in one change like any other.
    ("engine pull", &["engine", "pull", "billing"]),
    (
        "workspace manifest show",
        &["workspace", "manifest", "show"],
    ),
    ("workspace domain list", &["workspace", "domain", "list"]),
    ("status", &["status"]),
    ("config", &["config"]),
    ("completion", &["completion", "bash"]),
    ("man", &["man"]),
];

/// Both kinds of state at once, for the readers.
pub fn both() -> String {
    format!("{MIND}{}", OFFICE.trim_start_matches('\n'))
}

/// A file that agents load and that is too large.
fn overgrown(ws: &TestWorkspace) {
    let history = "The parser was rewritten in spring because the old one lost text. ".repeat(120);
    ws.write(
        "CLAUDE.md",
        format!("# Shop\r\n\r\n## Commands\r\n\r\nmake test\r\n\r\n## History\r\n\r\n{history}\r\n\r\nAsk Ada. <!-- keep -->\r\n"),
    );
}

/// More than is kept in full, with lines that the program does not know.
fn long_logs(ws: &TestWorkspace) {
    let mut decisions = String::from("# Decision Log\n\nWhy. <!-- mine -->\n\n");
    for number in 1..=14 {
        decisions.push_str(&format!(
            "## DEC-{number:03}: Question {number}\n- **Date:** 2025-10-{number:02}\n- **Decision:** Way {number}\n\n```text\n## DEC-999: code {number}\n```\n\n"
        ));
    }
    decisions.push_str(&"- a line that fills the file, with an ümlaut\n".repeat(300));
    ws.write(".mind/DECISIONS.md", decisions);
    let mut sessions = String::from("# Session Log\n\n");
    for number in 1..=9 {
        sessions.push_str(&format!(
            "## Session {number} — 2025-11-{number:02} 10:00:00\n- **Summary:** Part {number}\n- **Mood:** tired {number}\n\n"
        ));
    }
    sessions.push_str(&"- a remark that fills the file\n".repeat(450));
    ws.write(".mind/SESSION-LOG.md", sessions);
}

fn long_learnings(ws: &TestWorkspace) {
    let mut text = String::from("# Learnings\n\nBy hand.\n\n");
    for number in 1..=200 {
        text.push_str(&format!(
            "## 2025-{:02}-{:02}: Learning {number}\n\nFreezing clock {number} fixed the flaky billing tests.\n\n",
            number / 28 % 12 + 1,
            number % 28 + 1
        ));
    }
    ws.write(".agents/memory/eng/shared/learnings.md", &text);
    ws.write(".agents/memory/eng/builder/learnings.md", text);
}

fn many_decisions(ws: &TestWorkspace) {
    let mut text = String::from("# Decisions\n\n");
    for number in 0..120 {
        text.push_str(&format!(
            "**2025-{:02}-{:02}** - Decision {number} on the seeds\n",
            number / 10 % 12 + 1,
            number % 10 + 1
        ));
    }
    ws.write("memory/decisions.md", text);
    ws.write("garden/bean.md", "# Bean\n\nSee [[nowhere]].\n");
}

fn claude_mem(ws: &TestWorkspace) {
    let folder = ws.home().join(".claude-mem");
    std::fs::create_dir_all(&folder).expect("the home is ours");
    let db = rusqlite::Connection::open(folder.join("claude-mem.db")).expect("a new database");
    db.execute_batch(
        "create table sdk_sessions (id integer primary key, content_session_id text unique not null, memory_session_id text unique, project text not null, user_prompt text, started_at text not null, started_at_epoch integer not null);
         create table observations (id integer primary key, memory_session_id text not null, project text not null, text text, type text not null, title text, subtitle text, facts text, narrative text, concepts text, files_read text, files_modified text, created_at text not null, created_at_epoch integer not null);
         create table session_summaries (id integer primary key, memory_session_id text not null, project text not null, request text, investigated text, learned text, completed text, next_steps text, files_edited text, notes text, created_at text not null, created_at_epoch integer not null);
         create table user_prompts (id integer primary key, content_session_id text not null, prompt_number integer not null, prompt_text text not null, created_at text not null, created_at_epoch integer not null);
         insert into sdk_sessions values (1, 'c1', 'm1', 'ws', 'Speed up the billing', '2026-01-05T10:00:00.000Z', 1767607200000);
         insert into user_prompts values (1, 'c1', 1, 'Speed up the billing', '2026-01-05T10:00:00.000Z', 1767607200000);
         insert into observations values (1, 'm1', 'ws', null, 'bugfix', 'Cache was cold', 'Warm it', '[\"It starts cold\"]', 'The cache starts cold.', '[\"cache\"]', '[]', '[]', '2026-01-05T10:05:00.000Z', 1767607500000);",
    )
    .expect("a schema of theirs");
}
