//! The YAML block at the top of a document.
use std::ops::Range;

#[derive(Debug, Clone, PartialEq)]
pub struct FrontMatter {
    pub span: Range<usize>,
    pub yaml: Range<usize>,
    pub entries: Vec<(String, Value)>,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Value>),
    Map(Vec<(String, Value)>),
}
