//! Plans as text: a line per operator, what it reads from below it.

use std::fmt::Write;

use super::{Plan, Types, Way};

impl Plan {
    /// The plan as an indented tree.
    pub(crate) fn explain(&self) -> String {
        let mut out = String::new();
        self.line(0, &mut out);
        out
    }

    fn line(&self, depth: usize, out: &mut String) {
        if let Self::Prune(input, _) = self {
            return input.line(depth, out);
        }
        let _ = writeln!(out, "{}{}", "  ".repeat(depth), self.describe());
        for input in self.inputs() {
            input.line(depth + 1, out);
        }
    }

    fn describe(&self) -> String {
        match self {
            Self::Unit => "Unit".into(),
            Self::Argument => "Argument".into(),
            Self::NodeScan(p) => match &p.label {
                Some(label) => format!("NodeByLabelScan (#{}:{label})", p.slot),
                None => format!("AllNodesScan (#{})", p.slot),
            },
            Self::IndexSeek(p) => {
                let how = if p.from.is_some() || p.to.is_some() { "Range" } else { "" };
                format!("NodeIndexSeek{how} (#{}:{}({}))", p.slot, p.label, p.keys.join(", "))
            }
            Self::NodeById(p) => format!("NodeByIdSeek (#{})", p.slot),
            Self::Expand(p) => {
                let name = if p.into { "ExpandInto" } else { "Expand" };
                format!("{name} {}", arrow(p.from, p.edge, p.to, &p.types, p.way, ""))
            }
            Self::VarExpand(p) => {
                let max = p.max.map(|max| max.to_string()).unwrap_or_default();
                let length = format!("*{}..{max}", p.min);
                format!("VarExpand {}", arrow(p.from, p.edges, p.to, &p.types, p.way, &length))
            }
            Self::ShortestPath(p) => {
                let name = if p.all { "AllShortestPaths" } else { "ShortestPath" };
                format!("{name} {}", arrow(p.from, p.edges, p.to, &p.types, p.way, "*"))
            }
            Self::Repeat(p) => {
                let max = p.max.map(|max| max.to_string()).unwrap_or_default();
                format!("Repeat (#{}) {{{},{max}}} (#{})", p.from, p.min, p.to)
            }
            Self::Select(p) => {
                let what = if p.paths.groups { "SelectPathGroups" } else { "SelectPaths" };
                format!("{what} (#{}, #{})", p.slots[0], p.slots[p.slots.len() - 1])
            }
            Self::Filter(..) => "Filter".into(),
            Self::Extend(_, items) => format!("Projection ({})", list(items.iter().map(|i| i.0))),
            Self::Keep(_, slots) => format!("Keep ({})", list(slots.iter().copied())),
            Self::Prune(_, slots) => format!("Prune ({})", list(slots.iter().copied())),
            Self::Aggregate(p) => format!(
                "Aggregation (by {}; {})",
                list(p.keys.iter().map(|k| k.0)),
                p.aggregates.iter().map(|a| &*a.1.function).collect::<Vec<_>>().join(", ")
            ),
            Self::Distinct(_, slots) => format!("Distinct ({})", list(slots.iter().copied())),
            Self::Sort(p) => if p.top.is_some() { "Top" } else { "Sort" }.into(),
            Self::Skip(..) => "Skip".into(),
            Self::Limit(..) => "Limit".into(),
            Self::Unwind(_, slot, _) => format!("Unwind (#{slot})"),
            Self::Apply(p) => match (&p.optional, p.returns) {
                (Some(_), _) => "OptionalApply".into(),
                (None, true) => "Apply".into(),
                (None, false) => "SubqueryForeach".into(),
            },
            Self::Union(_) => "Union".into(),
            Self::Eager(_) => "Eager".into(),
            Self::Create(p) => format!("Create ({} steps)", p.steps.len()),
            Self::Merge(_) => "Merge".into(),
            Self::Set(_, items) => format!("SetItems ({})", items.len()),
            Self::Delete(p) => if p.detach { "DetachDelete" } else { "Delete" }.into(),
            Self::Foreach(p) => format!("Foreach (#{})", p.variable),
            Self::Call(p) => format!("ProcedureCall ({})", p.procedure),
            Self::LoadCsv(p) => format!("LoadCsv (#{})", p.slot),
        }
    }
}

fn list(slots: impl Iterator<Item = usize>) -> String {
    slots.map(|slot| format!("#{slot}")).collect::<Vec<_>>().join(", ")
}

fn arrow(from: usize, edge: usize, to: usize, types: &Types, way: Way, length: &str) -> String {
    let types = match types {
        Types::Any => String::new(),
        Types::Of(names) => format!(":{}", names.join("|")),
        Types::Where(_) => ":...".into(),
    };
    let (left, right) = match way {
        Way::Out => ("-", "->"),
        Way::In => ("<-", "-"),
        Way::Both => ("-", "-"),
    };
    format!("(#{from}){left}[#{edge}{types}{length}]{right}(#{to})")
}
