//! Documents to begin with: what an agent needs to know about a kind of project
//! before it changes it, as headings with questions. The questions are
//! comments, so that editors show them and a rendered page shows answers alone.

/// A kind of project.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkspaceTemplate {
    /// An application in a browser.
    WebApp,
    /// A command line program.
    Cli,
    /// A library.
    Library,
}

impl WorkspaceTemplate {
    /// All templates.
    pub const ALL: [WorkspaceTemplate; 3] = [
        WorkspaceTemplate::WebApp,
        WorkspaceTemplate::Cli,
        WorkspaceTemplate::Library,
    ];

    /// Returns the documents with their paths.
    pub fn template_files(self) -> [(&'static str, &'static str); 3] {
        match self {
            WorkspaceTemplate::WebApp => [
                ("knowledge/architecture.md", WEB_APP_ARCHITECTURE),
                ("knowledge/operations.md", WEB_APP_OPERATIONS),
                ("knowledge/conventions.md", CONVENTIONS_TEXT),
            ],
            WorkspaceTemplate::Cli => [
                ("knowledge/commands.md", CLI_COMMANDS),
                ("knowledge/releases.md", CLI_RELEASES),
                ("knowledge/conventions.md", CONVENTIONS_TEXT),
            ],
            WorkspaceTemplate::Library => [
                ("knowledge/public-api.md", LIBRARY_API),
                ("knowledge/releases.md", LIBRARY_RELEASES),
                ("knowledge/conventions.md", CONVENTIONS_TEXT),
            ],
        }
    }
}

const WEB_APP_ARCHITECTURE: &str = "\
# Architecture

How a request travels through this application, and where its data is.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Request path
<!-- Which process takes a request? Router, middleware, handler, template: name the folders. -->

## Data
<!-- Which stores, which one is the truth, how does the schema change, what must never be edited by hand? -->

## Sessions and permissions
<!-- How does a user sign in? Where is it decided what they may see, and where must that check not be forgotten? -->

## Background work
<!-- Queues, schedules, webhooks: what runs outside of requests, and what happens when it runs twice? -->

## Other services
<!-- What is called over the network, with which timeouts, and what does the user see when it is down? -->
";

const WEB_APP_OPERATIONS: &str = "\
# Operations

How this application is run, configured and released.

<!-- Answer below each heading in a few sentences; delete what does not apply. Name where secrets are kept, never the secrets. -->

## Running it locally
<!-- Commands, services that must run, how to get data to work with. -->

## Environments
<!-- Which are there, how do they differ, who may change them? -->

## Configuration
<!-- Which variables matter, their defaults, where they are set. -->

## Deployment
<!-- The steps, in what order migrations and code go out, how to go back. -->

## When it breaks
<!-- Where are logs and dashboards, what failed before, and what helped? -->
";

const CLI_COMMANDS: &str = "\
# Commands

What this program promises to the people and scripts that call it.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Entry point and parsing
<!-- Where are arguments parsed, and what is the way from there to a command's code? -->

## Output
<!-- What goes to standard output and what to standard error? Which formats do scripts rely on? -->

## Exit codes
<!-- Which codes are there, and what does each mean? -->

## Configuration
<!-- Flags, environment, files: what wins, and where are the files? -->

## Platforms
<!-- Which systems and shells are supported, and where do they differ (paths, terminals, signals)? -->
";

const CLI_RELEASES: &str = "\
# Releases

How a version is made and what must not change between versions.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Compatibility
<!-- Which flags, outputs and files are promised, and how is one deprecated? -->

## Making a release
<!-- The steps, who may do it, where the packages go. -->

## Packaging
<!-- How is it installed: package managers, archives, completions, manual pages? -->
";

const LIBRARY_API: &str = "\
# Public API

What callers may rely on, and what is free to change.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Surface
<!-- Which modules and types are public? What is public by accident? -->

## Guarantees
<!-- Errors, panics, threads, ordering, performance: what is promised, and which test holds it? -->

## Extension points
<!-- Traits, hooks, options: how is the library meant to be extended? -->

## Supported versions
<!-- Language versions, platforms, dependencies: the oldest that must work. -->

## Examples that must compile
<!-- Where are they, and how are they checked? -->
";

const LIBRARY_RELEASES: &str = "\
# Releases

How a version is numbered, made and announced.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Versioning
<!-- What counts as a breaking change here, and who decides? -->

## Deprecation
<!-- How is something marked, and for how long does it stay? -->

## Making a release
<!-- The steps, who may do it, where it is published. -->
";

const CONVENTIONS_TEXT: &str = "\
# Conventions

What a reviewer of this project asks for and no tool checks.

<!-- Answer below each heading in a few sentences; delete what does not apply. -->

## Layout
<!-- What belongs where, and which folder must not depend on which? -->

## Errors and logging
<!-- How is a failure reported, and what may never be logged? -->

## Tests
<!-- Which kind for what, how to run one of them, what is slow or flaky? -->

## Traps
<!-- What surprised the last person who changed something here? -->
";
