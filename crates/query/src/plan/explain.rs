//! Plans as people read them.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::{Counted, CreateStep, LabelName, NextKey, Plan, SetItem, Sought, Types, Way};
use crate::batch::Slot;
use crate::description::{Measured, PlanDescription};
use crate::estimate::{Counts, Facts};
use crate::expr::Expr;
use crate::expr::area::Area;
use crate::expr::print::{self, Printer};

/// What is known beside the plan.
pub(crate) struct Explainer<'a> {
    /// Names of variables, by slot.
    pub(crate) names: &'a [Arc<str>],
    pub(crate) counts: Counts<'a>,
    /// What operators did, by address; `None` unless they ran for this.
    pub(crate) measured: Option<HashMap<usize, Measured>>,
}

impl Explainer<'_> {
    /// The tree for people.
    pub(crate) fn describe(&self, plan: &Plan) -> PlanDescription {
        let mut live = Vec::new();
        self.node(plan, &mut live, 1.0, &mut Facts::default()).0
    }

    /// Describes a plan that begins with `outer` rows and the variables in `live`; afterwards those
    /// are in `live` that its rows have. Also how many rows are expected.
    fn node(
        &self,
        plan: &Plan,
        live: &mut Vec<Slot>,
        outer: f64,
        facts: &mut Facts,
    ) -> (PlanDescription, f64) {
        if let Plan::Prune(input, slots) = plan {
            // It does nothing that anybody would want to know.
            let described = self.node(input, live, outer, facts);
            let kept: HashSet<Slot> = slots.iter().copied().collect();
            live.retain(|slot| kept.contains(slot));
            return described;
        }
        if let Plan::Parallel(p) = plan {
            // Who does it is not a part of what is done.
            return self.node(&p.input, live, outer, facts);
        }
        let (before, known) = (
            live.clone(),
            match plan {
                Plan::Union(_) => facts.clone(),
                _ => Facts::default(),
            },
        );
        let mut children = Vec::new();
        let mut rows = Vec::new();
        for (at, input) in plan.inputs().into_iter().enumerate() {
            // What comes second begins with the rows of the first, or, in a union, with the same.
            // The other side of a join begins with nothing.
            let of_first = live.clone();
            match plan {
                Plan::Union(_) => {
                    live.clone_from(&before);
                    facts.clone_from(&known);
                }
                Plan::HashJoin(_) if at > 0 => live.clear(),
                _ => {}
            }
            let inner = at > 0 && !matches!(plan, Plan::Union(_));
            let outer = if inner { 1.0 } else { outer };
            let (child, expected) = match inner {
                true => facts.inside(|facts| self.node(input, live, outer, facts)),
                false => self.node(input, live, outer, facts),
            };
            if let (Plan::HashJoin(_), 1) = (plan, at) {
                live.splice(0..0, of_first);
                let mut seen = HashSet::new();
                live.retain(|slot| seen.insert(*slot));
            }
            children.push(child);
            rows.push(expected);
        }
        match plan {
            Plan::Keep(_, slots) => live.clone_from(slots),
            Plan::Aggregate(_) => *live = plan.bound_slots(),
            _ => live.extend(plan.bound_slots()),
        }
        let mut subplans: Vec<&Plan> = Vec::new();
        plan.subqueries(&mut |inner| subplans.push(inner));
        for inner in subplans {
            let mut facts = facts.clone();
            let inside = |facts: &mut Facts| self.node(inner, &mut live.clone(), 1.0, facts).0;
            children.push(facts.inside(inside));
        }
        let expected = self.counts.rows(plan, &rows, outer, facts);
        let (operator, details) = self.line(plan);
        let measured = self.measured.as_ref();
        let measured = measured.map(|m| m.get(&plan.address()).copied().unwrap_or_default());
        let estimated_rows = expected;
        let identifiers = self.identifiers(live);
        let description =
            PlanDescription { operator, details, identifiers, estimated_rows, measured, children };
        (description, expected)
    }

    /// Names of live variables that a query can write.
    fn identifiers(&self, live: &[Slot]) -> Vec<Arc<str>> {
        let mut met = HashSet::new();
        let written = |name: &&Arc<str>| !name.starts_with("anon_") && !name.starts_with('\0');
        let names = live.iter().filter_map(|slot| self.names.get(*slot)).filter(written);
        names.filter(|name| met.insert(*name)).cloned().collect()
    }

    /// Name and details of the operator alone.
    fn line(&self, plan: &Plan) -> (&'static str, String) {
        let p = Printer(self.names);
        match plan {
            Plan::Unit => ("Unit", String::new()),
            Plan::Argument => ("Argument", String::new()),
            Plan::Match(m) => ("Match", p.slots(m.pattern.nodes.iter().copied())),
            Plan::NodeScan(s) => match &s.label {
                Some(label) => {
                    ("NodeByLabelScan", format!("({}:{})", p.slot(s.slot), print::name(label)))
                }
                None => ("AllNodesScan", format!("({})", p.slot(s.slot))),
            },
            Plan::IndexSeek(s) => self.seek(s),
            Plan::RelationshipSeek(s) => self.relationship_seek(s),
            Plan::NodeById(s) => {
                let function = if s.element { "elementId" } else { "id" };
                let (slot, id) = (p.slot(s.slot), p.expr(&s.id));
                ("NodeByIdSeek", format!("({slot}) {function}({slot}) = {id}"))
            }
            Plan::Expand(e) => {
                let name = if e.into { "ExpandInto" } else { "Expand" };
                let inner = format!("{}{}", p.slot(e.edge), self.types(&e.types));
                (name, arrow(&p.slot(e.from), &inner, &p.slot(e.to), e.way))
            }
            Plan::Intersect(i) => {
                let leg = |leg: &super::Leg| {
                    let inner = format!("{}{}", p.slot(leg.edge), self.types(&leg.types));
                    arrow(&p.slot(leg.from), &inner, &p.slot(i.to), leg.way)
                };
                ("Intersect", i.legs.iter().map(leg).collect::<Vec<_>>().join(", "))
            }
            Plan::Degrees(d) => {
                let label = d.label.as_ref().map(|label| format!(":{}", print::name(label)));
                let to = label.unwrap_or_default();
                let pattern = arrow(&p.slot(d.from), &self.types(&d.types), &to, d.way);
                let except = match &d.except[..] {
                    [] => String::new(),
                    except => format!(" <> {}", p.slots(except.iter().copied())),
                };
                let times = d.times.map(|times| format!(" * {}", p.slot(times)));
                let times = times.unwrap_or_default();
                let name = if d.optional { "OptionalExpandCount" } else { "ExpandCount" };
                (name, format!("{pattern}{except}{times} AS {}", p.slot(d.count)))
            }
            Plan::HashJoin(j) => self.join(j),
            Plan::VarExpand(e) => {
                let name = match (e.once, e.into) {
                    (true, false) => "PruningVarExpand",
                    (true, true) => "PruningVarExpandInto",
                    (false, false) => "VarExpand",
                    (false, true) => "VarExpandInto",
                };
                let max = e.max.map(|max| max.to_string()).unwrap_or_default();
                let types = self.types(&e.types);
                let inner = format!("{}{types}*{}..{max}", p.slot(e.edges), e.min);
                let pattern = arrow(&p.slot(e.from), &inner, &p.slot(e.to), e.way);
                (name, pattern + &self.each(e.filter.as_ref()))
            }
            Plan::ShortestPath(e) => {
                let name = if e.all { "AllShortestPaths" } else { "ShortestPath" };
                let max = e.max.map(|max| max.to_string()).unwrap_or_default();
                let types = self.types(&e.types);
                let inner = format!("{}{types}*{}..{max}", p.slot(e.edges), e.min);
                let pattern = arrow(&p.slot(e.from), &inner, &p.slot(e.to), e.way);
                (name, pattern + &self.each(e.filter.as_ref()))
            }
            Plan::Repeat(r) => {
                let max = r.max.map(|max| max.to_string()).unwrap_or_default();
                let (from, to) = (p.slot(r.from), p.slot(r.to));
                let name = if r.into { "RepeatInto" } else { "Repeat" };
                (name, format!("({from}) (...){{{},{max}}} ({to})", r.min))
            }
            Plan::Select(s) => {
                let name = if s.paths.groups { "SelectPathGroups" } else { "SelectPaths" };
                let ends = s.slots.first().into_iter().chain(s.slots.last()).copied();
                (name, format!("SHORTEST {} BETWEEN {}", p.expr(&s.paths.count), p.slots(ends)))
            }
            Plan::Prune(_, slots) => ("Prune", p.slots(slots.iter().copied())),
            Plan::Filter(_, condition) => ("Filter", p.expr(condition)),
            Plan::Extend(_, items) => {
                ("Projection", p.assignments(items.iter().map(|(slot, e)| (*slot, e))))
            }
            Plan::Keep(_, slots) => ("Keep", p.slots(slots.iter().copied())),
            Plan::Aggregate(a) => self.aggregate(a),
            Plan::CountStore(c) => self.count_store(c),
            Plan::Distinct(_, slots) => ("Distinct", p.slots(slots.iter().copied())),
            Plan::Sort(s) => {
                let key = |(e, descending): &(Expr, bool)| {
                    p.expr(e) + if *descending { " DESC" } else { "" }
                };
                let keys = s.keys.iter().map(key).collect::<Vec<_>>().join(", ");
                match &s.top {
                    Some(top) => ("Top", format!("{keys} LIMIT {}", p.expr(top))),
                    None => ("Sort", keys),
                }
            }
            Plan::Skip(_, count) => ("Skip", p.expr(count)),
            Plan::Limit(_, count) => ("Limit", p.expr(count)),
            Plan::Unwind(_, slot, list) => {
                ("Unwind", format!("{} AS {}", p.expr(list), p.slot(*slot)))
            }
            Plan::Apply(a) => match (&a.optional, a.returns) {
                (Some(slots), _) => ("OptionalApply", p.slots(slots.iter().copied())),
                (None, true) => ("Apply", String::new()),
                (None, false) => ("SubqueryForeach", String::new()),
            },
            Plan::InTransactions(t) => {
                ("SubqueryInTransactions", format!("OF {} ROWS", p.expr(&t.rows)))
            }
            Plan::Union(_) => ("Union", String::new()),
            Plan::Eager(_) => ("Eager", String::new()),
            Plan::Create(c) => ("Create", self.steps(&c.steps)),
            Plan::Merge(m) => {
                let set = |on: &str, items: &[SetItem]| match items.is_empty() {
                    true => String::new(),
                    false => format!(" ON {on} SET {}", self.set(items)),
                };
                let (created, matched) = (set("CREATE", &m.on_create), set("MATCH", &m.on_match));
                ("Merge", format!("{}{created}{matched}", self.steps(&m.steps)))
            }
            Plan::Set(_, items) => ("Set", self.set(items)),
            Plan::Delete(d) => {
                (if d.detach { "DetachDelete" } else { "Delete" }, p.exprs(&d.targets))
            }
            Plan::Foreach(f) => {
                ("Foreach", format!("{} IN {}", p.slot(f.variable), p.expr(&f.list)))
            }
            // No procedure has a name like `SHOW INDEXES`.
            Plan::Call(c) if c.name.contains(' ') => {
                ("Show", format!("{} {}", c.name, p.exprs(&c.arguments)).trim_end().to_owned())
            }
            Plan::Call(c) => ("ProcedureCall", format!("{}({})", c.name, p.exprs(&c.arguments))),
            Plan::Parallel(_) => ("Parallel", String::new()),
            Plan::LoadCsv(l) => ("LoadCsv", format!("{} AS {}", p.expr(&l.source), p.slot(l.slot))),
        }
    }

    fn seek(&self, s: &super::IndexSeek) -> (&'static str, String) {
        let p = Printer(self.names);
        let (slot, label) = (p.slot(s.slot), print::name(&s.label));
        let (keys, conditions) = self.sought(&slot, &s.sought);
        let name = match &s.sought.next {
            NextKey::Anything if s.sought.is_unique() => "NodeUniqueIndexSeek",
            NextKey::Anything => "NodeIndexSeek",
            NextKey::Contains(_) => "NodeIndexContainsScan",
            NextKey::EndsWith(_) => "NodeIndexEndsWithScan",
            _ => "NodeIndexSeekByRange",
        };
        let ty = s.sought.kind.name();
        (name, format!("{ty} INDEX ({slot}:{label}({keys})) WHERE {conditions}"))
    }

    fn relationship_seek(&self, s: &super::RelationshipSeek) -> (&'static str, String) {
        let p = Printer(self.names);
        let slot = p.slot(s.edge);
        let (keys, conditions) = self.sought(&slot, &s.sought);
        let name = match (&s.sought.next, s.way) {
            (NextKey::Anything, Way::Both) => "UndirectedRelationshipIndexSeek",
            (NextKey::Anything, _) => "DirectedRelationshipIndexSeek",
            (NextKey::Contains(_), Way::Both) => "UndirectedRelationshipIndexContainsScan",
            (NextKey::Contains(_), _) => "DirectedRelationshipIndexContainsScan",
            (NextKey::EndsWith(_), Way::Both) => "UndirectedRelationshipIndexEndsWithScan",
            (NextKey::EndsWith(_), _) => "DirectedRelationshipIndexEndsWithScan",
            (_, Way::Both) => "UndirectedRelationshipIndexSeekByRange",
            _ => "DirectedRelationshipIndexSeekByRange",
        };
        let inner = format!("{slot}:{}({keys})", print::name(&s.ty));
        let pattern = arrow(&p.slot(s.from), &inner, &p.slot(s.to), s.way);
        (name, format!("{} INDEX {pattern} WHERE {conditions}", s.sought.kind.name()))
    }

    /// The keys of an index, and what is asked of them.
    fn sought(&self, slot: &str, sought: &Sought) -> (String, String) {
        let p = Printer(self.names);
        let property = |at: usize| format!("{slot}.{}", print::name(&sought.keys[at]));
        let last = sought.prefix.len();
        let mut conditions: Vec<String> = Vec::new();
        for (at, e) in sought.prefix.iter().enumerate() {
            let sign = if sought.any && at + 1 == last { "IN" } else { "=" };
            conditions.push(format!("{} {sign} {}", property(at), p.expr(e)));
        }
        match &sought.next {
            NextKey::Anything => {}
            NextKey::Between(from, to) => {
                for (bound, sign) in [(from, ">"), (to, "<")] {
                    let Some((e, inclusive)) = bound else { continue };
                    let equal = if *inclusive { "=" } else { "" };
                    conditions.push(format!("{} {sign}{equal} {}", property(last), p.expr(e)));
                }
            }
            NextKey::StartsWith(e) => {
                conditions.push(format!("{} STARTS WITH {}", property(last), p.expr(e)));
            }
            NextKey::EndsWith(e) => {
                conditions.push(format!("{} ENDS WITH {}", property(last), p.expr(e)));
            }
            NextKey::Contains(e) => {
                conditions.push(format!("{} CONTAINS {}", property(last), p.expr(e)));
            }
            NextKey::In(area) => conditions.push(match area.map(|e| p.expr(e)) {
                Area::Box(low, high) => {
                    format!("point.withinBBox({}, {low}, {high})", property(last))
                }
                Area::Circle { center, radius, inclusive } => {
                    let sign = if inclusive { "<=" } else { "<" };
                    format!("point.distance({}, {center}) {sign} {radius}", property(last))
                }
            }),
        }
        let keys: Vec<String> = sought.keys.iter().map(|key| print::name(key)).collect();
        (keys.join(", "), conditions.join(" AND "))
    }

    fn join(&self, j: &super::HashJoin) -> (&'static str, String) {
        let p = Printer(self.names);
        let key = |(a, b): &(Expr, Expr)| match (a, b) {
            (Expr::Slot(a), Expr::Slot(b)) if a == b => p.slot(*a),
            _ => format!("{} = {}", p.expr(a), p.expr(b)),
        };
        let nodes = |(a, _): &(Expr, Expr)| matches!(a, Expr::Slot(_));
        let name = match &j.keys[..] {
            [] => "CartesianProduct",
            keys if keys.iter().all(nodes) => "NodeHashJoin",
            _ => "ValueHashJoin",
        };
        (name, j.keys.iter().map(key).collect::<Vec<_>>().join(", "))
    }

    fn count_store(&self, c: &super::CountStore) -> (&'static str, String) {
        let (operator, pattern) = match &c.what {
            Counted::Nodes(label) => {
                let label = label.as_ref().map(|label| format!(":{}", print::name(label)));
                ("NodeCountFromCountStore", format!("({})", label.unwrap_or_default()))
            }
            Counted::Relationships(types) => {
                ("RelationshipCountFromCountStore", arrow("", &self.types(types), "", Way::Out))
            }
        };
        let slots = Printer(self.names).slots(c.slots.iter().copied());
        (operator, format!("count({pattern}) AS {slots}"))
    }

    fn aggregate(&self, a: &super::Aggregate) -> (&'static str, String) {
        let p = Printer(self.names);
        let keys = p.assignments(a.keys.iter().map(|(slot, e)| (*slot, e)));
        let calls: Vec<String> = a
            .aggregates
            .iter()
            .map(|(slot, call)| {
                let distinct = if call.distinct { "DISTINCT " } else { "" };
                let arguments = match call.arguments.is_empty() {
                    true => "*".to_owned(),
                    false => p.exprs(&call.arguments),
                };
                let text = format!("{}({distinct}{arguments})", call.function);
                let name = p.slot(*slot);
                if name == text { text } else { format!("{text} AS {name}") }
            })
            .collect();
        let calls = calls.join(", ");
        match keys.is_empty() {
            true => ("Aggregation", calls),
            false => ("GroupedAggregation", format!("{calls} BY {keys}")),
        }
    }

    /// What every relationship of a path must satisfy.
    fn each(&self, filter: Option<&(Slot, Expr)>) -> String {
        let p = Printer(self.names);
        let text =
            |(slot, e): &(Slot, Expr)| format!(" WHERE EACH {} {}", p.slot(*slot), p.expr(e));
        filter.map(text).unwrap_or_default()
    }

    fn types(&self, types: &Types) -> String {
        match types {
            Types::Any => String::new(),
            Types::Of(names) => {
                let names: Vec<String> = names.iter().map(|name| print::name(name)).collect();
                format!(":{}", names.join("|"))
            }
            Types::Where(labels) => format!(":{}", Printer(self.names).labels(labels)),
        }
    }

    fn label(&self, label: &LabelName) -> String {
        match label {
            LabelName::Static(label) => format!(":{}", print::name(label)),
            LabelName::Dynamic(e) => format!(":$({})", Printer(self.names).expr(e)),
        }
    }

    fn steps(&self, steps: &[CreateStep]) -> String {
        let p = Printer(self.names);
        let map = |properties: &Option<Expr>| {
            properties.as_ref().map(|e| format!(" {}", p.expr(e))).unwrap_or_default()
        };
        let step = |step: &CreateStep| match step {
            CreateStep::Node { slot, labels, properties } => {
                let labels: String = labels.iter().map(|label| self.label(label)).collect();
                format!("({}{labels}{})", p.slot(*slot), map(properties))
            }
            CreateStep::Relationship { slot, ty, from, to, properties } => {
                let inner = format!("{}{}{}", p.slot(*slot), self.label(ty), map(properties));
                arrow(&p.slot(*from), &inner, &p.slot(*to), Way::Out)
            }
            CreateStep::Extend(slot, e) => format!("{} = {}", p.slot(*slot), p.expr(e)),
        };
        steps.iter().map(step).collect::<Vec<_>>().join(", ")
    }

    fn set(&self, items: &[SetItem]) -> String {
        let p = Printer(self.names);
        let labels = |labels: &[LabelName]| -> String {
            labels.iter().map(|label| self.label(label)).collect()
        };
        let item = |item: &SetItem| match item {
            SetItem::Property {
                object,
                key: Expr::Const(telar_graph::Value::String(key)),
                value,
            } => {
                format!("{}.{} = {}", p.expr(object), print::name(key), p.expr(value))
            }
            SetItem::Property { object, key, value } => {
                format!("{}[{}] = {}", p.expr(object), p.expr(key), p.expr(value))
            }
            SetItem::Properties { object, value, replace } => {
                let sign = if *replace { "=" } else { "+=" };
                format!("{} {sign} {}", p.expr(object), p.expr(value))
            }
            SetItem::AddLabels { node, labels: names } => {
                format!("{}{}", p.expr(node), labels(names))
            }
            SetItem::RemoveLabels { node, labels: names } => {
                format!("REMOVE {}{}", p.expr(node), labels(names))
            }
        };
        items.iter().map(item).collect::<Vec<_>>().join(", ")
    }
}

/// `(from)-[inner]->(to)`
fn arrow(from: &str, inner: &str, to: &str, way: Way) -> String {
    let (left, right) = match way {
        Way::Out => ("-", "->"),
        Way::In => ("<-", "-"),
        Way::Both => ("-", "-"),
    };
    format!("({from}){left}[{inner}]{right}({to})")
}
