//! Logical plans: what is done to rows, as a tree of operators that pull from their input.

pub(crate) mod effects;
pub(crate) mod explain;
mod name;
pub(crate) mod pattern;
mod walk;

pub use name::OPERATORS;

use std::collections::HashSet;
use std::sync::Arc;

use telar_cypher::ast::OnError;
use telar_graph::{IndexId, IndexKind};

use crate::batch::Slot;
use crate::expr::area::Area;
use crate::expr::{Expr, Labels};
use crate::procedure;
use pattern::Pattern;

/// An operator and what it reads from. `exec` has a file for each.
#[derive(Debug, Clone)]
pub(crate) enum Plan {
    /// One row without columns.
    Unit,
    /// The rows of the plan around a subquery.
    Argument,
    /// All that a pattern matches, for every row. The optimiser replaces it.
    Match(Box<Match>),
    /// Every node for every row.
    NodeScan(Box<NodeScan>),
    /// The nodes that an index has for a key or range, for every row.
    IndexSeek(Box<IndexSeek>),
    /// The relationships that an index has for a key or range, with both ends, for every row.
    RelationshipSeek(Box<RelationshipSeek>),
    /// The node with a number, for every row.
    NodeById(Box<NodeById>),
    Expand(Box<Expand>),
    /// New nodes that several known ones lead to.
    Intersect(Box<Intersect>),
    /// How many rows an expansion would find, instead of the rows.
    Degrees(Box<Degrees>),
    /// The rows of two plans that agree on nodes or values.
    HashJoin(Box<HashJoin>),
    VarExpand(Box<VarExpand>),
    ShortestPath(Box<ShortestPath>),
    Repeat(Box<Repeat>),
    Select(Box<Select>),
    Filter(Box<Plan>, Expr),
    /// Adds columns.
    Extend(Box<Plan>, Vec<(Slot, Expr)>),
    /// Leaves only these columns.
    Keep(Box<Plan>, Vec<Slot>),
    /// Leaves of these columns those that are there; nobody reads the others any more.
    Prune(Box<Plan>, Vec<Slot>),
    Aggregate(Box<Aggregate>),
    /// One row: how many nodes or relationships there are.
    CountStore(Box<CountStore>),
    /// Each row once, by these columns.
    Distinct(Box<Plan>, Vec<Slot>),
    Sort(Box<Sort>),
    Skip(Box<Plan>, Expr),
    Limit(Box<Plan>, Expr),
    Unwind(Box<Plan>, Slot, Expr),
    Apply(Box<Apply>),
    InTransactions(Box<InTransactions>),
    /// The rows of both.
    Union(Vec<Plan>),
    /// All rows before the first goes on.
    Eager(Box<Plan>),
    Create(Box<Create>),
    Merge(Box<Merge>),
    Set(Box<Plan>, Vec<SetItem>),
    Delete(Box<Delete>),
    /// Runs a plan for each row and forgets its rows.
    Foreach(Box<Foreach>),
    Call(Box<Call>),
    LoadCsv(Box<LoadCsv>),
    /// The rows of its input, made by several threads if there is much to do.
    Parallel(Box<Parallel>),
}

/// What `MATCH` asks for, before it is known how it is found.
#[derive(Debug, Clone)]
pub(crate) struct Match {
    pub(crate) input: Plan,
    pub(crate) pattern: Pattern,
    /// Variables of the pattern that are known before.
    pub(crate) bound: HashSet<Slot>,
    /// Where the rows are only counted: variables that are read behind the pattern. The search for
    /// a plan goes by it, no answer does.
    pub(crate) counted: Option<HashSet<Slot>>,
}

impl Match {
    /// A pattern that is found where the variables `before` are known.
    pub(crate) fn new(
        input: Plan,
        before: impl IntoIterator<Item = Slot>,
        pattern: Pattern,
    ) -> Self {
        let mut named = HashSet::new();
        pattern.variables(&mut |slot| _ = named.insert(slot));
        pattern.exprs(&mut |e| e.slots(&mut |slot| _ = named.insert(slot)));
        let bound = before.into_iter().filter(|slot| named.contains(slot)).collect();
        Self { input, pattern, bound, counted: None }
    }

    /// Calls `f` with every variable of the pattern that is not known before.
    fn new_slots(&self, f: &mut dyn FnMut(Slot)) {
        self.pattern.variables(&mut |slot| {
            if !self.bound.contains(&slot) {
                f(slot);
            }
        });
    }
}

#[derive(Debug, Clone)]
pub(crate) struct NodeScan {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    /// A label that all have.
    pub(crate) label: Option<Arc<str>>,
    /// An expansion of all nodes is above it: together they find every relationship, those of
    /// deleted nodes included.
    pub(crate) for_relationships: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct IndexSeek {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    pub(crate) label: Arc<str>,
    pub(crate) sought: Sought,
}

/// What is looked for in an index.
#[derive(Debug, Clone)]
pub(crate) struct Sought {
    pub(crate) index: IndexId,
    /// The properties of the index.
    pub(crate) keys: Vec<Arc<str>>,
    /// The kind of the index.
    pub(crate) kind: IndexKind,
    /// True if a constraint owns it: no two objects have the same values.
    pub(crate) unique: bool,
    /// Values of the leading keys.
    pub(crate) prefix: Vec<Expr>,
    /// The last of them is a list: any of its elements will do.
    pub(crate) any: bool,
    /// What is asked of the next key.
    pub(crate) next: NextKey,
    /// The conditions that the index stands for. It finds exactly what they hold for, unless they
    /// compare with a value of which `=` says other than the order of the index does.
    pub(crate) test: Vec<Expr>,
}

impl Sought {
    /// Whether no more than one object can be found for each value of a list, or in all.
    pub(crate) fn is_unique(&self) -> bool {
        self.unique && self.prefix.len() == self.keys.len()
    }
}

/// What a seek asks of the key after those whose values it knows.
#[derive(Debug, Clone)]
pub(crate) enum NextKey {
    Anything,
    /// Lower and upper bound: the value, and whether it belongs to the range. At least one.
    Between(Option<(Expr, bool)>, Option<(Expr, bool)>),
    StartsWith(Expr),
    EndsWith(Expr),
    Contains(Expr),
    In(Area<Expr>),
}

#[derive(Debug, Clone)]
pub(crate) struct RelationshipSeek {
    pub(crate) input: Plan,
    pub(crate) edge: Slot,
    pub(crate) from: Slot,
    /// May be `from`: then only loops are found.
    pub(crate) to: Slot,
    /// Which of the ends is `from`; with `Both`, a relationship is found once each way.
    pub(crate) way: Way,
    pub(crate) ty: Arc<str>,
    pub(crate) sought: Sought,
    /// Relationships, and lists of them, that this one may not be.
    pub(crate) distinct_from: Vec<Slot>,
}

#[derive(Debug, Clone)]
pub(crate) struct NodeById {
    pub(crate) input: Plan,
    pub(crate) slot: Slot,
    /// A number or an element id.
    pub(crate) id: Expr,
    /// The id is an element id, a string.
    pub(crate) element: bool,
}

/// Where a relationship leads, seen from the node that is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    Out,
    In,
    Both,
}

impl Way {
    pub(crate) fn reverse(self) -> Self {
        match self {
            Self::Out => Self::In,
            Self::In => Self::Out,
            Self::Both => Self::Both,
        }
    }
}

/// Which types a relationship may have.
#[derive(Debug, Clone)]
pub(crate) enum Types {
    Any,
    /// One of these.
    Of(Vec<Arc<str>>),
    /// Those for which this holds.
    Where(Labels),
}

#[derive(Debug, Clone)]
pub(crate) struct Expand {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// `to` is bound already.
    pub(crate) into: bool,
    pub(crate) edge: Slot,
    /// Somebody reads the relationship.
    pub(crate) keeps_edge: bool,
    /// Columns of the input that are read behind it, ascending; none: perhaps all.
    pub(crate) kept: Option<Vec<Slot>>,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Relationships, and lists of them, that this one may not be.
    pub(crate) distinct_from: Vec<Slot>,
    /// `from` is scanned for relationships ([`NodeScan::for_relationships`]).
    pub(crate) scans: bool,
}

/// Finds nodes that each of several known nodes leads to, by what their lists have in common.
#[derive(Debug, Clone)]
pub(crate) struct Intersect {
    pub(crate) input: Plan,
    pub(crate) to: Slot,
    /// At least two.
    pub(crate) legs: Vec<Leg>,
    /// Columns of the input that are read behind it, ascending; none: perhaps all.
    pub(crate) kept: Option<Vec<Slot>>,
}

/// A relationship from a known node to the one that is looked for.
#[derive(Debug, Clone)]
pub(crate) struct Leg {
    pub(crate) from: Slot,
    pub(crate) edge: Slot,
    /// Somebody reads the relationship.
    pub(crate) keeps_edge: bool,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Relationships, and lists of them, that this one may not be; those of earlier legs as well.
    pub(crate) distinct_from: Vec<Slot>,
}

/// What an expansion would find for a row, counted.
#[derive(Debug, Clone)]
pub(crate) struct Degrees {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    /// Only what leads to a node with it is counted.
    pub(crate) label: Option<Arc<str>>,
    /// Relationships, and lists of them, that are not counted.
    pub(crate) distinct_from: Vec<Slot>,
    /// Nodes to which relationships are not counted; where one of them is null, none is.
    pub(crate) except: Vec<Slot>,
    /// A row with none stays and counts as one, as `OPTIONAL MATCH` has it.
    pub(crate) optional: bool,
    /// Columns of the input that are read behind it, ascending; none: perhaps all.
    pub(crate) kept: Option<Vec<Slot>>,
    /// A number that is multiplied by this one.
    pub(crate) times: Option<Slot>,
    /// Variable of the number. Rows with none are dropped, unless it is `optional`.
    pub(crate) count: Slot,
    /// As in the expansion that it counts.
    pub(crate) scans: bool,
}

/// Each row of the input with those of another plan that have the same keys.
#[derive(Debug, Clone)]
pub(crate) struct HashJoin {
    pub(crate) input: Plan,
    /// Begins with `Unit`; is read once, and kept.
    pub(crate) build: Plan,
    /// Keys of the input, and those of the other plan that they equal; none: all rows meet.
    pub(crate) keys: Vec<(Expr, Expr)>,
}

#[derive(Debug, Clone)]
pub(crate) struct VarExpand {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) into: bool,
    /// The list of relationships, from `from` to `to`.
    pub(crate) edges: Slot,
    /// Somebody reads the list.
    pub(crate) lists: bool,
    /// The pattern was written the other way round: the list is reversed.
    pub(crate) reversed: bool,
    pub(crate) types: Types,
    pub(crate) way: Way,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// What every relationship must satisfy; it is in the slot.
    pub(crate) filter: Option<(Slot, Expr)>,
    pub(crate) distinct_from: Vec<Slot>,
    /// A relationship may come again.
    pub(crate) repeats: bool,
    /// The list was bound before: only it is followed.
    pub(crate) bound: bool,
    /// Nobody asks how, or how often, an end is reached: each is found once.
    pub(crate) once: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct ShortestPath {
    pub(crate) input: Plan,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    pub(crate) edges: Slot,
    pub(crate) types: Types,
    pub(crate) way: Way,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    pub(crate) filter: Option<(Slot, Expr)>,
    /// All shortest paths, not one.
    pub(crate) all: bool,
}

/// Follows a path again and again, each time from where it ended.
#[derive(Debug, Clone)]
pub(crate) struct Repeat {
    pub(crate) input: Plan,
    /// One repetition: begins with `Argument`, in which the first node and the relationships so far
    /// are known, and finds the last.
    pub(crate) inner: Plan,
    /// Numbers the rows that the inner plan begins with.
    pub(crate) row: Slot,
    pub(crate) from: Slot,
    pub(crate) to: Slot,
    /// `to` is bound already.
    pub(crate) into: bool,
    pub(crate) first: Slot,
    pub(crate) last: Slot,
    /// The relationships of one repetition, in the order of the path.
    pub(crate) relationships: Vec<Slot>,
    /// The list of the relationships of all, in the order of the path.
    pub(crate) edges: Slot,
    /// Variables of a repetition, and the lists of what they were, in the order of the path.
    pub(crate) lists: Vec<(Slot, Slot)>,
    /// It is followed from its end.
    pub(crate) reversed: bool,
    pub(crate) min: u64,
    pub(crate) max: Option<u64>,
    /// Only shortest paths are wanted, one, or if true all of them: none leads to a node again.
    pub(crate) shortest: Option<bool>,
}

/// Of the paths that a plan finds between two nodes, some.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub(crate) input: Plan,
    /// Finds the paths; begins with `Argument`, in which both ends are known.
    pub(crate) inner: Plan,
    /// Nodes, relationships and lists of relationships, from end to end.
    pub(crate) slots: Vec<Slot>,
    pub(crate) paths: Paths,
}

/// How many of the paths between two nodes are wanted, shorter ones first.
#[derive(Debug, Clone)]
pub(crate) struct Paths {
    pub(crate) count: Expr,
    /// All paths of so many lengths, not so many paths.
    pub(crate) groups: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub(crate) input: Plan,
    pub(crate) keys: Vec<(Slot, Expr)>,
    pub(crate) aggregates: Vec<(Slot, AggregateCall)>,
    /// The node by which it groups first: all keys are properties of it.
    pub(crate) by_node: Option<Slot>,
}

/// A count that the graph knows without looking at what it counts.
#[derive(Debug, Clone)]
pub(crate) struct CountStore {
    /// Where the count goes.
    pub(crate) slots: Vec<Slot>,
    pub(crate) what: Counted,
}

#[derive(Debug, Clone)]
pub(crate) enum Counted {
    /// All nodes, or those with a label.
    Nodes(Option<Arc<str>>),
    Relationships(Types),
}

#[derive(Debug, Clone)]
pub(crate) struct AggregateCall {
    /// Lower case; `count(*)` is `count` without arguments.
    pub(crate) function: Arc<str>,
    pub(crate) distinct: bool,
    pub(crate) arguments: Vec<Expr>,
}

#[derive(Debug, Clone)]
pub(crate) struct Sort {
    pub(crate) input: Plan,
    /// Keys, and whether they are descending.
    pub(crate) keys: Vec<(Expr, bool)>,
    /// Only the first so many rows are wanted.
    pub(crate) top: Option<Expr>,
}

/// Runs a plan that begins with `Argument` for the rows of the input.
#[derive(Debug, Clone)]
pub(crate) struct Apply {
    pub(crate) input: Plan,
    pub(crate) inner: Plan,
    /// Numbers the outer rows.
    pub(crate) row: Slot,
    /// What the inner plan adds to a row.
    pub(crate) columns: Vec<Slot>,
    /// Rows for which the inner plan has none stay, with nulls in these.
    pub(crate) optional: Option<Vec<Slot>>,
    /// The inner plan returns rows; otherwise it is run for what it does, and the outer rows go on.
    pub(crate) returns: bool,
    /// Runs the inner plan for one row at a time, as its operators demand; then only the `columns`
    /// of it are added to the row.
    pub(crate) by_row: bool,
}

impl Apply {
    /// Whether its rows go on while the inner plan finds more.
    pub(crate) fn streams(&self) -> bool {
        self.by_row && self.returns && self.optional.is_none() && !self.inner.writes()
    }
}

/// `CALL { } IN TRANSACTIONS`
#[derive(Debug, Clone)]
pub(crate) struct InTransactions {
    /// Runs row by row.
    pub(crate) apply: Apply,
    /// Rows of one transaction; needs no row itself.
    pub(crate) rows: Expr,
    pub(crate) on_error: OnError,
    /// A map that says what became of the row's transaction.
    pub(crate) status: Option<Slot>,
}

#[derive(Debug, Clone)]
pub(crate) struct Create {
    pub(crate) input: Plan,
    pub(crate) steps: Vec<CreateStep>,
}

#[derive(Debug, Clone)]
pub(crate) enum CreateStep {
    Node {
        slot: Slot,
        labels: Vec<LabelName>,
        properties: Option<Expr>,
    },
    Relationship {
        slot: Slot,
        ty: LabelName,
        from: Slot,
        to: Slot,
        properties: Option<Expr>,
    },
    /// A variable for what was made.
    Extend(Slot, Expr),
}

/// A label or type by name, or by a value that names it.
#[derive(Debug, Clone)]
pub(crate) enum LabelName {
    Static(Arc<str>),
    Dynamic(Expr),
}

#[derive(Debug, Clone)]
pub(crate) struct Merge {
    pub(crate) input: Plan,
    /// Finds it; begins with `Argument`.
    pub(crate) matching: Plan,
    /// Makes it.
    pub(crate) steps: Vec<CreateStep>,
    /// Variables it binds.
    pub(crate) slots: Vec<Slot>,
    pub(crate) on_create: Vec<SetItem>,
    pub(crate) on_match: Vec<SetItem>,
    /// Property maps of the pattern, in which null is an error.
    pub(crate) properties: Vec<Expr>,
    /// Its relationships, which nobody else may make meanwhile.
    pub(crate) claims: Vec<Claimed>,
}

/// A relationship that `MERGE` makes if it finds none like it.
#[derive(Debug, Clone)]
pub(crate) struct Claimed {
    pub(crate) slot: Slot,
    /// Both of its nodes are there before.
    pub(crate) bound: bool,
    /// It is looked for in both directions.
    pub(crate) either_way: bool,
}

#[derive(Debug, Clone)]
pub(crate) enum SetItem {
    Property {
        object: Expr,
        key: Expr,
        value: Expr,
    },
    /// All properties are replaced by those of a map, or added to.
    Properties {
        object: Expr,
        value: Expr,
        replace: bool,
    },
    AddLabels {
        node: Expr,
        labels: Vec<LabelName>,
    },
    RemoveLabels {
        node: Expr,
        labels: Vec<LabelName>,
    },
}

#[derive(Debug, Clone)]
pub(crate) struct Delete {
    pub(crate) input: Plan,
    pub(crate) targets: Vec<Expr>,
    pub(crate) detach: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Foreach {
    pub(crate) input: Plan,
    pub(crate) variable: Slot,
    pub(crate) list: Expr,
    /// Begins with `Argument`.
    pub(crate) inner: Plan,
}

#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) input: Plan,
    pub(crate) name: Arc<str>,
    pub(crate) procedure: procedure::Bound,
    pub(crate) arguments: Vec<Expr>,
    /// Number of the procedure's column, and where it goes.
    pub(crate) yields: Vec<(usize, Slot)>,
    pub(crate) optional: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct LoadCsv {
    pub(crate) input: Plan,
    pub(crate) source: Expr,
    pub(crate) headers: bool,
    /// Missing if it is not one character.
    pub(crate) separator: Option<char>,
    pub(crate) slot: Slot,
    /// The line a row begins at, and its file.
    pub(crate) line: Slot,
    pub(crate) file: Slot,
    /// Somebody asks for these.
    pub(crate) places: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Parallel {
    pub(crate) input: Plan,
    /// How far below `input` those plans are whose rows can be shared out, the lowest first.
    pub(crate) sources: Vec<usize>,
}
