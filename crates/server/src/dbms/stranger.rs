//! What somebody may ask who has no role where it is asked: who and what there is for that one, and
//! what drivers and tools ask before anything else.
//!
//! It is decided from the tree of the text, before names are looked up or anything is planned, and
//! such that nothing takes long: there are no patterns, no calls of functions, no lists written
//! down, and at most one `UNWIND`. docs/security.md has the list.

use telar_db::query::QueryError;
use telar_db::query::cypher::ast::{Clause, Query, ShowTarget, Statement, StatementKind};
use telar_db::query::cypher::token::TokenKind;
use telar_db::query::cypher::{parse, tokens};

use super::failure::forbidden;

/// Procedures that drivers and tools call.
const ASKED: [&str; 3] = ["dbms.components", "db.ping", "db.info"];
/// Bytes of a text: two passwords of the longest, each character escaped.
const TEXT_BYTES_MAX: usize = 16 << 10;

/// # Errors
/// If the text asks for more. What is no statement is not: that is said when it is prepared.
pub(super) fn admit(text: &str, user: &str, database: &str) -> Result<(), QueryError> {
    if text.len() > TEXT_BYTES_MAX {
        let message = format!(
            "user '{user}' has no role on '{database}': a text may have {TEXT_BYTES_MAX} bytes there"
        );
        return Err(forbidden(message));
    }
    let Ok(statement) = parse(text) else { return Ok(()) };
    if is_administration(&statement) || (is_asked(&statement) && is_plain(text, &statement)) {
        return Ok(());
    }
    let message = format!(
        "user '{user}' has no role on '{database}', where that allows SHOW of databases, \
         transactions, procedures, functions and the user alone, ALTER CURRENT USER, and CALL of {}",
        ASKED.join(", ")
    );
    Err(forbidden(message))
}

/// Whether that is judged where it is executed.
fn is_administration(statement: &Statement) -> bool {
    matches!(statement.kind, StatementKind::Administration(_))
}

fn is_asked(statement: &Statement) -> bool {
    use ShowTarget as T;
    match &statement.kind {
        StatementKind::Show(show) => match show.target {
            T::Databases(_) | T::Transactions { .. } | T::Procedures(_) | T::Functions { .. } => {
                true
            }
            // Those of others are refused when they are read.
            T::Users { .. } | T::CurrentUser | T::Roles { .. } | T::Privileges(_) | T::Servers => {
                true
            }
            T::Indexes { .. } | T::Constraints(_) | T::Settings { .. } => false,
        },
        // Of others' it ends nothing.
        StatementKind::Terminate(_) | StatementKind::Transactions(_) => true,
        StatementKind::Query { at: None, query } => is_call(query),
        _ => false,
    }
}

/// `CALL name() YIELD ... UNWIND ... RETURN ...`, of a procedure that is asked for.
fn is_call(query: &Query) -> bool {
    let clauses = &query.first.clauses;
    let clauses = match clauses.first() {
        Some(Clause::Use(_)) => &clauses[1..],
        _ => &clauses[..],
    };
    let Some((Clause::Call(call), rest)) = clauses.split_first() else { return false };
    let name = call.procedure.dotted();
    let asked = ASKED.iter().any(|asked| asked.eq_ignore_ascii_case(&name));
    let unwinds = rest.iter().filter(|clause| matches!(clause, Clause::Unwind(_))).count();
    let known = |clause: &Clause| matches!(clause, Clause::Unwind(_) | Clause::Return(_));
    asked && query.unions.is_empty() && unwinds <= 1 && rest.iter().all(known)
}

/// Whether nothing stands in brackets, but for the arguments of a call.
fn is_plain(text: &str, statement: &Statement) -> bool {
    let (mut round, mut other) = (0, 0);
    for token in tokens(text) {
        match token.kind {
            TokenKind::LeftParen => round += 1,
            TokenKind::LeftBracket | TokenKind::LeftBrace => other += 1,
            _ => {}
        }
    }
    let allowed = usize::from(matches!(statement.kind, StatementKind::Query { .. }));
    round <= allowed && other == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strangers_ask_what_drivers_ask() {
        for text in [
            "SHOW DATABASES",
            "USE system SHOW DATABASES YIELD name, home WHERE home RETURN name ORDER BY name LIMIT 1",
            "SHOW DATABASE `neo4j`",
            "SHOW HOME DATABASE YIELD *",
            "SHOW CURRENT USER YIELD user, passwordChangeRequired",
            "SHOW USER PRIVILEGES",
            "SHOW TRANSACTIONS",
            "SHOW PROCEDURES YIELD name",
            "SHOW FUNCTIONS",
            "TERMINATE TRANSACTIONS 'neo4j-transaction-1', $other",
            "ALTER CURRENT USER SET PASSWORD FROM 'old' TO $new",
            "CREATE USER x SET PASSWORD 'is refused later'",
            "CALL db.ping()",
            "call DBMS.components() yield name, versions, edition unwind versions as version \
             return name, version, edition",
            "CALL dbms.components() YIELD versions WHERE versions IS NOT NULL RETURN versions;",
            "RETURN, which is no statement",
        ] {
            assert_eq!(admit(text, "ann", "system"), Ok(()), "{text}");
        }
    }

    #[test]
    fn strangers_get_nothing_else() {
        for text in [
            "RETURN 1",
            "UNWIND range(1, 1000000000) AS i RETURN count(i)",
            "MATCH (n) RETURN n",
            "EXPLAIN MATCH (a)-->(b)-->(c) RETURN a",
            "CALL db.labels()",
            "CALL telar.changes(0)",
            "CALL telar.backup('x')",
            "CALL dbms.components() YIELD name RETURN reduce(s = [1], i IN range(1, 60) | [s, s])",
            "CALL dbms.components() YIELD name WITH name + name AS n RETURN n",
            "CALL dbms.components() YIELD name UNWIND $x AS a UNWIND $x AS b RETURN a",
            "CALL dbms.components() YIELD name RETURN [1, 2]",
            "CALL dbms.components() YIELD name RETURN EXISTS { MATCH (n) }",
            "CALL db.ping() YIELD success RETURN success UNION CALL db.ping() YIELD success \
             RETURN success",
            "CALL { RETURN 1 AS x } RETURN x",
            "SHOW DATABASES YIELD name RETURN collect(name)",
            "SHOW DATABASES WHERE COUNT { MATCH (n) } > 0",
            "SHOW INDEXES",
            "SHOW CONSTRAINTS",
            "CREATE INDEX FOR (n:A) ON (n.x)",
            "LOAD CSV FROM 'file:///x' AS line RETURN line",
        ] {
            assert!(admit(text, "ann", "system").is_err(), "{text}");
        }
        let long = format!("SHOW DATABASES {}", " ".repeat(TEXT_BYTES_MAX));
        assert!(admit(&long, "ann", "system").is_err());
    }
}
