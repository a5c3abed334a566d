//! A server with users that speaks Bolt and HTTP, and people who use it.

use std::path::Path;
use std::sync::Arc;

use base64ct::{Base64, Encoding};
use serde_json::{Value, json};
use telar_db::query::cypher::Secret;
use telar_server::dbms::{Dbms, DbmsSettings, Security};
use telar_server::metrics::Metrics;
use telar_server::server::{Http, Server, Settings};
use telar_server::{bolt, http};

use crate::client::Client;
use crate::common::{Answer, Connection};
use crate::data::{Data, map};

/// Everybody's password.
pub(crate) const PASSWORD: &str = "correct-horse";

/// A server with an empty database in memory, unless it is given a folder.
pub(crate) struct Attacked {
    pub(crate) server: Server,
}

impl Attacked {
    /// As settings are by default, but for the cost of a password.
    pub(crate) fn new() -> Self {
        Self::with(|_| {})
    }

    pub(crate) fn with(change: impl FnOnce(&mut Settings)) -> Self {
        Self::of(None, Self::dbms_settings(), change)
    }

    pub(crate) fn dbms_settings() -> DbmsSettings {
        let security = Security {
            initial_password: Some(Secret::new(PASSWORD)),
            hash_memory_kib: 64,
            hash_passes: 1,
            ..Security::default()
        };
        DbmsSettings { security, ..DbmsSettings::default() }
    }

    pub(crate) fn of(
        path: Option<&Path>,
        dbms: DbmsSettings,
        change: impl FnOnce(&mut Settings),
    ) -> Self {
        let address = ([127, 0, 0, 1], 0).into();
        let mut settings = Settings {
            bolt: bolt::Settings { address, ..Default::default() },
            http: Some(Http { address, tls: None, settings: http::Settings::default() }),
        };
        change(&mut settings);
        let dbms = Arc::new(Dbms::open(path, dbms).unwrap());
        Self { server: Server::start(dbms, &settings, &Arc::new(Metrics::new())).unwrap() }
    }

    pub(crate) fn http(&self) -> Connection {
        Connection::to(self.server.http_address().unwrap())
    }

    /// A request of a program on a connection of its own.
    pub(crate) fn ask(&self, user: &str, method: &str, path: &str, body: &Value) -> Answer {
        let mut connection = self.http();
        let text = if body.is_null() { String::new() } else { body.to_string() };
        let headers = [&*basic(user, PASSWORD), "Content-Type: application/json"];
        connection.request(method, path, &headers, &text);
        connection.answer()
    }

    /// A statement over HTTP.
    pub(crate) fn post(&self, user: &str, database: &str, statement: &str) -> Answer {
        let path = format!("/db/{database}/query/v2");
        self.ask(user, "POST", &path, &json!({ "statement": statement }))
    }

    /// What the administrator wants done.
    #[track_caller]
    pub(crate) fn admin(&self, statement: &str) {
        let answer = self.post("neo4j", "system", statement);
        assert_eq!(answer.status, 202, "{statement}: {}", answer.text());
        assert!(answer.json()["errors"].is_null(), "{statement}: {}", answer.text());
    }

    /// Rows of the database, as the administrator sees them.
    #[track_caller]
    pub(crate) fn rows(&self, statement: &str) -> Value {
        let answer = self.post("neo4j", "telar", statement);
        assert!(answer.json()["errors"].is_null(), "{statement}: {}", answer.text());
        answer.json()["data"]["values"].clone()
    }

    /// A user with this role, or none.
    pub(crate) fn user(&self, name: &str, role: Option<&str>) {
        let create = "SET PASSWORD 'correct-horse' CHANGE NOT REQUIRED";
        self.admin(&format!("CREATE USER {name} {create}"));
        if let Some(role) = role {
            self.admin(&format!("GRANT ROLE {role} TO {name}"));
        }
    }

    /// A client of Bolt who has logged in.
    pub(crate) fn bolt(&self, user: &str) -> Client {
        let mut client = Client::with_version(&self.server, 5, 4);
        client.ask(0x01, [map([("user_agent", "tests/1".into())])]).success();
        client.ask(0x6A, [token(user, PASSWORD)]).success();
        client
    }
}

/// What LOGON takes.
pub(crate) fn token(user: &str, password: &str) -> Data {
    let [scheme, user, password] = ["basic", user, password].map(Data::from);
    map([("scheme", scheme), ("principal", user), ("credentials", password)])
}

/// The header of a request.
pub(crate) fn basic(user: &str, password: &str) -> String {
    let pair = Base64::encode_string(format!("{user}:{password}").as_bytes());
    format!("Authorization: Basic {pair}")
}
