//! `CALL telar.cluster.transfer()`: another node is to lead the database.

use telar_cluster::replica::election::Role;
use telar_db::Value;
use telar_db::query::procedure::{Field, RowSource, known};
use telar_db::query::{CallContext, Procedure, QueryError};

use super::super::failure::forbidden;
use super::LocalCopy;

/// Name of the procedure.
pub(in crate::dbms) const TRANSFER: &str = "telar.cluster.transfer";

/// Gives up leading a database; commits under way are ended first, and another node takes over
/// without waiting for the lease to lapse. Until one does, nobody takes commits.
pub(in crate::dbms) struct Transfer {
    copy: LocalCopy,
    columns: Vec<Field>,
}

impl Transfer {
    pub(in crate::dbms) fn new(copy: LocalCopy) -> Self {
        Self { copy, columns: vec![Field::new("transferred", "BOOLEAN")] }
    }
}

impl Procedure for Transfer {
    fn arguments(&self) -> &[Field] {
        &[]
    }

    fn columns(&self) -> &[Field] {
        &self.columns
    }

    fn description(&self) -> &str {
        "Gives up leading this database, so that another node of the cluster does; for admins."
    }

    fn run(
        &self,
        call: &mut CallContext<'_>,
        _: &[Value],
    ) -> Result<Box<dyn RowSource>, QueryError> {
        if !call.host().is_some_and(|host| host.is_admin()) {
            return Err(forbidden(format!("{TRANSFER} is for administrators")));
        }
        if self.copy.replica.role() != Role::Leader {
            return Err(self.copy.not_a_leader());
        }
        // Else who asks may hear that this node leads no more, and ask the next one.
        call.spare();
        self.copy.replica.release();
        Ok(known(vec![vec![true.into()]]))
    }
}
