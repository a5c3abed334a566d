//! What runs, commands in transactions, limits.

use super::*;
use crate::dbms::StatementLimits;

/// What a statement in a transaction gives.
fn step(work: &mut crate::dbms::Work, text: &str) -> Result<Vec<String>, Failure> {
    let mut kept = Kept::default();
    work.run(text, &ValueMap::default(), &mut kept).map(|_| kept.0)
}

#[test]
fn commands_in_a_transaction_are_done_with_its_commit_or_not_at_all() {
    let folder = tempfile::tempdir().unwrap();
    let dbms = stored(folder.path());
    let client = admin(&dbms);
    let users = || run(&client, "SHOW USERS YIELD user").len();
    let options = on("system");
    transaction(&client, &options, |mut work| {
        step(&mut work, "CREATE USER ann SET PASSWORD 'long enough'").unwrap();
        // The second statement sees what the first one is going to do.
        let again = step(&mut work, "CREATE USER ann SET PASSWORD 'long enough'");
        assert_eq!(again.unwrap_err().code, INVALID);
    })
    .unwrap();
    assert_eq!(users(), 1);
    let bookmark = transaction(&client, &options, |mut work| {
        step(&mut work, "CREATE USER ann SET PASSWORD 'long enough'").unwrap();
        step(&mut work, "CREATE DATABASE shop").unwrap();
        step(&mut work, "GRANT ROLE reader TO ann ON DATABASE shop").unwrap();
        assert_eq!(users(), 1);
        work.commit()
    });
    assert!(bookmark.unwrap().unwrap().to_string().starts_with("telar:system:"));
    assert_eq!(users(), 2);
    run_on(&client, "shop", "CREATE ()");
    // Somebody else was faster: nothing of it is done.
    let outcome = transaction(&client, &options, |mut work| {
        step(&mut work, "CREATE USER bob SET PASSWORD 'long enough'").unwrap();
        step(&mut work, "CREATE DATABASE other").unwrap();
        run(&client, "CREATE DATABASE other");
        work.commit().unwrap_err().code
    });
    assert_eq!(outcome.unwrap(), "Neo.ClientError.Database.ExistingDatabaseFound");
    assert_eq!(users(), 2);

    let forbidden = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
    let mixed = |first: &str, second: &str| {
        let outcome = transaction(&client, &Options::default(), |mut work| {
            step(&mut work, first).unwrap();
            step(&mut work, second).unwrap_err().code
        });
        assert_eq!(outcome.unwrap(), forbidden);
    };
    mixed("CREATE ()", "DROP USER ann");
    mixed("DROP USER ann", "CREATE ()");
    assert_eq!(users(), 2);
    assert_eq!(run(&client, "MATCH (n) RETURN n"), Vec::<String>::new());
}

#[test]
fn transactions_of_all_databases_are_listed_to_those_who_may_end_them() {
    let dbms = in_memory();
    let client = admin(&dbms);
    run(&client, "CREATE DATABASE shop");
    let (ann, bob) = (user(&dbms, "ann", "writer"), user(&dbms, "bob", "reader"));
    let mut options = on("shop");
    options.metadata = [(Arc::from("app"), Value::from("till"))].into_iter().collect();
    transaction(&ann, &options, |mut work| {
        step(&mut work, "CREATE (:Lost)").unwrap();
        let shown = "SHOW TRANSACTIONS YIELD database, transactionId, username, clientAddress, \
                     connectionId, metaData, protocol WHERE database = 'shop' \
                     RETURN transactionId, username, clientAddress, connectionId, metaData, \
                     protocol";
        let connection = ann.connection();
        let row = format!(
            "'shop-transaction-0' 'ann' '127.0.0.1:4711' '{connection}' {{app: 'till'}} 'bolt'"
        );
        assert_eq!(run(&client, shown), [row]);
        let own = "SHOW TRANSACTIONS YIELD username, currentQuery RETURN username, currentQuery";
        assert_eq!(run(&bob, own), [format!("'bob' '{own}'")], "only his own");
        let end = "TERMINATE TRANSACTIONS 'shop-transaction-0'";
        assert_eq!(run(&bob, end), ["'shop-transaction-0' NULL 'Transaction not found.'"]);
        step(&mut work, "CREATE (:Lost)").unwrap();
        assert_eq!(run(&client, end), ["'shop-transaction-0' 'ann' 'Transaction terminated.'"]);
        let terminated = "Neo.TransientError.Transaction.Terminated";
        assert_eq!(step(&mut work, "MATCH (n) RETURN n").unwrap_err().code, terminated);
    })
    .unwrap();
    assert_eq!(run_on(&ann, "shop", "MATCH (n) RETURN n"), Vec::<String>::new());
}

#[test]
fn a_listed_command_shows_no_password() {
    let dbms = in_memory();
    let client = admin(&dbms);
    // The text of a command that runs is what EXPLAIN gives as its details.
    let text = "EXPLAIN CREATE USER ann SET PASSWORD 'first secret'";
    let mut kept = Kept::default();
    let done = client.run(&Options::default(), text, &ValueMap::default(), &mut kept).unwrap();
    let plan = done.summary.plan.unwrap();
    assert_eq!(plan.operator, "CreateUser");
    assert_eq!(plan.details, "EXPLAIN CREATE USER ann SET PASSWORD '******'");
    assert_eq!(run(&client, "SHOW USERS").len(), 1, "it was only explained");
    let text = "CREATE USER ann SET PASSWORD 'first secret'";
    let done = client.run(&Options::default(), text, &ValueMap::default(), &mut kept).unwrap();
    assert_eq!(done.summary.counters.system_updates, 1);
    assert!(!done.summary.counters.changes_graph());
}

#[test]
fn statements_have_the_limits_of_the_server() {
    let limited = |limits: StatementLimits| {
        Arc::new(Dbms::open(None, DbmsSettings { limits, ..settings() }).unwrap())
    };
    let timeout = Some(Duration::from_millis(50));
    let short = limited(StatementLimits { timeout, ..StatementLimits::default() });
    let slow = "UNWIND range(1, 100000000) AS x RETURN count(x % 7)";
    let timed_out = "Neo.ClientError.Transaction.TransactionTimedOut";
    let asked = Options { timeout: Some(Duration::from_secs(3600)), ..Options::default() };
    assert_eq!(try_on(&admin(&short), &asked, slow).unwrap_err().code, timed_out);
    let (memory, transactions) = (Some(1 << 20), Some(2));
    let limits = StatementLimits { memory, transactions, ..StatementLimits::default() };
    let dbms = limited(limits);
    let client = admin(&dbms);
    let large = "UNWIND range(1, 1000000) AS x RETURN x ORDER BY -x";
    let memory = "Neo.TransientError.General.MemoryPoolOutOfMemoryError";
    assert_eq!(code(&client, large), memory);
    let ann = user(&dbms, "ann", "reader");
    transaction(&ann, &Options::default(), |_| {
        run(&ann, "RETURN 1");
        transaction(&ann, &Options::default(), |_| {
            let full = "Neo.TransientError.Transaction.MaximumTransactionLimitReached";
            assert_eq!(code(&ann, "RETURN 1"), full);
            assert_eq!(try_on(&ann, &on("system"), "SHOW DATABASES").unwrap_err().code, full);
            // Some are kept for those who can do something about it.
            run_on(&client, "system", "SHOW TRANSACTIONS");
        })
        .unwrap();
        run(&ann, "RETURN 1");
    })
    .unwrap();
}

fn once(id: impl Into<Value>) -> Options {
    let metadata = [(Arc::from("telar_once"), id.into())].into_iter().collect();
    Options { metadata, ..Options::default() }
}

#[test]
fn a_transaction_with_an_id_commits_once() {
    let dbms = in_memory();
    let client = admin(&dbms);
    let send = |text: &str| {
        let mut kept = Kept::default();
        let done = client.run(&once("a"), text, &ValueMap::new(), &mut kept).unwrap();
        done.bookmark.unwrap().to_string()
    };
    let first = send("CREATE (:Order {id: 1})");
    run(&client, "CREATE (:Other)");
    assert_eq!(send("CREATE (:Order {id: 1})"), first);
    let mut work = client.begin(&once("a")).unwrap();
    step(&mut work, "CREATE (:Order {id: 1})").unwrap();
    assert_eq!(work.commit().unwrap().to_string(), first);
    assert_eq!(run(&client, "MATCH (o:Order) RETURN count(o)"), ["1"]);
    // What only reads has its own.
    assert_ne!(send("MATCH (o) RETURN o"), first);
    // A constraint is looked at when the statement runs, or at the commit; both know the id.
    run(&client, "CREATE CONSTRAINT FOR (o:Order) REQUIRE o.id IS UNIQUE");
    assert_eq!(send("CREATE (:Order {id: 1})"), first);
    let mut work = client.begin(&once("a")).unwrap();
    let failure = step(&mut work, "CREATE (:Order {id: 1 / 0})").unwrap_err();
    assert_eq!(failure.code, "Neo.ClientError.Transaction.AlreadyCommitted");
    assert!(failure.message.contains("has committed before"), "{}", failure.message);
    drop(work);
    let failure = try_on(&client, &once("b"), "CREATE (:Order {id: 1 / 0})").unwrap_err();
    assert_eq!(failure.code, "Neo.ClientError.Statement.ArithmeticError");
}

#[test]
fn ids_that_cannot_be_kept_are_refused() {
    let dbms = in_memory();
    let client = admin(&dbms);
    let invalid = "Neo.ClientError.Request.Invalid";
    for id in [Value::from(""), Value::from("x".repeat(129)), Value::from(7), Value::from(true)] {
        let failure = try_on(&client, &once(id), "CREATE ()").unwrap_err();
        assert_eq!(failure.code, invalid);
        assert!(failure.message.contains("telar_once: expected a STRING of 1 to 128 bytes"));
    }
    let near: ValueMap = [(Arc::from("telar.once"), Value::from("a"))].into_iter().collect();
    let near = Options { metadata: near, ..Options::default() };
    let failure = try_on(&client, &near, "CREATE ()").unwrap_err();
    assert!(failure.message.contains("did you mean 'telar_once'?"), "{}", failure.message);
    for text in [
        "CREATE INDEX FOR (n:X) ON n.y",
        "CREATE USER ann SET PASSWORD 'long enough'",
        "UNWIND range(1, 3) AS i CALL (i) { CREATE (:Batch) } IN TRANSACTIONS OF 1 ROW",
    ] {
        let failure = try_on(&client, &once("a"), text).unwrap_err();
        let code = "Neo.ClientError.Transaction.ForbiddenDueToTransactionType";
        assert_eq!(failure.code, code, "{text}");
        try_on(&client, &once("a"), &format!("EXPLAIN {text}")).unwrap();
    }
    try_on(&client, &once(Value::Null), "CREATE INDEX FOR (n:X) ON n.y").unwrap();
    assert_eq!(run(&client, "MATCH (n) RETURN count(n)"), ["0"]);
}

#[test]
fn slow_statements_are_listed_to_those_who_ran_them_and_to_administrators() {
    let slow = DbmsSettings { slow: Duration::ZERO, ..settings() };
    let dbms = Arc::new(Dbms::open(None, slow).unwrap());
    let client = admin(&dbms);
    let (ann, bob) = (user(&dbms, "ann", "writer"), user(&dbms, "bob", "reader"));
    run(&client, "CREATE DATABASE shop");
    run(&ann, "UNWIND [1, 2] AS x RETURN x");
    assert!(attempt(&ann, "RETURN 1 / 0").is_err());
    transaction(&ann, &on("shop"), |mut work| step(&mut work, "CREATE (:Bolt)").unwrap()).unwrap();
    let list = "CALL telar.slowQueries() YIELD database, username, rows, error, query \
                WHERE NOT query STARTS WITH 'CALL' RETURN database, username, rows, error, query";
    let own = [
        "'shop' 'ann' 0 NULL 'CREATE (:Bolt)'",
        "'telar' 'ann' 0 'Neo.ClientError.Statement.ArithmeticError' 'RETURN 1 / 0'",
        "'telar' 'ann' 2 NULL 'UNWIND [1, 2] AS x RETURN x'",
    ];
    assert_eq!(run(&ann, list), own);
    assert_eq!(run(&bob, list), Vec::<String>::new());
    let all = run(&client, list);
    assert!(own.iter().all(|row| all.iter().any(|found| found == row)), "{all:?}");
    let masked = |row: &String| row.contains(r"CREATE USER bob SET PASSWORD \'******\'");
    assert!(all.iter().any(masked), "{all:?}");
    // Whoever acts for a user leaves the statement to that user.
    let acting = Options { impersonated: Some("bob".into()), ..Options::default() };
    try_on(&client, &acting, "RETURN 'for bob'").unwrap();
    assert_eq!(run(&bob, list), [r"'telar' 'bob' 1 NULL 'RETURN \'for bob\''"]);
    // One of the same name, made again, has nothing of the old one.
    run(&client, "DROP USER bob");
    let bob = user(&dbms, "bob", "reader");
    assert_eq!(run(&bob, list), Vec::<String>::new());
    assert_eq!(code(&user(&dbms, "cy", ""), "CALL telar.slowQueries()"), FORBIDDEN);
    assert_eq!(run_on(&ann, "system", &format!("{list} LIMIT 1")), [own[0]]);
}

#[test]
fn a_quick_statement_is_not_listed_among_slow_ones() {
    let hour = DbmsSettings { slow: Duration::from_secs(3600), ..settings() };
    let dbms = Arc::new(Dbms::open(None, hour).unwrap());
    let client = admin(&dbms);
    run(&client, "RETURN 1");
    assert_eq!(run(&client, "CALL telar.slowQueries()"), Vec::<String>::new());
}
