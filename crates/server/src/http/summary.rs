//! What an answer says beside its rows, as the Query API spells it.

use serde_json::{Map, Value as Json, json};
use telar_db::query::{Counters, Notification, PlanDescription, StatementKind, Summary};

/// What follows the rows.
#[derive(Debug)]
pub(crate) struct Ending<'a> {
    pub(crate) summary: Option<&'a Summary>,
    pub(crate) include_counters: bool,
    /// Of what was committed or read.
    pub(crate) bookmark: Option<String>,
    /// The transaction that is still open.
    pub(crate) transaction: Option<OpenTransaction>,
}

/// A transaction as its client sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OpenTransaction {
    pub(crate) id: String,
    /// When it is rolled back unless something is asked of it before.
    pub(crate) expires: String,
}

impl Ending<'_> {
    /// The fields of the document, or of the last line.
    pub(crate) fn fields(&self) -> Map<String, Json> {
        let mut fields = Map::new();
        if let Some(summary) = self.summary {
            fields.insert("queryType".to_owned(), kind(summary.kind).into());
            if self.include_counters {
                fields.insert("counters".to_owned(), counters(&summary.counters));
            }
            if let Some(described) = &summary.plan {
                let measured = described.measured.is_some();
                let name = if measured { "profiledQueryPlan" } else { "queryPlan" };
                fields.insert(name.to_owned(), plan(described, true));
            }
            if !summary.notifications.is_empty() {
                let all = summary.notifications.iter().map(notification).collect();
                fields.insert("notifications".to_owned(), Json::Array(all));
            }
        }
        if let Some(bookmark) = &self.bookmark {
            fields.insert("bookmarks".to_owned(), json!([bookmark]));
        }
        if let Some(OpenTransaction { id, expires }) = &self.transaction {
            let open = json!({ "id": id, "expires": expires });
            fields.insert("transaction".to_owned(), open);
        }
        fields
    }
}

/// What kind of statement it is.
pub(crate) fn kind(kind: StatementKind) -> &'static str {
    match kind {
        StatementKind::Read => "r",
        StatementKind::Write => "w",
        StatementKind::ReadWrite => "rw",
        StatementKind::Schema => "s",
    }
}

fn counters(counters: &Counters) -> Json {
    json!({
        "containsUpdates": counters.changes_graph(),
        "nodesCreated": counters.nodes_created,
        "nodesDeleted": counters.nodes_deleted,
        "propertiesSet": counters.properties_set,
        "relationshipsCreated": counters.relationships_created,
        "relationshipsDeleted": counters.relationships_deleted,
        "labelsAdded": counters.labels_added,
        "labelsRemoved": counters.labels_removed,
        "indexesAdded": counters.indexes_added,
        "indexesRemoved": counters.indexes_removed,
        "constraintsAdded": counters.constraints_added,
        "constraintsRemoved": counters.constraints_removed,
        "containsSystemUpdates": counters.system_updates > 0,
        "systemUpdates": counters.system_updates,
    })
}

fn notification(notification: &Notification) -> Json {
    let mut fields = json!({
        "code": notification.kind.code(),
        "title": notification.kind.title(),
        "description": notification.message,
        "severity": notification.kind.severity(),
        "category": notification.kind.category(),
    });
    if let Some(at) = &notification.position {
        fields["position"] = json!({ "offset": at.offset, "line": at.line, "column": at.column });
    }
    fields
}

/// An operator with those below it; the first one has the plan as a table, too.
fn plan(description: &PlanDescription, first: bool) -> Json {
    let mut arguments = json!({
        "Details": description.details,
        "EstimatedRows": description.estimated_rows,
    });
    if first {
        arguments["string-representation"] = description.to_string().into();
    }
    let children: Vec<Json> = description.children.iter().map(|child| plan(child, false)).collect();
    let mut fields = json!({
        "operatorType": description.operator,
        "identifiers": description.identifiers.iter().map(|name| &**name).collect::<Vec<_>>(),
    });
    if let Some(measured) = &description.measured {
        let time = u64::try_from(measured.time.as_nanos()).unwrap_or(u64::MAX);
        fields["dbHits"] = measured.hits.into();
        fields["records"] = measured.rows.into();
        fields["time"] = time.into();
        arguments["DbHits"] = measured.hits.into();
        arguments["Rows"] = measured.rows.into();
        arguments["Time"] = time.into();
        arguments["Memory"] = measured.memory.into();
        if first {
            arguments["GlobalMemory"] = measured.query_memory.into();
        }
    }
    fields["arguments"] = arguments;
    fields["children"] = children.into();
    fields
}
