//! The procedure that only a server has: `telar.backup`.

use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

use telar_db::Value;
use telar_db::maintenance::{BackupOptions, time};
use telar_db::query::procedure::{Field, RowSource, known};
use telar_db::query::{CallContext, ErrorKind, Procedure, Procedures, QueryError};

use super::database::LastBackup;
use super::failure::{forbidden, invalid};

/// Adds it for a database.
pub(super) fn add(
    procedures: &mut Procedures,
    engine: &telar_db::Database,
    backups: Option<PathBuf>,
    last: &Arc<LastBackup>,
) {
    let last = Arc::clone(last);
    procedures.add("telar.backup", Arc::new(Backup::new(engine.clone(), backups, last)));
}

fn failed(error: impl std::fmt::Display) -> QueryError {
    QueryError::runtime(ErrorKind::ProcedureFailed, "ProcedureCallFailed", error.to_string())
}

/// A backup beside readers and writers, below a folder that the server's settings name.
struct Backup {
    engine: telar_db::Database,
    below: Option<PathBuf>,
    last: Arc<LastBackup>,
    arguments: Vec<Field>,
    columns: Vec<Field>,
}

impl Backup {
    fn new(engine: telar_db::Database, below: Option<PathBuf>, last: Arc<LastBackup>) -> Self {
        let arguments =
            vec![Field::new("folder", "STRING"), Field::new("since", "STRING").or(Value::Null)];
        let columns = [("commit", "INTEGER"), ("commits", "INTEGER"), ("bytes", "INTEGER")];
        let columns = columns.iter().map(|(name, of)| Field::new(name, of)).collect();
        Self { engine, below, last, arguments, columns }
    }

    /// The folder of a backup, of one name, so that it is where it is to be.
    fn folder(&self, argument: &Value) -> Result<PathBuf, QueryError> {
        let Some(below) = &self.below else {
            return Err(failed(
                "no folder for backups is set for this server: backup.folder names it",
            ));
        };
        let Value::String(name) = argument else {
            return Err(invalid("a backup needs the name of a folder"));
        };
        let mut parts = Path::new(&**name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) => Ok(below.join(part)),
            _ => Err(invalid(format!("'{name}' is not the name of a folder, without a path"))),
        }
    }
}

impl Procedure for Backup {
    fn arguments(&self) -> &[Field] {
        &self.arguments
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Writes a backup into a new folder, whole or what changed since another one; for admins."
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        arguments: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        if !call.host().is_some_and(|host| host.is_admin()) {
            return Err(forbidden("telar.backup is for administrators"));
        }
        let folder = self.folder(&arguments[0])?;
        let mut options = BackupOptions::default();
        if !arguments[1].is_null() {
            options.since = Some(self.folder(&arguments[1])?);
        }
        let done = self.engine.backup(&folder, &options).map_err(failed)?;
        self.last.note(time::now_ms());
        let number = |n: u64| Value::try_from(n).unwrap_or_default();
        let row = vec![number(done.to.get()), number(done.commits), number(done.bytes)];
        Ok(known(vec![row]))
    }
}
