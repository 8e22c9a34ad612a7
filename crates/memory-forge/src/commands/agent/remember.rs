//! `agent remember`: a topic and the pointer to it, written together.

use clap::{Args, ValueEnum};
use forge_app::agents::remember::{
    NewTopic, RememberedTopic, TopicUpdate, remember_topic, update_topic,
};
use forge_app::agents::topics::TopicType;
use forge_app::workspace::Workspace;

use super::{AgentSelector, text_or_input};
use crate::report::{CommandError, CommandExit};
use crate::settings::Settings;
use crate::ui::{Ui, escape_hidden};

/// Keep something for later as a topic, and point to it from `MEMORY.md`
///
/// Keep what cannot be read elsewhere: who people are and what they want, why
/// things are as they are, where something is found. Do not keep patterns of
/// the code, the history of git, how a bug was hunted down, or where today's
/// task stands: the first three are in the repository, and `mind` is for the
/// last. Secrets, and repetitions of a topic, are refused.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  memory-forge agent remember \"Deploy window\" --agent eng/builder --type project \\
      --content \"Deploys go out on Tuesdays, since support is staffed then.\"
  memory-forge agent remember \"Reviews\" --type feedback < notes.md
  memory-forge agent remember --update deploy-window.md --content \"Also on Thursdays.\"
  memory-forge agent remember --update deploy-window.md --section Why --content \"…\"")]
pub(crate) struct RememberArgs {
    /// Its name; the file's name is made from it
    #[arg(required_unless_present = "update")]
    name: Option<String>,

    #[command(flatten)]
    whose: AgentSelector,

    /// The text; read from standard input when this is absent
    #[arg(long, short)]
    content: Option<String>,

    /// One line for `MEMORY.md` [default: the first sentence of the text]
    #[arg(long, short)]
    description: Option<String>,

    /// What it is about [default: project]
    #[arg(long = "type", short = 't', value_name = "TYPE")]
    kind: Option<TopicKindChoice>,

    /// From 1 to 10; what is important keeps its place in the index longer
    #[arg(long, value_name = "1-10", value_parser = clap::value_parser!(u8).range(1..=10))]
    importance: Option<u8>,

    /// Keep it on this machine, in a file that git ignores
    #[arg(long, conflicts_with = "shared")]
    private: bool,

    /// Share it, though it is about a person
    #[arg(long)]
    shared: bool,

    /// Keep it although a topic looks like it
    #[arg(long)]
    new: bool,

    /// Add to this topic instead; what is in it stays
    #[arg(long, value_name = "FILE", conflicts_with_all = ["name", "new", "private", "shared"])]
    update: Option<String>,

    /// With `--update`: give this section the text, and leave the others
    #[arg(long, value_name = "TITLE", requires = "update")]
    section: Option<String>,

    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum TopicKindChoice {
    /// About a person: stays on this machine unless `--shared`
    User,
    /// How a person wants the work to be done
    Feedback,
    /// About the project
    Project,
    /// Where something is to be found
    Reference,
}

impl TopicKindChoice {
    fn to_kind(self) -> TopicType {
        match self {
            TopicKindChoice::User => TopicType::User,
            TopicKindChoice::Feedback => TopicType::Feedback,
            TopicKindChoice::Project => TopicType::Project,
            TopicKindChoice::Reference => TopicType::Reference,
        }
    }
}

pub(super) fn run_agent_remember(
    args: &RememberArgs,
    workspace: &Workspace,
    settings: &Settings,
    ui: &mut Ui,
) -> Result<CommandExit, CommandError> {
    let home = args.whose.select_one(workspace)?;
    let only_fields =
        args.description.is_some() || args.kind.is_some() || args.importance.is_some();
    // An update may leave the text alone.
    let body = match (&args.content, args.update.is_some() && only_fields) {
        (None, true) => String::new(),
        (content, _) => text_or_input(content.as_deref(), settings)?,
    };
    let kind = args.kind.map(TopicKindChoice::to_kind);
    let done = match (&args.update, &args.name) {
        (Some(file), _) => {
            let change = TopicUpdate {
                description: args.description.as_deref(),
                kind,
                importance: args.importance,
                body: &body,
                section: args.section.as_deref(),
            };
            if body.trim().is_empty() && !only_fields {
                return Err(forge_app::agents::AgentError::NoText.into());
            }
            update_topic(workspace, &home, file, &change, settings.now)?
        }
        (None, name) => {
            let new = NewTopic {
                name: name.as_deref().unwrap_or_default(),
                description: args.description.as_deref(),
                kind: kind.unwrap_or(TopicType::Project),
                body: &body,
                importance: args.importance,
                private: match (args.private, args.shared) {
                    (true, _) => Some(true),
                    (_, true) => Some(false),
                    _ => None,
                },
                allow_similar: args.new,
            };
            remember_topic(workspace, &home, &new, settings.now)?
        }
    };
    show_remembered(&done, args, ui)?;
    Ok(CommandExit::Success)
}

fn show_remembered(
    done: &RememberedTopic,
    args: &RememberArgs,
    ui: &mut Ui,
) -> Result<(), CommandError> {
    let changed: Vec<&str> = done.receipt.files.iter().map(|it| it.as_str()).collect();
    if args.json {
        return ui.print_json(&serde_json::json!({
            "version": 1, "path": done.path.as_str(), "index": done.index.as_str(),
            "changed": changed, "change": done.receipt.id,
        }));
    }
    let path = escape_hidden(done.path.as_str());
    match done.receipt.id {
        Some(_) => ui.print_line(&format!("✓ Remembered in {path}"))?,
        None => ui.print_line(&format!("{path} contains this already"))?,
    }
    ui.note(&format!(
        "{} points to it",
        escape_hidden(done.index.as_str())
    ));
    for file in done.indexed.files.iter().filter(|file| file.more > 0) {
        ui.note(&format!(
            "{} is full: {} topics are on further pages",
            escape_hidden(file.path.as_str()),
            file.more
        ));
    }
    for problem in &done.indexed.problems {
        ui.warn(&escape_hidden(problem));
    }
    Ok(())
}
