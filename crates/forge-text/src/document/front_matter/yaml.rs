//! YAML in, values out. Writing is `edit`'s, line by line; nothing is written here.

use std::collections::HashSet;
use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_saphyr::MessageFormatter;

/// A YAML value. Dates stay text.
#[derive(Debug, Clone, PartialEq)]
pub enum YamlValue {
    /// No value.
    Null,
    /// A boolean.
    Bool(bool),
    /// A whole number.
    Int(i64),
    /// A number with a fraction.
    Float(f64),
    /// A text, or a date.
    Text(String),
    /// A list.
    List(Vec<YamlValue>),
    /// A mapping, in the order of the file.
    Map(Vec<(String, YamlValue)>),
}

impl fmt::Display for YamlValue {
    /// Scalars as a person would write them, lists and maps as flow YAML.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            YamlValue::Null => f.write_str("null"),
            YamlValue::Bool(value) => value.fmt(f),
            YamlValue::Int(value) => value.fmt(f),
            YamlValue::Float(value) => value.fmt(f),
            YamlValue::Text(value) => f.write_str(value),
            YamlValue::List(_) | YamlValue::Map(_) => f.write_str(&super::edit::format_flow(self)),
        }
    }
}

/// An error of parsing YAML; line and column count from 1 within the YAML, and
/// are 0 where unknown.
#[derive(Debug)]
pub struct YamlError {
    /// The line within the YAML.
    pub line: usize,
    /// The column in that line.
    pub column: usize,
    /// What the parser could not read.
    pub message: String,
}

/// Parses the top-level entries, in the order of the text. Empty YAML has none.
pub fn parse_yaml(yaml: &str) -> Result<Vec<(String, YamlValue)>, YamlError> {
    if yaml.bytes().all(|byte| byte.is_ascii_whitespace()) {
        return Ok(Vec::new());
    }
    let options = serde_saphyr::options! {
        // `yes` and `no` stay text, as in YAML 1.2.
        strict_booleans: true,
        with_snippet: false,
        non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        // Aliases of aliases would grow without end.
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: 10_000 },
    };
    match serde_saphyr::from_str_with_options(yaml, options) {
        Ok(YamlValue::Map(entries)) => Ok(entries),
        Ok(YamlValue::Null) => Ok(Vec::new()),
        Ok(_) => Err(YamlError {
            line: 1,
            column: 0,
            message: "expected `key: value` lines".to_owned(),
        }),
        Err(error) => {
            let place = error.location();
            let message = match error.without_snippet() {
                serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } => {
                    format!("the key `{key}` appears twice")
                }
                error => serde_saphyr::UserMessageFormatter
                    .format_message(error)
                    .into_owned(),
            };
            Err(YamlError {
                line: place.map_or(0, |place| place.line() as usize),
                column: place.map_or(0, |place| place.column() as usize),
                message,
            })
        }
    }
}

impl<'de> Deserialize<'de> for YamlValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<YamlValue, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = YamlValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_none<E>(self) -> Result<YamlValue, E> {
        Ok(YamlValue::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<YamlValue, D::Error> {
        YamlValue::deserialize(deserializer)
    }

    fn visit_bool<E>(self, value: bool) -> Result<YamlValue, E> {
        Ok(YamlValue::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<YamlValue, E> {
        Ok(YamlValue::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<YamlValue, E> {
        Ok(
            i64::try_from(value)
                .map_or_else(|_| YamlValue::Text(value.to_string()), YamlValue::Int),
        )
    }

    fn visit_i128<E>(self, value: i128) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value.to_string()))
    }

    fn visit_u128<E>(self, value: u128) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value.to_string()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<YamlValue, E> {
        Ok(YamlValue::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(value))
    }

    fn visit_bytes<E>(self, value: &[u8]) -> Result<YamlValue, E> {
        Ok(YamlValue::Text(String::from_utf8_lossy(value).into_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = access.next_element()? {
            values.push(value);
        }
        Ok(YamlValue::List(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<YamlValue, A::Error> {
        let mut entries = Vec::new();
        let mut known = HashSet::new();
        while let Some((key, value)) = access.next_entry::<YamlValue, YamlValue>()? {
            let key = key.to_string();
            // `1` and `"1"` are two to YAML, and one name to everyone else.
            if !known.insert(key.clone()) {
                return Err(A::Error::custom(format!("the key `{key}` appears twice")));
            }
            entries.push((key, value));
        }
        Ok(YamlValue::Map(entries))
    }
}
