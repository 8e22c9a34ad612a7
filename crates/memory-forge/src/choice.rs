//! Reads words that a person or a program chooses from: the enums of the
//! library, by their names. A command line, a request of the page and a tool of
//! MCP read them through this trait, since clap's own cannot be implemented
//! here for a type of another crate.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use forge_app::client::AgentClient;
use forge_app::index::DocumentKind;
use forge_app::recall::RecallMode;
use forge_app::search::SearchScope;
use forge_clients::setup::{self, HookSet};

/// Enum of the library whose values have names.
pub(crate) trait Choice: Copy + Send + Sync + 'static {
    /// Returns all values, in the order in which they are listed.
    fn all() -> &'static [Self];
    /// Returns the name that a person types.
    fn name(self) -> &'static str;
    /// Returns the meaning, for a list of possible values.
    fn description(self) -> &'static str;

    /// Returns the value of this name, in any case, or `None`.
    fn parse(name: &str) -> Option<Self> {
        let mut all = Self::all().iter().copied();
        all.find(|it| it.name().eq_ignore_ascii_case(name))
    }
}

/// Returns a parser of arguments that lists the values with what they mean.
pub(crate) fn parser<T: Choice>() -> impl TypedValueParser<Value = T> {
    let values = T::all()
        .iter()
        .map(|it| PossibleValue::new(it.name()).help(it.description()));
    PossibleValuesParser::new(values).try_map(|name| T::parse(&name).ok_or("it is not listed"))
}

/// Returns a parser of arguments that lists these clients.
pub(crate) fn client_parser(
    listed: impl IntoIterator<Item = AgentClient>,
) -> impl TypedValueParser<Value = AgentClient> {
    PossibleValuesParser::new(listed.into_iter().map(AgentClient::name))
        .try_map(|name| AgentClient::from_name(&name).ok_or("it is not listed"))
}

macro_rules! choices {
    ($($type:ty),*) => {$(
        impl Choice for $type {
            fn all() -> &'static [Self] {
                &Self::ALL
            }
            fn name(self) -> &'static str {
                Self::name(self)
            }
            fn description(self) -> &'static str {
                Self::description(self)
            }
        }
    )*};
}

choices!(
    DocumentKind,
    RecallMode,
    SearchScope,
    setup::SetupScope,
    HookSet
);
