use testkit::TestWorkspace;

use super::*;

#[test]
fn garbage_names_make_no_folders() {
    let bad = [
        "",
        " ",
        "0",
        "null",
        "NULL",
        "undefined",
        "None",
        "NaN",
        ".",
        "..",
        "a/b",
        "a\\b",
        "x.md",
        ".hidden",
        " x",
        "x\n",
        "...",
    ];
    for name in bad {
        for home in [
            MemoryHome::for_agent(name, "a"),
            MemoryHome::for_agent("s", name),
        ] {
            let error = home.expect_err(name).to_string();
            assert!(error.contains("cli#1045"), "{name:?}: {error}");
        }
    }
    for name in ["eng", "Engineering Team", "10", "nano", "ünï"] {
        assert!(MemoryHome::for_agent(name, name).is_ok(), "{name}");
    }
}

#[test]
fn an_agent_is_found_by_its_name_where_it_is_the_only_one() {
    let ws = TestWorkspace::files(
        "//- .agents/memory/eng/builder/state.md\nx\n\
         //- .agents/memory/eng/lead/state.md\nx\n\
         //- .agents/memory/eng/shared/learnings.md\nx\n\
         //- .agents/memory/ops/lead/state.md\nx\n\
         //- .agents/memory/undefined/x/state.md\nx\n",
    );
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let found =
        |name| MemoryHome::find_by_name(&workspace, name).map(|home| home.folder().to_string());
    let names: Vec<String> = MemoryHome::list_agent_homes(&workspace)
        .iter()
        .map(MemoryHome::to_string)
        .collect();
    assert_eq!(names, ["eng/builder", "eng/lead", "ops/lead"]);
    assert_eq!(found("builder").expect("one"), ".agents/memory/eng/builder");
    assert_eq!(found("ops/new").expect("in full"), ".agents/memory/ops/new");
    assert_eq!(found("knowledge").expect("its own"), "knowledge");
    let error = |name| found(name).expect_err(name).to_string();
    assert_eq!(error("lead"), "`lead` may mean `eng/lead` or `ops/lead`");
    assert_eq!(
        error("nobody"),
        "There is no memory of an agent called `nobody`"
    );
    assert!(error("../x").contains("cli#1045"));
}

#[test]
fn without_the_folder_it_says_so() {
    let ws = TestWorkspace::empty();
    let workspace = Workspace::open(ws.root()).expect("it is a folder");
    let error = MemoryHome::find_by_name(&workspace, "lead").expect_err("there is none");
    assert_eq!(error.to_string(), "No .agents/memory directory found");
}
