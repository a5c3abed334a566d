//! The states of a connection.
//!
//! ```text
//! NEGOTIATION ─HELLO─► AUTHENTICATION ─LOGON─► READY ◄──────────────────────────────┐
//!      └── before 5.1, HELLO logs in ────────►  │ ▲ └─BEGIN─► TX_READY ─COMMIT,─────┤
//!                                               │ │            │  ▲    ROLLBACK     │
//!                                              RUN└─the end   RUN └─the end         │
//!                                               ▼ │            ▼  │                 │
//!                                           STREAMING       TX_STREAMING            │
//!        any failure ─► FAILED: everything is IGNORED until ─RESET──────────────────┘
//! ```
//!
//! A state is a place in this code: in `STREAMING` the thread is in `Stream::wait`, called by the
//! query; in the states of a transaction it is in [`transaction`](super::transaction). What is not
//! allowed in a state ends the connection. INTERRUPTED is in [`Link::next`].

use std::sync::Arc;
use std::time::Instant;

use telar_db::{Value, ValueMap, heap};

use super::connections::Admitted;
use super::extra::{self, Wanted};
use super::link::{Exit, Link, out_of_order};
use super::message::{Request, Run};
use super::packstream::encode::{self as put, SmallMap};
use super::status::Filter;
use super::stream::{After, Stream};
use super::{Shared, transaction};
use crate::dbms::{Client, Dbms, Failure, Peer};
use crate::metrics::Protocol;
use crate::net::{WaitEnd, WaitLimit};

/// What the server says it is. Drivers refuse what does not begin with `Neo4j/`, and tools decide
/// by the version what they can ask for.
const AGENT: &str = concat!("Neo4j/5.26.0+telar-", env!("CARGO_PKG_VERSION"));

/// What can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    Authentication,
    Ready,
    Failed,
}

/// A connection whose version is agreed on.
#[derive(Debug)]
pub(crate) struct Connection<'s> {
    pub(crate) link: Link,
    pub(crate) client: Client,
    pub(crate) shared: &'s Shared,
    admitted: &'s Admitted,
    /// Which notifications the client wants.
    filter: Filter,
    /// How the client says it reached the server.
    reached_at: Option<String>,
}

/// Takes a HELLO, and then whatever the client asks for until it or the server has enough.
pub(crate) fn serve(mut link: Link, shared: &Shared, peer: Peer, admitted: &Admitted) {
    let exit = match hello(&mut link, &shared.dbms, peer) {
        Err(exit) => exit,
        Ok((client, extra)) => {
            let wire = Arc::clone(&admitted.connection);
            client.reached(shared.address.to_string(), move || wire.close());
            let filter = Filter::default();
            let mut connection =
                Connection { client, shared, admitted, filter, reached_at: None, link };
            let exit = connection.run(&extra);
            link = connection.link;
            exit
        }
    };
    link.close(&exit);
}

/// The first request: a client, and what it said.
fn hello(link: &mut Link, dbms: &Arc<Dbms>, mut peer: Peer) -> Result<(Client, ValueMap), Exit> {
    match link.next()? {
        Request::Hello(extra) => {
            let agent = extra::text(&extra, "user_agent").map_err(Exit::Protocol)?;
            peer.agent = agent.unwrap_or_default();
            Ok((Client::new(Arc::clone(dbms), peer), extra))
        }
        Request::Unacceptable(failure) => Err(Exit::Protocol(failure)),
        other => Err(out_of_order(&other, "NEGOTIATION")),
    }
}

impl Connection<'_> {
    fn run(&mut self, hello: &ValueMap) -> Exit {
        let mut next = self.greet(hello);
        loop {
            next = match next {
                Ok(State::Authentication) => self.authentication(),
                Ok(State::Ready) => self.ready(),
                Ok(State::Failed) => self.failed(),
                Err(exit) => return exit,
            };
        }
    }

    /// Answers HELLO.
    fn greet(&mut self, extra: &ValueMap) -> Result<State, Exit> {
        self.filter = extra::filter(extra, &Filter::default()).map_err(Exit::Protocol)?;
        if let Some(Value::Map(routing)) = extra.get("routing") {
            self.reached_at = extra::text(routing, "address").map_err(Exit::Protocol)?;
        }
        let patches = extra::texts("patch_bolt", extra.get("patch_bolt"));
        let utc = patches.map_err(Exit::Protocol)?.iter().any(|patch| patch == "utc");
        let patched = utc && !self.link.since(5, 0);
        let state = if self.link.since(5, 1) { State::Authentication } else { self.login(extra)? };
        let (routes, connection) = (self.link.since(5, 8), Arc::clone(self.client.connection()));
        self.link.success(|map| {
            map.string("server", AGENT);
            map.string("connection_id", &connection);
            if patched {
                let out = map.entry("patch_bolt");
                put::list(out, 1);
                put::string(out, "utc");
            }
            let mut hints = SmallMap::new(map.entry("hints"));
            hints.bool("telemetry.enabled", false);
            if routes {
                // Any database can be asked for here: a client need not find out first which is
                // its own.
                hints.bool("ssr.enabled", true);
            }
        });
        self.link.dialect.utc |= patched;
        Ok(state)
    }

    /// Lets the client in, if there is a place; whoever cannot log in is not asked again.
    fn login(&mut self, token: &ValueMap) -> Result<State, Exit> {
        let credentials = extra::credentials(token).map_err(Exit::Protocol)?;
        let placed = self
            .admitted
            .log_in(|| self.client.login(&credentials).map(|()| self.client.standing()));
        if !placed.map_err(Exit::Protocol)? {
            self.shared.settings.metrics.connection_refused(Protocol::Bolt);
            let code = "Neo.TransientError.Request.NoThreadsAvailable";
            let message = "the server, or this user, has as many connections as it may have \
                           (bolt.connections, limits.user_share): try again";
            return Err(Exit::Protocol(Failure::new(code, message)));
        }
        let settings = &self.shared.settings;
        self.link.set_message_limit(Some(settings.message_bytes_max));
        self.link.set_wait_limit(WaitLimit::per_call(settings.idle_timeout));
        Ok(State::Ready)
    }

    fn authentication(&mut self) -> Result<State, Exit> {
        match self.link.next()? {
            Request::Logon(token) => {
                let state = self.login(&token)?;
                self.link.success(|_| {});
                Ok(state)
            }
            Request::Reset => {
                self.link.success(|_| {});
                Ok(State::Authentication)
            }
            Request::Unacceptable(failure) => Err(Exit::Protocol(failure)),
            other => Err(out_of_order(&other, "AUTHENTICATION")),
        }
    }

    fn ready(&mut self) -> Result<State, Exit> {
        if self.shared.is_stopping() {
            return Err(Exit::Closed);
        }
        heap::mark();
        match self.link.next()? {
            Request::Run(run) => self.statement(&run),
            Request::Begin(extra) => match extra::wanted(&extra, &self.filter) {
                Ok(wanted) => self.busy(&wanted, |this| transaction::run(this, &wanted)),
                Err(failure) => self.refuse(&failure),
            },
            Request::Route { context, bookmarks, extra } => {
                self.route(&context, &bookmarks, &extra)
            }
            Request::Logoff => {
                self.client.logout();
                let settings = &self.shared.settings;
                self.link.set_message_limit(None);
                self.link.set_wait_limit(WaitLimit::until(Instant::now() + settings.login_timeout));
                self.link.success(|_| {});
                Ok(State::Authentication)
            }
            Request::Telemetry | Request::Reset => {
                self.link.success(|_| {});
                Ok(State::Ready)
            }
            Request::Unacceptable(failure) => self.refuse(&failure),
            other => Err(out_of_order(&other, "READY")),
        }
    }

    fn failed(&mut self) -> Result<State, Exit> {
        match self.link.next()? {
            Request::Reset => {
                self.link.success(|_| {});
                Ok(State::Ready)
            }
            other @ Request::Hello(_) => Err(out_of_order(&other, "FAILED")),
            _ => {
                self.link.ignored();
                Ok(State::Failed)
            }
        }
    }

    pub(crate) fn refuse(&mut self, failure: &Failure) -> Result<State, Exit> {
        self.link.failure(failure);
        Ok(State::Failed)
    }

    /// Does something that can be given up from outside, and that a client must not make longer
    /// than it wanted it to be.
    fn busy(
        &mut self,
        wanted: &Wanted,
        work: impl FnOnce(&mut Self) -> Result<State, Exit>,
    ) -> Result<State, Exit> {
        let limit = self.shared.dbms.time_limit(wanted.options.timeout);
        let deadline = limit.and_then(|(time, _)| Instant::now().checked_add(time));
        let per_call = self.shared.settings.idle_timeout;
        let cancelled = Some(Arc::clone(&wanted.terminated));
        self.link.set_wait_limit(WaitLimit { deadline, per_call, cancelled });
        let wire = Arc::clone(&self.link.wire);
        wire.begin(&wanted.cancelled);
        let done = work(self);
        wire.end();
        let waited = matches!(done, Err(Exit::TimedOut | Exit::Unread));
        let ended = if waited { self.link.wait_ended() } else { None };
        self.link.set_wait_limit(WaitLimit::per_call(per_call));
        let failure = match ended {
            None => return done,
            Some(WaitEnd::Cancelled) => self.client.terminated(&wanted.options),
            Some(WaitEnd::TimedOut) => {
                let (_, whose) = limit.unwrap_or_default();
                let message = format!("the transaction took longer than it may{whose}: undone");
                Failure::new("Neo.ClientError.Transaction.TransactionTimedOut", message)
            }
        };
        match done {
            // It hears that when it asks for something next.
            Err(Exit::TimedOut) => match self.link.next()? {
                Request::Reset => {
                    self.link.success(|_| {});
                    Ok(State::Ready)
                }
                _ => self.refuse(&failure),
            },
            // As the answer to what it asked for, behind what of that was not sent yet.
            Err(Exit::Unread) => self.refuse(&failure),
            done => done,
        }
    }

    /// A statement that is a transaction of its own.
    fn statement(&mut self, run: &Run) -> Result<State, Exit> {
        let wanted = match extra::wanted(&run.extra, &self.filter) {
            Ok(wanted) => wanted,
            Err(failure) => return self.refuse(&failure),
        };
        self.busy(&wanted, |this| {
            let options = &wanted.options;
            let database = this.told_database(options.database.as_deref());
            let Self { link, client, .. } = this;
            let client = &*client;
            link.wire.set_running(true);
            let mut stream = Stream::new((link, client), &wanted.filter, None, database);
            let done = client.run(options, &run.text, &run.parameters, &mut stream);
            match stream.end(done)? {
                After::Next(_) => Ok(State::Ready),
                After::Failed => Ok(State::Failed),
                After::Reset => {
                    link.success(|_| {});
                    Ok(State::Ready)
                }
            }
        })
    }

    /// Where something runs, for clients that want to hear it before it does. If there is no such
    /// database, what runs says so.
    pub(crate) fn told_database(&self, name: Option<&str>) -> Option<Arc<str>> {
        if self.link.since(5, 8) { self.client.database_name(name).ok() } else { None }
    }

    /// Says which servers there are: this one for everything, or the nodes of the cluster.
    fn route(
        &mut self,
        context: &ValueMap,
        bookmarks: &Value,
        extra: &ValueMap,
    ) -> Result<State, Exit> {
        let asked = || {
            extra::texts("bookmarks", Some(bookmarks))?;
            let name = extra::text(extra, "db")?.filter(|name| !name.is_empty());
            let address = extra::text(context, "address")?;
            let found = self.client.database_name(name.as_deref())?;
            let asked = address.as_ref().or(self.reached_at.as_ref());
            let routes = self.shared.dbms.routes(&found, asked.map(String::as_str));
            // By the name that was asked for, if any: the Python driver looks the table up by it.
            Ok((name.unwrap_or_else(|| found.to_string()), routes.unwrap_or_default()))
        };
        let (database, routes) = match asked() {
            Ok(asked) => asked,
            Err(failure) => return self.refuse(&failure),
        };
        self.link.success(|map| {
            let mut table = SmallMap::new(map.entry("rt"));
            table.int("ttl", routes.seconds);
            table.string("db", &database);
            let servers = table.entry("servers");
            put::list(servers, routes.roles().count());
            for (role, who) in routes.roles() {
                let mut server = SmallMap::new(servers);
                let addresses = server.entry("addresses");
                put::list(addresses, who.len());
                who.iter().for_each(|address| put::string(addresses, address));
                server.string("role", role);
            }
        });
        Ok(State::Ready)
    }
}
