//! Effects of operators: the parts of the graph that they read, and those that they change.
//!
//! A set may be too large, never too small: a name that is known at run time only stands for any
//! name. The effects of an operator include those of its inner plan and of its expressions.

use std::sync::Arc;

use telar_graph::Value;

use super::{CreateStep, LabelName, Plan, SetItem, Sought, Types};
use crate::batch::Slot;
use crate::expr::{Expr, GraphFunction, Labels, SubqueryKind};

/// Set of names of labels, types or property keys.
#[derive(Debug, Default)]
pub(crate) struct Names {
    any: bool,
    some: Vec<Arc<str>>,
}

impl Names {
    fn add(&mut self, name: &Arc<str>) {
        if !self.some.contains(name) {
            self.some.push(Arc::clone(name));
        }
    }

    fn absorb(&mut self, other: &Self) {
        self.any |= other.any;
        other.some.iter().for_each(|name| self.add(name));
    }

    fn is_empty(&self) -> bool {
        !self.any && self.some.is_empty()
    }

    fn meets(&self, other: &Self) -> bool {
        match (self.any, other.any) {
            (true, _) => !other.is_empty(),
            (_, true) => !self.is_empty(),
            _ => self.some.iter().any(|name| other.some.contains(name)),
        }
    }
}

/// Set of properties or labels of nodes and relationships. An entry has the variable that holds the
/// object, if there is one, and the name, if it is known.
#[derive(Debug, Default)]
pub(crate) struct Parts(Vec<(Option<Slot>, Option<Arc<str>>)>);

impl Parts {
    fn add(&mut self, of: Option<Slot>, name: Option<&Arc<str>>) {
        let part = (of, name.cloned());
        if !self.0.contains(&part) {
            self.0.push(part);
        }
    }

    fn absorb(&mut self, other: &Self) {
        other.0.iter().for_each(|(of, name)| self.add(*of, name.as_ref()));
    }

    /// True if both may hold the same property or label of one object, in different rows. No two
    /// rows have the same object in a variable of `unique`.
    fn meets(&self, other: &Self, unique: &[Slot]) -> bool {
        let same = |a: &Option<Arc<str>>, b: &Option<Arc<str>>| match (a, b) {
            (Some(a), Some(b)) => a == b,
            _ => true,
        };
        self.0.iter().any(|(of, name)| {
            let own = |other: &Option<Slot>| {
                of.is_some_and(|slot| *other == Some(slot) && unique.contains(&slot))
            };
            other.0.iter().any(|(object, other)| same(name, other) && !own(object))
        })
    }
}

/// Parts of the graph that are read.
#[derive(Debug, Default)]
pub(crate) struct Reads {
    /// Labels of nodes that are searched for; any for all nodes.
    nodes: Names,
    /// Types of relationships that are searched for.
    types: Names,
    labels: Parts,
    properties: Parts,
    /// True if any part of the graph is read.
    any: bool,
}

/// Parts of the graph that are changed.
#[derive(Debug, Default)]
pub(crate) struct Writes {
    nodes: bool,
    /// Labels of nodes that are created.
    made: Names,
    /// Types of relationships that are created.
    types: Names,
    /// Labels and properties of existing objects that are changed.
    labels: Parts,
    properties: Parts,
    deletes: bool,
}

/// Effects of an operator or a plan.
#[derive(Debug, Default)]
pub(crate) struct Effects {
    pub(crate) reads: Reads,
    pub(crate) writes: Writes,
}

impl Reads {
    fn everything(&mut self) {
        self.any = true;
        self.nodes.any = true;
        self.types.any = true;
        self.labels.add(None, None);
        self.properties.add(None, None);
    }

    /// True if the writes may change rows that are still to be read.
    pub(crate) fn meet(&self, writes: &Writes, unique: &[Slot]) -> bool {
        let nodes = writes.nodes && (self.nodes.any || self.nodes.meets(&writes.made));
        nodes
            || self.types.meets(&writes.types)
            || self.labels.meets(&writes.labels, unique)
            || self.properties.meets(&writes.properties, unique)
            || (writes.deletes && self.any)
    }

    /// True if reads between these writes cost more than an `Eager`: a scan looks through all nodes
    /// whose labels the transaction has changed, an expansion through all relationships that it has
    /// added.
    pub(crate) fn is_slow_beside(&self, writes: &Writes) -> bool {
        let makes = writes.nodes || !writes.types.is_empty();
        (!self.types.is_empty() && makes) || (!self.nodes.is_empty() && !writes.labels.0.is_empty())
    }
}

impl Writes {
    pub(crate) fn is_empty(&self) -> bool {
        !self.nodes && self.types.is_empty() && !self.changes()
    }

    /// True if existing objects are changed or deleted.
    pub(crate) fn changes(&self) -> bool {
        self.deletes || !self.labels.0.is_empty() || !self.properties.0.is_empty()
    }

    /// True if the order of both writes matters.
    pub(crate) fn meet(&self, other: &Self, unique: &[Slot]) -> bool {
        self.labels.meets(&other.labels, unique)
            || self.properties.meets(&other.properties, unique)
            || (self.deletes && !other.is_empty())
            || (other.deletes && !self.is_empty())
    }
}

impl Effects {
    pub(crate) fn absorb(&mut self, other: &Self) {
        let (reads, writes) = (&other.reads, &other.writes);
        self.reads.nodes.absorb(&reads.nodes);
        self.reads.types.absorb(&reads.types);
        self.reads.labels.absorb(&reads.labels);
        self.reads.properties.absorb(&reads.properties);
        self.reads.any |= reads.any;
        self.writes.nodes |= writes.nodes;
        self.writes.made.absorb(&writes.made);
        self.writes.types.absorb(&writes.types);
        self.writes.labels.absorb(&writes.labels);
        self.writes.properties.absorb(&writes.properties);
        self.writes.deletes |= writes.deletes;
    }

    /// Effects of an operator and its expressions, without its inputs and its inner plan.
    pub(crate) fn of(plan: &Plan) -> Self {
        let mut effects = Self::default();
        plan.exprs(&mut |e| effects.expr(e));
        plan.operator().effects(&mut effects);
        effects
    }

    /// Adds the reads of a result that shows a column.
    pub(crate) fn shows(&mut self, slot: Slot) {
        self.reads.any = true;
        self.reads.labels.add(Some(slot), None);
        self.reads.properties.add(Some(slot), None);
    }

    fn whole(&mut self, plan: &Plan) {
        self.absorb(&Self::of(plan));
        plan.inputs().into_iter().for_each(|input| self.whole(input));
    }

    /// Adds a read of everything.
    pub(crate) fn reads_everything(&mut self) {
        self.reads.everything();
    }

    /// Adds a change of everything.
    pub(crate) fn writes_everything(&mut self) {
        let writes = &mut self.writes;
        writes.nodes = true;
        writes.made.any = true;
        writes.types.any = true;
        writes.labels.add(None, None);
        writes.properties.add(None, None);
        writes.deletes = true;
    }

    /// Adds a search for relationships of a type.
    pub(crate) fn looks_for_type(&mut self, ty: &Arc<str>) {
        self.reads.types.add(ty);
    }

    /// Adds a test of nodes for a label.
    pub(crate) fn reads_label(&mut self, label: Option<&Arc<str>>) {
        if label.is_some() {
            self.reads.labels.add(None, label);
        }
    }

    /// Adds deletes of existing objects.
    pub(crate) fn deletes(&mut self) {
        self.writes.deletes = true;
    }

    /// Adds a search for all nodes, or for nodes with a label.
    pub(crate) fn finds(&mut self, label: Option<&Arc<str>>) {
        self.reads.any = true;
        match label {
            Some(label) => {
                self.reads.nodes.add(label);
                self.reads.labels.add(None, Some(label));
            }
            None => self.reads.nodes.any = true,
        }
    }

    /// Adds an index seek, which compares properties.
    pub(crate) fn seeks(&mut self, sought: &Sought) {
        self.reads.any = true;
        sought.keys.iter().for_each(|key| self.reads.properties.add(None, Some(key)));
    }

    /// Adds an expansion from nodes.
    pub(crate) fn follows(&mut self, types: &Types) {
        self.reads.any = true;
        match types {
            Types::Of(names) => names.iter().for_each(|name| self.reads.types.add(name)),
            Types::Any | Types::Where(_) => self.reads.types.any = true,
        }
    }

    /// Adds the writes of `CREATE` and `MERGE`.
    pub(crate) fn makes(&mut self, steps: &[CreateStep]) {
        for step in steps {
            match step {
                CreateStep::Node { labels, .. } => {
                    self.writes.nodes = true;
                    labels.iter().for_each(|label| named(&mut self.writes.made, label));
                }
                CreateStep::Relationship { ty, .. } => named(&mut self.writes.types, ty),
                CreateStep::Extend(..) => {}
            }
        }
    }

    /// Adds the writes of `SET` and `REMOVE`.
    pub(crate) fn sets(&mut self, item: &SetItem) {
        let writes = &mut self.writes;
        match item {
            SetItem::Property { object, key, .. } | SetItem::RemoveProperty { object, key } => {
                let key = text(key);
                writes.properties.add(slot_of(object), key.as_ref());
            }
            SetItem::Properties { object, value: Expr::Map(entries), replace: false } => {
                let keys = entries.iter().map(|(key, _)| key);
                keys.for_each(|key| writes.properties.add(slot_of(object), Some(key)));
            }
            SetItem::Properties { object, value, .. } => {
                writes.properties.add(slot_of(object), None);
                // A node stands for the map of its properties.
                if may_be_object(value) {
                    self.reads.any = true;
                    self.reads.properties.add(slot_of(value), None);
                }
            }
            SetItem::AddLabels { node, labels } | SetItem::RemoveLabels { node, labels } => {
                for label in labels {
                    let name = match label {
                        LabelName::Static(name) => Some(name),
                        LabelName::Dynamic(_) => None,
                    };
                    writes.labels.add(slot_of(node), name);
                }
            }
        }
    }

    /// Adds the reads of an expression.
    pub(crate) fn expr(&mut self, e: &Expr) {
        let reads = &mut self.reads;
        match e {
            Expr::Property(object, key) => {
                reads.any = true;
                reads.properties.add(slot_of(object), Some(key.text()));
            }
            Expr::Index(object, key) if !matches!(**key, Expr::Const(Value::Int(_))) => {
                reads.any = true;
                reads.properties.add(slot_of(object), text(key).as_ref());
            }
            Expr::HasLabels(object, labels) => {
                reads.any = true;
                tested(labels, slot_of(object), &mut reads.labels);
            }
            Expr::GraphFunction(function, arguments) => {
                reads.any = true;
                let of = arguments.first().and_then(slot_of);
                match function {
                    GraphFunction::Labels => reads.labels.add(of, None),
                    GraphFunction::Properties | GraphFunction::Keys => {
                        reads.properties.add(of, None);
                    }
                    GraphFunction::Id
                    | GraphFunction::ElementId
                    | GraphFunction::Type
                    | GraphFunction::StartNode
                    | GraphFunction::EndNode => {}
                    // They look whether the nodes exist.
                    GraphFunction::NodeOfNumber | GraphFunction::NodesOfNumbers => {
                        reads.labels.add(None, None);
                    }
                    GraphFunction::Apoc(_) => reads.everything(),
                }
            }
            Expr::MapProjection(m) if m.all => {
                reads.any = true;
                reads.properties.add(slot_of(&m.object), None);
            }
            Expr::Subquery(subquery) => self.whole(&subquery.plan),
            _ => {}
        }
        e.parts(&mut |part| self.expr(part));
    }
}

fn named(names: &mut Names, label: &LabelName) {
    match label {
        LabelName::Static(name) => names.add(name),
        LabelName::Dynamic(_) => names.any = true,
    }
}

fn slot_of(e: &Expr) -> Option<Slot> {
    if let Expr::Slot(slot) = e { Some(*slot) } else { None }
}

fn text(e: &Expr) -> Option<Arc<str>> {
    if let Expr::Const(Value::String(text)) = e { Some(Arc::clone(text)) } else { None }
}

/// Adds the labels that a condition tests.
fn tested(labels: &Labels, of: Option<Slot>, reads: &mut Parts) {
    match labels {
        Labels::Name(name) => reads.add(of, Some(name.text())),
        Labels::Dynamic(..) | Labels::Wildcard => reads.add(of, None),
        Labels::Not(inner) => tested(inner, of, reads),
        Labels::And(parts) | Labels::Or(parts) => {
            parts.iter().for_each(|part| tested(part, of, reads));
        }
    }
}

/// True if a value may be, or hold, a node or relationship.
pub(crate) fn may_be_object(e: &Expr) -> bool {
    match e {
        Expr::Const(_)
        | Expr::Param(_)
        | Expr::Property(..)
        | Expr::Unary(..)
        | Expr::And(_)
        | Expr::Or(_)
        | Expr::Xor(_)
        | Expr::IsNull(..)
        | Expr::IsTyped(..)
        | Expr::IsNormalized(..)
        | Expr::HasLabels(..)
        | Expr::Quantifier(..) => false,
        Expr::GraphFunction(function, _) => {
            use GraphFunction::{EndNode, NodeOfNumber, NodesOfNumbers, StartNode};
            matches!(function, StartNode | EndNode | NodeOfNumber | NodesOfNumbers)
        }
        Expr::Map(entries) => entries.iter().any(|(_, e)| may_be_object(e)),
        Expr::Binary(_, a, b) => may_be_object(a) || may_be_object(b),
        Expr::Chain(first, rest) => {
            may_be_object(first) || rest.iter().any(|(_, e)| may_be_object(e))
        }
        Expr::Subquery(subquery) => {
            matches!(subquery.kind, SubqueryKind::Collect(_) | SubqueryKind::First(_))
        }
        _ => true,
    }
}
