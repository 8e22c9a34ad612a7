//! Exports of the graph in the formats of other programs. No name of a note can
//! break a format: each is quoted or escaped.

use std::fmt::Write;

use super::{EdgeKind, NodeKind, WorkspaceGraph};

/// Renders the graph for Graphviz.
pub fn render_dot(graph: &WorkspaceGraph) -> String {
    let mut out = String::from(
        "digraph memory {\n  graph [overlap=false, splines=true];\n  \
         node [shape=box, style=\"rounded,filled\", fontname=\"Helvetica\", fillcolor=\"#f4f4f4\"];\n  \
         edge [fontname=\"Helvetica\", fontsize=10];\n",
    );
    for (index, node) in graph.nodes.iter().enumerate() {
        let style = match node.kind {
            NodeKind::Missing => ", style=\"rounded,dashed\"",
            _ => "",
        };
        let _ = writeln!(
            out,
            "  n{index} [label={}, tooltip={}, fillcolor=\"{}\"{style}];",
            quote_dot(&node.name),
            quote_dot(&node.id),
            node_colour(node.kind)
        );
    }
    for edge in &graph.edges {
        let (from, to) = (edge.from, edge.to);
        let _ = match edge.kind {
            EdgeKind::Links => writeln!(out, "  n{from} -> n{to} [color=\"#bbbbbb\"];"),
            kind => writeln!(
                out,
                "  n{from} -> n{to} [label={}];",
                quote_dot(kind.name())
            ),
        };
    }
    out.push_str("}\n");
    out
}

/// Renders the graph as GraphML for yEd, Gephi and networkx.
pub fn render_graphml(graph: &WorkspaceGraph) -> String {
    let mut out = String::from(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n",
    );
    for (id, name) in [
        ("name", "name"),
        ("kind", "kind"),
        ("type", "type"),
        ("status", "status"),
        ("date", "date"),
        ("title", "title"),
    ] {
        let _ = writeln!(
            out,
            "  <key id=\"{id}\" for=\"node\" attr.name=\"{name}\" attr.type=\"string\"/>"
        );
    }
    for (id, name) in [("edge", "edge"), ("relation", "relation")] {
        let _ = writeln!(
            out,
            "  <key id=\"{id}\" for=\"edge\" attr.name=\"{name}\" attr.type=\"string\"/>"
        );
    }
    out.push_str("  <graph id=\"memory\" edgedefault=\"directed\">\n");
    for node in &graph.nodes {
        let _ = writeln!(out, "    <node id=\"{}\">", escape_xml(&node.id));
        let data = [
            ("name", Some(node.name.as_str())),
            ("kind", Some(node.kind.name())),
            ("type", node.type_name.as_deref()),
            ("status", node.status.as_deref()),
            ("date", node.date.as_deref()),
            ("title", node.title.as_deref()),
        ];
        for (key, value) in data {
            if let Some(value) = value {
                let _ = writeln!(
                    out,
                    "      <data key=\"{key}\">{}</data>",
                    escape_xml(value)
                );
            }
        }
        out.push_str("    </node>\n");
    }
    for edge in &graph.edges {
        let (from, to) = (graph.node(edge.from), graph.node(edge.to));
        let _ = writeln!(
            out,
            "    <edge source=\"{}\" target=\"{}\">\n      <data key=\"edge\">{}</data>\n      \
             <data key=\"relation\">{}</data>\n    </edge>",
            escape_xml(&from.id),
            escape_xml(&to.id),
            edge.kind.name(),
            edge.kind.to_relation().0.name(),
        );
    }
    out.push_str("  </graph>\n</graphml>\n");
    out
}

/// Returns the fill colour of a kind.
pub(super) fn node_colour(kind: NodeKind) -> &'static str {
    match kind {
        NodeKind::Project => "#f6c344",
        NodeKind::Task => "#8fd19e",
        NodeKind::Agent => "#9ad0d3",
        NodeKind::Person => "#f4a6a0",
        NodeKind::Decision => "#b7a3e3",
        NodeKind::Artifact => "#cfd4da",
        NodeKind::Knowledge => "#8ab6f9",
        NodeKind::Missing => "#ffffff",
    }
}

/// Quotes a text for Graphviz.
fn quote_dot(text: &str) -> String {
    let mut out = String::from("\"");
    for char in text.chars() {
        match char {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            c if c.is_control() => out.push(' '),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Escapes a text for XML; characters that XML cannot contain become spaces.
pub fn escape_xml(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            c => out.push(c),
        }
    }
    out
}
