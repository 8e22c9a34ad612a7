//! The graph as a picture: one self-contained file, with the same bytes on
//! every machine. Positions come from springs and repulsion, computed with the
//! four operations and square roots alone, which every machine rounds alike.

use std::fmt::Write;

use super::export::{escape_xml, node_colour};
use super::{EdgeKind, NodeKind, WorkspaceGraph};

/// Maximum number of nodes that are drawn: those with the most edges.
pub const MAX_DRAWN_NODES: usize = 400;

/// Maximum number of labels; more would hide the picture, and the others are
/// tooltips.
const MAX_LABELS: usize = 90;

/// Renders the graph as a self-contained SVG picture.
pub fn render_svg(graph: &WorkspaceGraph) -> String {
    let all = count_degrees(graph);
    let mut chosen: Vec<u32> = (0..graph.nodes.len() as u32).collect();
    chosen.sort_by_key(|node| (usize::MAX - all[*node as usize], *node));
    chosen.truncate(MAX_DRAWN_NODES);
    chosen.sort_unstable();
    let left_out = graph.nodes.len() - chosen.len();
    let part = graph.subgraph_of(&chosen);
    let degrees = count_degrees(&part);
    let places = lay_out_nodes(&part, &degrees);
    draw_svg(&part, &degrees, &places, left_out)
}

/// Counts the edges at each node.
fn count_degrees(graph: &WorkspaceGraph) -> Vec<usize> {
    let mut degrees = vec![0; graph.nodes.len()];
    for edge in &graph.edges {
        degrees[edge.from as usize] += 1;
        degrees[edge.to as usize] += 1;
    }
    degrees
}

type DrawPoint = (f64, f64);

/// Computes positions with forces in rounds that cool down. Heavy nodes are
/// pulled to the middle, so that unconnected parts do not drift away.
fn lay_out_nodes(graph: &WorkspaceGraph, degrees: &[usize]) -> Vec<DrawPoint> {
    let count = graph.nodes.len();
    let mut places: Vec<DrawPoint> = (0..count).map(start_point).collect();
    let distance = 64.0;
    let rounds = 300;
    for round in 0..rounds {
        let mut forces = vec![(0.0, 0.0); count];
        for a in 0..count {
            for b in a + 1..count {
                let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
                let square = (dx * dx + dy * dy).max(1.0);
                // No repulsion beyond some distance, so that islands stay near.
                if square > 400.0 * 400.0 {
                    continue;
                }
                let push = distance * distance / square;
                forces[a].0 += dx * push;
                forces[a].1 += dy * push;
                forces[b].0 -= dx * push;
                forces[b].1 -= dy * push;
            }
        }
        for edge in &graph.edges {
            let (a, b) = (edge.from as usize, edge.to as usize);
            let (dx, dy) = (places[a].0 - places[b].0, places[a].1 - places[b].1);
            let length = (dx * dx + dy * dy).sqrt().max(1.0);
            // A hub must not pull everything into one heap.
            let crowd = (degrees[a].min(degrees[b]).max(1) as f64).sqrt();
            let pull = length / distance / crowd;
            forces[a].0 -= dx * pull;
            forces[a].1 -= dy * pull;
            forces[b].0 += dx * pull;
            forces[b].1 += dy * pull;
        }
        let heat = 40.0 * (1.0 - f64::from(round) / f64::from(rounds)) + 0.5;
        for (index, (place, force)) in places.iter_mut().zip(forces).enumerate() {
            // Nodes without edges would be pushed far out.
            let inwards = if degrees[index] == 0 { 0.3 } else { 0.06 };
            let (fx, fy) = (force.0 - place.0 * inwards, force.1 - place.1 * inwards);
            let size = (fx * fx + fy * fy).sqrt().max(0.001);
            let step = size.min(heat) / size;
            place.0 += fx * step;
            place.1 += fy * step;
        }
    }
    places
}

/// Returns a scattered position that is always the same: the fractions of two
/// multiples of roots.
fn start_point(index: usize) -> DrawPoint {
    let part = |factor: f64| {
        let value = (index as f64 + 1.0) * factor;
        (value - value.floor() - 0.5) * 600.0
    };
    // The inverse of the plastic number and its square, whose multiples spread
    // evenly.
    (part(0.754_877_666_246_693), part(0.569_840_290_998_053))
}

/// Returns the radius of a node with this many edges.
fn node_radius(degree: usize) -> f64 {
    4.0 + (degree as f64).sqrt() * 1.6
}

const SVG_STYLE: &str = "\
text{font:11px system-ui,sans-serif;fill:#222;paint-order:stroke;stroke:#fff;stroke-width:3px;\
stroke-linejoin:round}.e{stroke:#c4c8cd;stroke-width:1;fill:none}.t{stroke:#66707a;stroke-width:1.4;\
fill:none}.n{stroke:#4a5560;stroke-width:1}.m{stroke-dasharray:3 2}.k{font-size:9px;fill:#66707a}\
@media(prefers-color-scheme:dark){svg{background:#16191d}text{fill:#e6e8ea;stroke:#16191d}\
.e{stroke:#3c434b}.t{stroke:#98a2ad}}";

/// Renders edges, nodes, labels and legend.
fn draw_svg(
    graph: &WorkspaceGraph,
    degrees: &[usize],
    places: &[DrawPoint],
    left_out: usize,
) -> String {
    let (mut low, mut high) = ((0.0f64, 0.0f64), (0.0f64, 0.0f64));
    for (x, y) in places {
        low = (low.0.min(*x), low.1.min(*y));
        high = (high.0.max(*x), high.1.max(*y));
    }
    let (left, top) = (low.0 - 60.0, low.1 - 40.0);
    let (width, height) = (high.0 - low.0 + 220.0, high.1 - low.1 + 120.0);
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{left:.1} {top:.1} {width:.1} {height:.1}\" \
         width=\"{width:.0}\" height=\"{height:.0}\">\n<style>{SVG_STYLE}</style>\n\
         <defs><marker id=\"a\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"6\" \
         markerHeight=\"6\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\" fill=\"#66707a\"/></marker></defs>\n"
    );
    for edge in &graph.edges {
        let (a, b) = (places[edge.from as usize], places[edge.to as usize]);
        let (dx, dy) = (b.0 - a.0, b.1 - a.1);
        let length = (dx * dx + dy * dy).sqrt().max(1.0);
        // The line ends at the rim, where its arrow is visible.
        let end = node_radius(degrees[edge.to as usize]) + 2.0;
        let (x, y) = (b.0 - dx / length * end, b.1 - dy / length * end);
        let (class, arrow) = match edge.kind {
            EdgeKind::Links => ("e", ""),
            _ => ("t", " marker-end=\"url(#a)\""),
        };
        let _ = writeln!(
            out,
            "<path class=\"{class}\" d=\"M{:.1} {:.1}L{x:.1} {y:.1}\"{arrow}><title>{} {} {}</title></path>",
            a.0,
            a.1,
            escape_xml(&graph.node(edge.from).name),
            edge.kind.name(),
            escape_xml(&graph.node(edge.to).name)
        );
    }
    let labelled = choose_labelled(degrees);
    for (index, node) in graph.nodes.iter().enumerate() {
        let (x, y) = places[index];
        let class = if node.kind == NodeKind::Missing {
            "n m"
        } else {
            "n"
        };
        let about = node.title.as_deref().unwrap_or(&node.id);
        let _ = writeln!(
            out,
            "<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{:.1}\" fill=\"{}\"><title>{} — {}</title></circle>",
            node_radius(degrees[index]),
            node_colour(node.kind),
            escape_xml(&node.name),
            escape_xml(about)
        );
    }
    for (index, node) in graph.nodes.iter().enumerate() {
        if labelled[index] {
            let (x, y) = (
                places[index].0 + node_radius(degrees[index]) + 3.0,
                places[index].1 + 4.0,
            );
            let _ = writeln!(
                out,
                "<text x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
                shorten_label(&node.name)
            );
        }
    }
    draw_legend(&mut out, graph, (left, top + height), left_out);
    out.push_str("</svg>\n");
    out
}

/// Selects the nodes with the most edges for labels.
fn choose_labelled(degrees: &[usize]) -> Vec<bool> {
    let mut order: Vec<usize> = (0..degrees.len()).collect();
    order.sort_by_key(|index| (usize::MAX - degrees[*index], *index));
    let mut labelled = vec![false; degrees.len()];
    for index in order.into_iter().take(MAX_LABELS) {
        labelled[index] = true;
    }
    labelled
}

/// Escapes a name and truncates it.
fn shorten_label(name: &str) -> String {
    const MAX_LABEL_CHARS: usize = 36;
    if name.chars().count() <= MAX_LABEL_CHARS {
        return escape_xml(name);
    }
    let start: String = name.chars().take(MAX_LABEL_CHARS - 1).collect();
    escape_xml(&format!("{}…", start.trim_end()))
}

/// Renders the number of nodes of each kind.
fn draw_legend(out: &mut String, graph: &WorkspaceGraph, corner: DrawPoint, left_out: usize) {
    let mut x = corner.0 + 14.0;
    let y = corner.1 - 14.0;
    for kind in NodeKind::ALL {
        let count = graph.nodes.iter().filter(|node| node.kind == kind).count();
        if count == 0 {
            continue;
        }
        let text = format!("{} {count}", kind.name());
        let _ = writeln!(
            out,
            "<circle class=\"n\" cx=\"{x:.1}\" cy=\"{:.1}\" r=\"5\" fill=\"{}\"/><text class=\"k\" x=\"{:.1}\" y=\"{y:.1}\">{text}</text>",
            y - 3.0,
            node_colour(kind),
            x + 9.0
        );
        x += 26.0 + text.len() as f64 * 5.5;
    }
    if left_out > 0 {
        let _ = writeln!(
            out,
            "<text class=\"k\" x=\"{x:.1}\" y=\"{y:.1}\">{left_out} with fewer edges are not drawn</text>"
        );
    }
}
