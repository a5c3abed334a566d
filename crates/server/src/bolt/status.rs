//! What a client is told beside rows: failures, and things that are no failure.
//!
//! Since Bolt 5.6 what is no failure, and since 5.7 failures, have a status of the GQL standard
//! beside the code of Neo4j. Where the standard has no status for a code, the status is that of an
//! unexpected failure, as it is for drivers that talk to a server of before.

use telar_db::Value;
use telar_db::query::{Notification, NotificationKind};

use super::message::FAILURE;
use super::packstream::encode::{self as put, SmallMap};
use super::version::Version;
use crate::dbms::Failure;

/// A status of the standard and its description.
type Status = (&'static str, &'static str);

const SUCCEEDED: Status = ("00000", "note: successful completion");
const NOTHING_ASKED: Status = ("00001", "note: successful completion - omitted result");
const NO_DATA: Status = ("02000", "note: no data");

/// The status of a failure.
fn status_of(code: &str) -> Status {
    match code {
        "Neo.ClientError.Statement.SyntaxError" | "Neo.ClientError.Procedure.ProcedureNotFound" => {
            ("42001", "error: syntax error or access rule violation - invalid syntax")
        }
        "Neo.ClientError.Statement.SemanticError" => {
            ("42000", "error: syntax error or access rule violation")
        }
        "Neo.ClientError.Statement.ParameterMissing" => {
            ("42N51", "error: syntax error or access rule violation - invalid parameter")
        }
        "Neo.ClientError.Statement.TypeError" => {
            ("22G03", "error: data exception - invalid value type")
        }
        "Neo.ClientError.Statement.ArgumentError"
        | "Neo.ClientError.Statement.ArithmeticError"
        | "Neo.ClientError.Statement.EntityNotFound" => ("22000", "error: data exception"),
        "Neo.ClientError.Database.DatabaseNotFound" => {
            ("22N51", "error: data exception - database does not exist")
        }
        "Neo.ClientError.Security.Forbidden" | "Neo.ClientError.Security.Unauthorized" => {
            let description = "error: syntax error or access rule violation - \
                               permission/access denied";
            ("42NFF", description)
        }
        "Neo.ClientError.Request.Invalid" | "Neo.ClientError.Request.InvalidFormat" => {
            ("08N06", "error: connection exception - protocol error")
        }
        "Neo.ClientError.Statement.AccessMode" => ("25000", "error: invalid transaction state"),
        _ if code.contains(".Transaction.") => ("40000", "error: transaction rollback"),
        _ => ("50N42", "error: general processing exception - unexpected error"),
    }
}

/// Writes a FAILURE.
pub(crate) fn failure(out: &mut Vec<u8>, failure: &Failure, version: Version) {
    put::structure(out, FAILURE, 1);
    let mut map = SmallMap::new(out);
    if version < Version::new(5, 7) {
        map.string("code", failure.code);
        map.string("message", &failure.message);
        return;
    }
    let (status, description) = status_of(failure.code);
    map.string("neo4j_code", failure.code);
    map.string("message", &failure.message);
    map.string("gql_status", status);
    map.string("description", &format!("{description}. {}", failure.message));
    let class = match failure.code.split('.').nth(1) {
        Some("ClientError") => "CLIENT_ERROR",
        Some("TransientError") => "TRANSIENT_ERROR",
        _ => "DATABASE_ERROR",
    };
    let mut record = SmallMap::new(map.entry("diagnostic_record"));
    default_record(&mut record);
    record.string("_classification", class);
    if let Some(detail) = &failure.detail {
        record.string("_detail", detail);
    }
}

/// What every diagnostic record says.
fn default_record(record: &mut SmallMap<'_>) {
    record.string("OPERATION", "");
    record.string("OPERATION_CODE", "0");
    record.string("CURRENT_SCHEMA", "/");
}

/// Which notifications a client wants.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    /// None at all.
    off: bool,
    /// None below a warning.
    warnings_only: bool,
    /// None of these categories.
    disabled: Vec<String>,
}

impl Filter {
    /// What HELLO, BEGIN or RUN say of it, or else what was said before.
    ///
    /// # Errors
    /// If a value is not of the kind expected.
    pub(crate) fn or(&self, minimum: Option<&Value>, disabled: Option<&Value>) -> Option<Self> {
        let mut filter = self.clone();
        match minimum {
            None | Some(Value::Null) => {}
            Some(Value::String(minimum)) => {
                filter.off = minimum.eq_ignore_ascii_case("OFF");
                filter.warnings_only = minimum.eq_ignore_ascii_case("WARNING");
            }
            Some(_) => return None,
        }
        match disabled {
            None | Some(Value::Null) => {}
            Some(Value::List(disabled)) => {
                let name = |value: &Value| match value {
                    Value::String(name) => Some(name.to_uppercase()),
                    _ => None,
                };
                filter.disabled = disabled.iter().map(name).collect::<Option<_>>()?;
            }
            Some(_) => return None,
        }
        Some(filter)
    }

    fn wants(&self, notification: &Notification) -> bool {
        let kind = notification.kind;
        let too_small = self.off || self.warnings_only && kind.severity() != "WARNING";
        !too_small && !self.disabled.iter().any(|category| category == kind.category())
    }
}

/// How a statement ended, for those that read statuses.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Outcome {
    /// Whether it returns anything.
    pub(crate) has_columns: bool,
    /// Whether it returned a row.
    pub(crate) has_rows: bool,
}

/// Adds what is worth knowing to the summary of a statement.
pub(crate) fn notifications(
    summary: &mut SmallMap<'_>,
    notifications: &[Notification],
    filter: &Filter,
    outcome: Outcome,
    version: Version,
) {
    let wanted: Vec<_> = notifications.iter().filter(|n| filter.wants(n)).collect();
    if version >= Version::new(5, 5) {
        statuses(summary.entry("statuses"), &wanted, outcome);
    } else if !wanted.is_empty() {
        let out = summary.entry("notifications");
        put::list(out, wanted.len());
        for notification in wanted {
            let kind = notification.kind;
            let mut map = SmallMap::new(out);
            map.string("code", kind.code());
            map.string("title", kind.title());
            map.string("description", &notification.message);
            map.string("severity", kind.severity());
            if version >= Version::new(5, 2) {
                map.string("category", kind.category());
            }
            position(&mut map, "position", notification);
        }
    }
}

/// The standard wants the gravest first: no data, warnings, success, remarks.
fn statuses(out: &mut Vec<u8>, wanted: &[&Notification], outcome: Outcome) {
    let own = match outcome {
        Outcome { has_columns: false, .. } => NOTHING_ASKED,
        Outcome { has_rows: false, .. } => NO_DATA,
        _ => SUCCEEDED,
    };
    put::list(out, wanted.len() + 1);
    let warns = |n: &&&Notification| n.kind.severity() == "WARNING";
    if own == NO_DATA {
        status(out, own);
    }
    wanted.iter().filter(warns).for_each(|n| remark(out, n));
    if own != NO_DATA {
        status(out, own);
    }
    wanted.iter().filter(|n| !warns(n)).for_each(|n| remark(out, n));
}

fn status(out: &mut Vec<u8>, (status, description): Status) {
    let mut map = SmallMap::new(out);
    map.string("gql_status", status);
    map.string("status_description", description);
    default_record(&mut SmallMap::new(map.entry("diagnostic_record")));
}

fn remark(out: &mut Vec<u8>, notification: &Notification) {
    let kind = notification.kind;
    let (status, description) = match kind {
        NotificationKind::UnknownLabel => ("01N50", "warn: label does not exist"),
        NotificationKind::UnknownType => ("01N51", "warn: relationship type does not exist"),
        NotificationKind::UnknownPropertyKey => ("01N52", "warn: property key does not exist"),
        NotificationKind::RuleExists => {
            ("00NA0", "note: successful completion - index or constraint already exists")
        }
        NotificationKind::RuleMissing => {
            ("00NA1", "note: successful completion - index or constraint does not exist")
        }
        _ if kind.severity() == "WARNING" => ("01N00", "warn: warning"),
        _ => ("03N00", "info: informational"),
    };
    let mut map = SmallMap::new(out);
    map.string("gql_status", status);
    map.string("status_description", &format!("{description}. {}", notification.message));
    map.string("neo4j_code", kind.code());
    map.string("title", kind.title());
    map.string("description", &notification.message);
    let mut record = SmallMap::new(map.entry("diagnostic_record"));
    default_record(&mut record);
    record.string("_classification", kind.category());
    record.string("_severity", kind.severity());
    position(&mut record, "_position", notification);
}

fn position(map: &mut SmallMap<'_>, key: &str, notification: &Notification) {
    let Some(position) = notification.position else { return };
    let mut map = SmallMap::new(map.entry(key));
    map.int("offset", position.offset as i64);
    map.int("line", position.line as i64);
    map.int("column", position.column as i64);
}
