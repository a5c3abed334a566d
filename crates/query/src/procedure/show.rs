//! The rows of `SHOW` and `TERMINATE`, in the columns of Neo4j 5.

mod graph_functions;
mod servers;
mod statement;

use std::fmt;
use std::sync::Arc;

use telar_cypher::ast::{self, ConstraintFilter, EntityKind};
use telar_graph::update::IndexedObjects;
use telar_graph::value::{DateTime, Duration, UtcOffset};
use telar_graph::{ConstraintKind, Graph, IndexKind, IndexState, SchemaKind, SchemaRule, Value};

use super::describe::{described, taken_apart};
use super::{CallContext, Field, Mode, Procedure, RowSource, Rows, known, signature};
use crate::aggregate;
use crate::expr::print;
use crate::function::apoc::graph as apoc;
use crate::function::{self, Moment};
use crate::host::{ShownSetting, ShownUser, needs_server};
use crate::query_error::{ErrorKind, QueryError};
use crate::running::{Entry, Running, query_id, transaction_id};
use crate::schema::{
    LOOKUP_PROVIDER, Lookup, about, index_config, index_provider, is_later_part, parts, type_name,
};
pub(crate) use servers::{databases, servers};
use statement::create_statement;

type Returned = Result<Rows, QueryError>;
type Source = Result<Box<dyn RowSource>, QueryError>;
type Run = dyn Fn(&mut CallContext<'_>, &[Value]) -> Source + Send + Sync;

/// A procedure that is a function.
pub(crate) struct Shown {
    description: &'static str,
    arguments: Vec<Field>,
    columns: Vec<Field>,
    default_columns: usize,
    mode: Mode,
    run: Box<Run>,
}

impl fmt::Debug for Shown {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.description)
    }
}

impl Shown {
    /// A procedure with these columns, written `name TYPE`.
    pub(super) fn new(
        description: &'static str,
        arguments: Vec<Field>,
        columns: &[(&str, &str)],
        run: impl Fn(&CallContext<'_>, &[Value]) -> Returned + Send + Sync + 'static,
    ) -> Self {
        let columns: Vec<Field> = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        let run =
            move |call: &mut CallContext<'_>, arguments: &[Value]| run(call, arguments).map(known);
        Self::of(Mode::Read, description, arguments, columns, run)
    }

    /// A procedure of any mode, which may change what its mode lets it, and whose rows may come as
    /// they are asked for.
    pub(super) fn of(
        mode: Mode,
        description: &'static str,
        arguments: Vec<Field>,
        columns: Vec<Field>,
        run: impl Fn(&mut CallContext<'_>, &[Value]) -> Source + Send + Sync + 'static,
    ) -> Self {
        let (default_columns, run) = (columns.len(), Box::new(run));
        Self { description, arguments, columns, default_columns, mode, run }
    }

    /// The same; it is about the server or the session.
    pub(super) fn of_the_server(self) -> Self {
        Self { mode: Mode::Dbms, ..self }
    }

    /// The same; without `YIELD` only the columns before `name` are shown.
    fn shows_before(mut self, name: &str) -> Self {
        let at = self.columns.iter().position(|column| *column.name == *name);
        self.default_columns = at.expect("INVARIANT: one of its columns");
        self
    }

    /// How many of the columns are shown without `YIELD`.
    pub(crate) fn default_columns(&self) -> usize {
        self.default_columns
    }
}

impl Procedure for Shown {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        self.description
    }

    fn mode(&self) -> Mode {
        self.mode
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        (self.run)(call, arguments)
    }
}

const S: &str = "STRING";
const I: &str = "INTEGER";
const B: &str = "BOOLEAN";
const L: &str = "LIST<STRING>";
const ANY: &str = "ANY";

/// The labels, or types, of all parts of an index.
fn all_labels(rule: &SchemaRule, graph: &dyn Graph) -> Vec<String> {
    let rules = graph.schema_rules();
    parts(&rules, &rule.name).into_iter().map(|part| about(part, graph).1).collect()
}

/// The column `options`.
fn rule_options(rule: &SchemaRule) -> Value {
    index_options(index_provider(rule.kind), index_config(rule))
}

fn sorted_rules(graph: &dyn Graph, wanted: impl Fn(&SchemaRule) -> bool) -> Vec<SchemaRule> {
    let mut rules = graph.schema_rules();
    rules.retain(|rule| !is_later_part(rule) && wanted(rule));
    rules.sort_by(|a, b| a.name.cmp(&b.name));
    rules
}

fn entity(nodes: bool) -> &'static str {
    if nodes { "NODE" } else { "RELATIONSHIP" }
}

/// The number of a rule as it is shown: the first are those of the lookup indexes.
fn shown_id(rule: &SchemaRule) -> Value {
    (i64::from(rule.id.get()) + 1 + Lookup::ALL.len() as i64).into()
}

/// `SHOW INDEXES`, all or those of a kind.
pub(crate) fn indexes(kind: Option<ast::IndexKind>) -> Shown {
    let columns = [
        ("id", I),
        ("name", S),
        ("state", S),
        ("populationPercent", "FLOAT"),
        ("type", S),
        ("entityType", S),
        ("labelsOrTypes", L),
        ("properties", L),
        ("indexProvider", S),
        ("owningConstraint", S),
        ("lastRead", "ZONED DATETIME"),
        ("readCount", I),
        ("trackedSince", "ZONED DATETIME"),
        ("options", "MAP"),
        ("failureMessage", S),
        ("createStatement", S),
    ];
    let is_wanted = move |name: &str| kind.is_none_or(|kind| kind.word() == name);
    let run = move |call: &CallContext<'_>, _: &[Value]| {
        let graph = call.graph();
        let rules = sorted_rules(graph, |r| r.kind.index().is_some_and(|of| is_wanted(of.name())));
        let mut rows: Rows = rules.iter().map(|rule| index_row(rule, graph)).collect();
        if is_wanted(ast::IndexKind::Lookup.word()) {
            rows.extend(Lookup::ALL.iter().map(lookup_row));
            rows.sort_by(|a, b| a[1].cmp(&b[1]));
        }
        Ok(rows)
    };
    Shown::new("Every index.", Vec::new(), &columns, run).shows_before("trackedSince")
}

fn index_options(provider: &str, config: Value) -> Value {
    Value::map([("indexProvider", Value::from(provider)), ("indexConfig", config)])
}

fn index_row(rule: &SchemaRule, graph: &dyn Graph) -> Vec<Value> {
    let (nodes, label, keys) = about(rule, graph);
    let labels = match rule.options {
        Some(_) => all_labels(rule, graph),
        None => vec![label],
    };
    let (state, percent) = match rule.state {
        IndexState::Online => ("ONLINE", 100.0),
        IndexState::Building { done, total } => {
            ("POPULATING", 100.0 * done as f64 / total.max(1) as f64)
        }
        IndexState::Pending => ("POPULATING", 0.0),
    };
    vec![
        shown_id(rule),
        rule.name.as_str().into(),
        state.into(),
        percent.into(),
        rule.kind.index().map(IndexKind::name).into(),
        entity(nodes).into(),
        Value::list(labels),
        Value::list(keys),
        index_provider(rule.kind).into(),
        rule.kind.is_constraint().then_some(rule.name.as_str()).into(),
        Value::Null,
        Value::Null,
        Value::Null,
        rule_options(rule),
        "".into(),
        create_statement(rule, graph).into(),
    ]
}

fn lookup_row(lookup: &Lookup) -> Vec<Value> {
    vec![
        lookup.id.into(),
        lookup.name.into(),
        "ONLINE".into(),
        100.0.into(),
        "LOOKUP".into(),
        entity(lookup.nodes).into(),
        Value::Null,
        Value::Null,
        LOOKUP_PROVIDER.into(),
        Value::Null,
        Value::Null,
        Value::Null,
        Value::Null,
        index_options(LOOKUP_PROVIDER, Value::map::<&str, Value>([])),
        "".into(),
        lookup.create_statement().into(),
    ]
}

/// The kind of a constraint as commands name it.
fn in_commands(kind: ConstraintKind) -> ast::ConstraintKind {
    match kind {
        ConstraintKind::Unique => ast::ConstraintKind::Unique,
        ConstraintKind::Key => ast::ConstraintKind::Key,
        ConstraintKind::Exists => ast::ConstraintKind::Existence,
        ConstraintKind::Type(_) => ast::ConstraintKind::PropertyType,
    }
}

fn wanted(filter: ConstraintFilter, rule: &SchemaRule) -> bool {
    let nodes = matches!(rule.objects, IndexedObjects::Vertices(_));
    let of_entity = filter.entity.is_none_or(|e| (e == EntityKind::Node) == nodes);
    let of_kind = match filter.kind {
        None => rule.kind.is_constraint(),
        Some(wanted) => rule.kind.constraint().is_some_and(|kind| wanted == in_commands(kind)),
    };
    of_entity && of_kind
}

/// `SHOW CONSTRAINTS`
pub(crate) fn constraints(filter: ConstraintFilter) -> Shown {
    let columns = [
        ("id", I),
        ("name", S),
        ("type", S),
        ("entityType", S),
        ("labelsOrTypes", L),
        ("properties", L),
        ("ownedIndex", S),
        ("propertyType", S),
        ("options", "MAP"),
        ("createStatement", S),
    ];
    let run = move |call: &CallContext<'_>, _: &[Value]| {
        let graph = call.graph();
        let row = |rule: SchemaRule| {
            let (nodes, label, keys) = about(&rule, graph);
            let ty = match rule.kind {
                SchemaKind::Constraint(ConstraintKind::Type(ty)) => Some(ty.name()),
                _ => None,
            };
            let owned = rule.kind.has_entries();
            vec![
                shown_id(&rule),
                rule.name.as_str().into(),
                type_name(rule.kind, nodes).into(),
                entity(nodes).into(),
                Value::list([label]),
                Value::list(keys),
                owned.then_some(rule.name.as_str()).into(),
                ty.map(|ty| Value::from(&*ty)).into(),
                match owned {
                    true => rule_options(&rule),
                    false => Value::map::<&str, Value>([]),
                },
                create_statement(&rule, graph).into(),
            ]
        };
        let rules = sorted_rules(graph, |rule| wanted(filter, rule));
        Ok(rules.into_iter().map(row).collect())
    };
    Shown::new("Every constraint.", Vec::new(), &columns, run).shows_before("options")
}

/// `SHOW PROCEDURES`
pub(crate) fn procedures() -> Shown {
    let columns = [
        ("name", S),
        ("description", S),
        ("mode", S),
        ("worksOnSystem", B),
        ("signature", S),
        ("argumentDescription", "LIST<MAP>"),
        ("returnDescription", "LIST<MAP>"),
        ("admin", B),
        ("rolesExecution", L),
        ("rolesBoostedExecution", L),
        ("isDeprecated", B),
        ("deprecatedBy", S),
        ("option", "MAP"),
    ];
    let run = |call: &CallContext<'_>, _: &[Value]| {
        let fields = |fields: &[Field]| {
            Value::list(fields.iter().map(|field| {
                let default = field.default.as_ref().map(print::literal);
                described(&field.name, &field.of.to_string(), default)
            }))
        };
        let row = |(name, procedure): (&str, &dyn Procedure)| {
            vec![
                name.into(),
                procedure.description().into(),
                procedure.mode().name().into(),
                works_on_system(name).into(),
                signature(name, procedure).into(),
                fields(procedure.arguments()),
                fields(procedure.columns()),
                false.into(),
                Value::Null,
                Value::Null,
                false.into(),
                Value::Null,
                Value::map([("deprecated", Value::Bool(false))]),
            ]
        };
        Ok(call.procedures().iter().map(row).collect())
    };
    Shown::new("Every procedure.", Vec::new(), &columns, run).shows_before("signature")
}

/// True of procedures that can be called on `system`: those of Neo4j, but for a few.
fn works_on_system(name: &str) -> bool {
    let own = ["telar.", "algo.", "apoc.", "gds.", "db.create", "tx.setMetaData"];
    !own.iter().any(|prefix| name.starts_with(prefix))
}

/// `SHOW FUNCTIONS`
pub(crate) fn functions(built_in: Option<bool>) -> Shown {
    let columns = [
        ("name", S),
        ("category", S),
        ("description", S),
        ("signature", S),
        ("isBuiltIn", B),
        ("argumentDescription", "LIST<MAP>"),
        ("returnDescription", S),
        ("aggregating", B),
        ("rolesExecution", L),
        ("rolesBoostedExecution", L),
        ("isDeprecated", B),
        ("deprecatedBy", S),
    ];
    let run = move |_: &CallContext<'_>, _: &[Value]| {
        // There are none that somebody else defined.
        if built_in == Some(false) {
            return Ok(Rows::new());
        }
        let row = |name: &str, category: &str, description: &str, signature: &str, aggregating| {
            let text = [name, category, description, signature];
            let mut row: Vec<Value> = text.into_iter().map(Value::from).collect();
            let (arguments, result) = taken_apart(signature);
            let instead = (name == "id").then_some("elementId");
            row.extend([
                true.into(),
                Value::list(arguments),
                result.into(),
                Value::Bool(aggregating),
                Value::Null,
                Value::Null,
                instead.is_some().into(),
                instead.into(),
            ]);
            row
        };
        let scalar = function::all()
            .iter()
            .filter(|f| graph_functions::FUNCTIONS.iter().all(|g| g.0 != f.name));
        let scalar = scalar.map(|f| row(f.name, f.category, f.description, f.signature, false));
        let aggregates = aggregate::all().iter();
        let aggregates =
            aggregates.map(|f| row(f.name, "Aggregating", f.description, f.signature, true));
        let of_apoc = apoc::FUNCTIONS.iter();
        let of_apoc = of_apoc.map(|f| (f.name, f.category, f.signature, f.description));
        let graph = graph_functions::FUNCTIONS.into_iter().chain(of_apoc);
        let graph = graph.map(|(name, category, signature, description)| {
            row(name, category, description, &format!("{name}{signature}"), false)
        });
        let mut rows: Rows = scalar.chain(aggregates).chain(graph).collect();
        rows.sort_by_key(|row| match &row[0] {
            Value::String(name) => name.to_lowercase(),
            _ => String::new(),
        });
        Ok(rows)
    };
    Shown::new("Every function.", Vec::new(), &columns, run).shows_before("signature")
}

/// `SHOW SETTINGS`, with so many arguments that name some.
pub(crate) fn settings(count: usize) -> Shown {
    let columns = [
        ("name", S),
        ("value", S),
        ("isDynamic", B),
        ("defaultValue", S),
        ("description", S),
        ("startupValue", S),
        ("isExplicitlySet", B),
        ("validValues", S),
        ("isDeprecated", B),
    ];
    let row = |setting: ShownSetting| {
        vec![
            setting.name.into(),
            setting.value.clone().into(),
            false.into(),
            setting.default.into(),
            setting.description.into(),
            // None changes while the server runs.
            setting.value.into(),
            setting.explicit.into(),
            setting.form.into(),
            false.into(),
        ]
    };
    let run = move |call: &CallContext<'_>, arguments: &[Value]| {
        let asked = texts(arguments, "the name of a setting")?;
        let host = call.host().ok_or_else(|| needs_server("SHOW SETTINGS"))?;
        let mut found = host.settings()?;
        if !arguments.is_empty() {
            found.retain(|setting| asked.contains(&setting.name));
        }
        found.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(found.into_iter().map(row).collect())
    };
    Shown::new("Settings of the server.", id_arguments(count), &columns, run)
        .shows_before("startupValue")
}

/// `SHOW USERS`, perhaps with how they log in; `SHOW CURRENT USER`
pub(crate) fn users(only_current: bool, auth: bool) -> Shown {
    let mut columns = vec![
        ("user", S),
        ("roles", L),
        ("passwordChangeRequired", B),
        ("suspended", B),
        ("home", S),
    ];
    if auth {
        columns.extend([("provider", S), ("auth", "MAP")]);
    }
    columns.push(("grants", "LIST<MAP>"));
    let row = move |user: ShownUser| {
        let mut roles: Vec<&str> = user.grants.iter().map(|(role, _)| *role).collect();
        roles.sort_unstable();
        roles.dedup();
        let grants = user.grants.into_iter().map(|(role, database)| {
            Value::map([("role", Value::from(role)), ("database", database.into())])
        });
        let mut row = vec![
            user.name.into(),
            Value::list(roles),
            user.change_required.into(),
            user.suspended.into(),
            user.home.into(),
        ];
        if auth {
            // Passwords are the one way to log in, and are not told.
            let how =
                [("password", Value::from("***")), ("changeRequired", user.change_required.into())];
            row.extend(["native".into(), Value::map(how)]);
        }
        row.push(Value::list(grants));
        row
    };
    let run = move |call: &CallContext<'_>, _: &[Value]| {
        let host = call.host().ok_or_else(|| needs_server("SHOW USERS"))?;
        Ok(host.users(only_current)?.into_iter().map(row).collect())
    };
    Shown::new("Users.", Vec::new(), &columns, run).shows_before("grants")
}

/// `SHOW ROLES`, with a row for each of its users if they are wanted.
pub(crate) fn roles(populated: bool, with_users: bool) -> Shown {
    let columns: &'static [_] = match with_users {
        true => &[("role", S), ("member", S), ("database", S)],
        false => &[("role", S)],
    };
    let run = move |call: &CallContext<'_>, _: &[Value]| {
        let host = call.host().ok_or_else(|| needs_server("SHOW ROLES"))?;
        let users = host.users(false)?;
        let mut rows = Rows::new();
        for role in host.roles() {
            let grants = users.iter().flat_map(|user| {
                let of_role = user.grants.iter().filter(|grant| grant.0 == *role);
                of_role.map(|grant| (&user.name, &grant.1))
            });
            let before = rows.len();
            rows.extend(grants.map(|(user, database)| {
                vec![(*role).into(), user.clone().into(), database.clone().into()]
            }));
            let has_users = rows.len() > before;
            if !with_users {
                rows.truncate(before);
            }
            if (!has_users && !populated) || (has_users && !with_users) {
                rows.push(vec![(*role).into(), Value::Null, Value::Null]);
            }
        }
        rows.iter_mut().for_each(|row| row.truncate(columns.len()));
        Ok(rows)
    };
    Shown::new("Roles.", Vec::new(), columns, run)
}

/// A moment as a date and time of UTC.
pub fn moment(moment: Moment) -> Value {
    let utc = UtcOffset::default();
    DateTime::from_epoch(moment.seconds, moment.nanos.into(), utc).ok().into()
}

fn duration(nanos: u128) -> Value {
    let (seconds, nanos) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    Duration::new(0, 0, seconds as i64, nanos as i64).ok().into()
}

/// The ids that arguments name: strings, or lists of them.
fn ids(arguments: &[Value]) -> Result<Vec<Arc<str>>, QueryError> {
    texts(arguments, "the id of a transaction")
}

/// Strings, and those in lists; others are refused as `what` they are not.
fn texts(arguments: &[Value], what: &str) -> Result<Vec<Arc<str>>, QueryError> {
    let mut found = Vec::new();
    for argument in arguments {
        match argument {
            Value::String(text) => found.push(text.clone()),
            Value::List(list) => found.extend(texts(list, what)?),
            other => {
                return Err(QueryError::wrong_type("STRING or LIST<STRING>", other, what));
            }
        }
    }
    Ok(found)
}

fn id_arguments(count: usize) -> Vec<Field> {
    (0..count).map(|at| Field::new(&format!("id{at}"), ANY)).collect()
}

/// What runs in every database, as far as the caller may see and end it: database and number.
fn visible(call: &CallContext<'_>) -> Vec<(Arc<str>, u64, Arc<Entry>)> {
    let of = |(database, running): (Arc<str>, Arc<Running>)| {
        let all = running.all().into_iter();
        all.map(move |(number, entry)| (database.clone(), number, entry))
    };
    let Some(host) = call.host() else {
        let here = (call.procedures().database.clone(), Arc::clone(&call.procedures().running));
        return of(here).collect();
    };
    let (user, all) = (host.user(), host.is_admin());
    let visible = |(_, _, entry): &(_, _, Arc<Entry>)| all || entry.origin.user == user;
    host.running().into_iter().flat_map(of).filter(visible).collect()
}

/// Where the column `currentQueryStatus` of `SHOW TRANSACTIONS` is.
const QUERY_STATUS: usize = 20;
const STATUS_DETAILS: usize = 21;

/// `SHOW TRANSACTIONS`, with so many arguments that name some.
pub(crate) fn transactions(count: usize) -> Shown {
    let columns = [
        ("database", S),
        ("transactionId", S),
        ("currentQueryId", S),
        ("connectionId", S),
        ("clientAddress", S),
        ("username", S),
        ("currentQuery", S),
        ("startTime", "ZONED DATETIME"),
        ("status", S),
        ("elapsedTime", "DURATION"),
        ("currentQueryStartTime", "ZONED DATETIME"),
        ("currentQueryElapsedTime", "DURATION"),
        ("metaData", "MAP"),
        ("protocol", S),
        ("outerTransactionId", S),
        ("parameters", "MAP"),
        ("planner", S),
        ("runtime", S),
        ("indexes", "LIST<MAP>"),
        ("requestUri", S),
        ("currentQueryStatus", S),
        ("statusDetails", S),
        ("resourceInformation", "MAP"),
        ("activeLockCount", I),
        ("currentQueryActiveLockCount", I),
        ("cpuTime", "DURATION"),
        ("waitTime", "DURATION"),
        ("idleTime", "DURATION"),
        ("currentQueryCpuTime", "DURATION"),
        ("currentQueryWaitTime", "DURATION"),
        ("currentQueryIdleTime", "DURATION"),
        ("currentQueryAllocatedBytes", I),
        ("allocatedDirectBytes", I),
        ("estimatedUsedHeapMemory", I),
        ("pageHits", I),
        ("pageFaults", I),
        ("currentQueryPageHits", I),
        ("currentQueryPageFaults", I),
        ("initializationStackTrace", S),
    ];
    let width = columns.len();
    let run = move |call: &CallContext<'_>, arguments: &[Value]| {
        let asked = ids(arguments)?;
        let mut rows = Rows::new();
        for (database, number, entry) in visible(call) {
            let id = transaction_id(&database, number);
            if !arguments.is_empty() && !asked.iter().any(|asked| **asked == *id) {
                continue;
            }
            let query = entry.query.lock().clone();
            let status = if entry.is_ended() { "Terminated" } else { "Running" };
            let origin = &entry.origin;
            let mut row = vec![
                database.into(),
                id.into(),
                query.as_ref().map(|_| query_id(number)).into(),
                origin.connection.clone().into(),
                origin.address.clone().into(),
                origin.user.clone().into(),
                query.as_ref().map_or("", |query| &query.text).into(),
                moment(entry.began),
                status.into(),
                duration(entry.began_at.elapsed().as_nanos()),
                query.as_ref().map(|query| moment(query.began)).into(),
                query.as_ref().map(|query| duration(query.began_at.elapsed().as_nanos())).into(),
                Value::Map(Arc::new(entry.metadata())),
                origin.protocol.clone().into(),
                // No transaction begins another that is listed.
                "".into(),
            ];
            // What is behind these is not counted for each transaction, but what it is doing.
            row.resize(width, Value::Null);
            if let Some(query) = query {
                row[QUERY_STATUS] = "running".into();
                let progress = query.progress.map(|progress| progress.to_string());
                row[STATUS_DETAILS] = progress.as_deref().map(Value::from).into();
            }
            rows.push(row);
        }
        Ok(rows)
    };
    Shown::new("What runs.", id_arguments(count), &columns, run)
        .shows_before("currentQueryStartTime")
}

/// `TERMINATE TRANSACTIONS`
pub(crate) fn terminate(count: usize) -> Shown {
    let columns = [("transactionId", S), ("username", S), ("message", S)];
    let run = |call: &CallContext<'_>, arguments: &[Value]| {
        let running = visible(call);
        let ids = ids(arguments)?;
        let parsed = |id: &str| {
            let (_, number) = id.rsplit_once("-transaction-")?;
            number.parse::<u64>().ok()
        };
        if let Some(id) = ids.iter().find(|id| parsed(id).is_none()) {
            let message = format!(
                "could not parse id '{id}' (expected format: <databasename>-transaction-<id>)"
            );
            let kind = ErrorKind::InvalidArguments;
            return Err(QueryError::runtime(kind, "InvalidArgumentValue", message));
        }
        let row = |id: Arc<str>| {
            let named = |(database, number, _): &&(Arc<str>, u64, _)| {
                transaction_id(database, *number) == *id
            };
            let ended = running.iter().find(named).inspect(|(_, _, entry)| entry.end());
            let message = match ended {
                Some(_) => "Transaction terminated.",
                None => "Transaction not found.",
            };
            let user = ended.map(|(_, _, entry)| entry.origin.user.clone());
            vec![id.into(), user.into(), message.into()]
        };
        Ok(ids.into_iter().map(row).collect())
    };
    Shown::new("Ends transactions.", id_arguments(count), &columns, run)
}
