//! Sessions: the version of a client, its requests, and its running calls.
//!
//! ```text
//!  receive ─► Step::Done      answered at once: handshake, lists, faults
//!         └─► Step::Run ───► Pending::run on any thread: tools, resources, batches
//!                                 ▲
//!  notifications/cancelled ───────┘ ends it, and it has no answer
//! ```

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use serde_json::{Map, Value as Json, json};

use super::catalogue::{self, INSTRUCTIONS, SCHEMA};
use super::graph::{Flag, Graph};
use super::modern;
use super::rpc::{self, Id, Message, RpcError, code};
use super::tools::{Context, Tool, schema_of};
use super::{Settings, rpc::notification};

/// Versions of the protocol that begin with a handshake, the newest first.
pub(crate) const HANDSHAKES: [&str; 4] = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
/// The only version that has batches.
const BATCHES: &str = "2025-03-26";
/// Messages of one batch.
const BATCH_MAX: usize = 100;
/// Interval of progress notifications.
const PROGRESS: Duration = Duration::from_secs(1);

/// The server: what calls may do, and how many of them run. The graph comes with each call.
#[derive(Debug)]
pub struct Server {
    settings: Settings,
    running: AtomicUsize,
}

/// Receiver of messages that a call sends before its answer.
pub(crate) type Notify<'n> = dyn Fn(Json) + Send + Sync + 'n;

/// Outcome of a message.
pub(crate) enum Step {
    /// The answer, if the message wants one.
    Done(Option<Json>),
    /// A request to run.
    Run(Pending),
}

/// A client.
#[derive(Debug)]
pub(crate) struct Session {
    server: Arc<Server>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    version: Option<&'static str>,
    /// Calls that run, by what ends them.
    calls: HashMap<Id, Flag>,
}

/// Requests that are to be run.
pub(crate) struct Pending {
    session: Arc<Session>,
    parts: Vec<Part>,
    is_batch: bool,
}

enum Part {
    /// An answer that is there already.
    Answer(Json),
    Call(Call),
}

/// A request that runs.
struct Call {
    session: Arc<Session>,
    id: Id,
    method: String,
    params: Map<String, Json>,
    flag: Flag,
    /// The request is of the version without sessions.
    is_modern: bool,
}

/// Features of the server.
pub(crate) fn capabilities() -> Json {
    json!({ "tools": {}, "resources": {}, "prompts": {} })
}

/// Name and version of the server.
pub(crate) fn server_info() -> Json {
    json!({ "name": "telar", "title": "Telar", "version": env!("CARGO_PKG_VERSION") })
}

impl Server {
    /// A server with these limits and rights.
    #[must_use]
    pub fn new(settings: Settings) -> Arc<Self> {
        Arc::new(Self { settings, running: AtomicUsize::new(0) })
    }

    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }
}

impl Session {
    pub(crate) fn new(server: &Arc<Server>) -> Arc<Self> {
        Arc::new(Self { server: Arc::clone(server), state: Mutex::default() })
    }

    /// Ends everything that runs.
    pub(crate) fn cancel_all(&self) {
        for flag in self.state.lock().calls.values() {
            // ORDERING: relaxed, as nothing else is read because of the flag.
            flag.store(true, Ordering::Relaxed);
        }
    }

    /// True while calls of it run.
    pub(crate) fn is_busy(&self) -> bool {
        !self.state.lock().calls.is_empty()
    }

    /// True once the handshake was made.
    pub(crate) fn is_begun(&self) -> bool {
        self.state.lock().version.is_some()
    }

    /// Takes a message, or a batch of them.
    pub(crate) fn receive(self: &Arc<Self>, json: Json) -> Step {
        let Json::Array(all) = json else {
            return match self.part(json, false) {
                None => Step::Done(None),
                Some(Part::Answer(answer)) => Step::Done(Some(answer)),
                Some(part) => Step::Run(self.pending(vec![part], false)),
            };
        };
        let version = self.state.lock().version;
        let refuse =
            |message: &str| Step::Done(Some(rpc::error(None, &RpcError::request(message))));
        if version != Some(BATCHES) {
            return refuse("batches are not part of this version of the protocol");
        }
        if all.is_empty() || all.len() > BATCH_MAX {
            return refuse(&format!("a batch has 1 to {BATCH_MAX} messages"));
        }
        let parts: Vec<Part> = all.into_iter().filter_map(|json| self.part(json, true)).collect();
        match parts.is_empty() {
            true => Step::Done(None),
            false => Step::Run(self.pending(parts, true)),
        }
    }

    fn pending(self: &Arc<Self>, parts: Vec<Part>, is_batch: bool) -> Pending {
        Pending { session: Arc::clone(self), parts, is_batch }
    }

    /// Work for one message; none for a notification.
    fn part(self: &Arc<Self>, json: Json, in_batch: bool) -> Option<Part> {
        let (id, method, params) = match Message::read(json) {
            Err(answer) => return Some(Part::Answer(answer)),
            Ok(Message::Response) => return None,
            Ok(Message::Notification { method, params }) => {
                self.notified(&method, &params);
                return None;
            }
            Ok(Message::Request { id, method, params }) => (id, method, params),
        };
        let is_modern = method != "initialize" && modern::is_meant(&params);
        let checked = if is_modern { self.check_modern(&params) } else { Ok(()) };
        if let Err(error) = checked {
            return Some(Part::Answer(rpc::error(Some(&id), &error)));
        }
        let answered = match &*method {
            "server/discover" if is_modern => Ok(modern::discover()),
            "tools/call" | "resources/read" if is_modern => {
                return Some(self.call(id, method, params, is_modern));
            }
            _ if is_modern => self.listed(&method, &params),
            "initialize" if in_batch => Err(RpcError::request("initialize stands alone")),
            "initialize" => self.initialize(&params),
            "ping" => Ok(json!({})),
            _ if !self.is_begun() => Err(RpcError::request("initialize comes first")),
            "tools/call" | "resources/read" => {
                return Some(self.call(id, method, params, is_modern));
            }
            _ => self.listed(&method, &params),
        };
        Some(Part::Answer(match answered {
            Ok(mut result) => {
                if is_modern {
                    modern::stamp(&method, &mut result);
                }
                rpc::result(&id, &result)
            }
            Err(error) => rpc::error(Some(&id), &error),
        }))
    }

    /// Checks a request of the version without sessions.
    fn check_modern(&self, params: &Map<String, Json>) -> Result<(), RpcError> {
        if self.is_begun() {
            return Err(RpcError::request("the handshake of this session said another version"));
        }
        modern::check(params)
    }

    fn notified(&self, method: &str, params: &Map<String, Json>) {
        if method != "notifications/cancelled" {
            return;
        }
        let id = params.get("requestId").and_then(Id::read);
        if let Some(flag) = id.and_then(|id| self.state.lock().calls.get(&id).cloned()) {
            // ORDERING: relaxed, as above.
            flag.store(true, Ordering::Relaxed);
        }
    }

    fn initialize(&self, params: &Map<String, Json>) -> Result<Json, RpcError> {
        let wanted = params.get("protocolVersion").and_then(Json::as_str);
        let wanted =
            wanted.ok_or_else(|| RpcError::parameters("protocolVersion: expected a string"))?;
        let mut state = self.state.lock();
        if state.version.is_some() {
            return Err(RpcError::request("the session is initialized already"));
        }
        let version = HANDSHAKES.into_iter().find(|version| *version == wanted);
        let version = version.unwrap_or(HANDSHAKES[0]);
        state.version = Some(version);
        Ok(json!({
            "protocolVersion": version,
            "capabilities": capabilities(),
            "serverInfo": server_info(),
            "instructions": INSTRUCTIONS,
        }))
    }

    /// Answers to requests that run nothing.
    fn listed(&self, method: &str, params: &Map<String, Json>) -> Result<Json, RpcError> {
        let settings = &self.server.settings;
        match method {
            "tools/list" => {
                let all: Vec<Json> = Tool::all(settings).map(|tool| tool.json(settings)).collect();
                catalogue::page("tools", &all, params)
            }
            "resources/list" => catalogue::page("resources", &catalogue::resources(), params),
            "resources/templates/list" => catalogue::page("resourceTemplates", &[], params),
            "prompts/list" => catalogue::page("prompts", &catalogue::prompts(), params),
            "prompts/get" => catalogue::prompt(params),
            _ => {
                let message = format!("there is no method '{method}'");
                Err(RpcError::new(code::METHOD_NOT_FOUND, message))
            }
        }
    }

    /// Notes a call, so that it can be ended before it runs.
    fn call(
        self: &Arc<Self>,
        id: Id,
        method: String,
        params: Map<String, Json>,
        is_modern: bool,
    ) -> Part {
        let refuse = |error: RpcError| Part::Answer(rpc::error(Some(&id), &error));
        let (running, most) = (&self.server.running, self.server.settings.calls_max);
        // ORDERING: relaxed, as nothing else is read because of the count.
        if running.fetch_add(1, Ordering::Relaxed) >= most {
            running.fetch_sub(1, Ordering::Relaxed);
            let message = format!("{most} calls run at once: try again");
            return refuse(RpcError::new(code::BUSY, message));
        }
        let flag = Flag::default();
        let mut state = self.state.lock();
        if state.calls.contains_key(&id) {
            running.fetch_sub(1, Ordering::Relaxed);
            return refuse(RpcError::request("a request with this id runs"));
        }
        state.calls.insert(id.clone(), Arc::clone(&flag));
        drop(state);
        Part::Call(Call { session: Arc::clone(self), id, method, params, flag, is_modern })
    }
}

impl Pending {
    /// True if a part of it wants to hear of its progress.
    pub(crate) fn wants_progress(&self) -> bool {
        let wants = |part: &Part| matches!(part, Part::Call(call) if call.token().is_some());
        self.parts.iter().any(wants)
    }

    /// Runs it on a graph. The answer is none if it was cancelled.
    pub(crate) fn run(self, graph: &Graph, notify: &Notify<'_>) -> Option<Json> {
        let Self { session: _session, parts, is_batch } = self;
        let answer = |part| match part {
            Part::Answer(answer) => Some(answer),
            Part::Call(call) => call.run(graph, notify),
        };
        let mut answers: Vec<Json> = parts.into_iter().filter_map(answer).collect();
        match is_batch {
            false => answers.pop(),
            true => (!answers.is_empty()).then(|| answers.into()),
        }
    }
}

impl Call {
    /// Token of the progress notifications of this call.
    fn token(&self) -> Option<Json> {
        self.params.get("_meta")?.get("progressToken").cloned()
    }

    fn run(mut self, graph: &Graph, notify: &Notify<'_>) -> Option<Json> {
        let token = self.token();
        let params = std::mem::take(&mut self.params);
        let work = || catch_unwind(AssertUnwindSafe(|| self.answer(graph, params)));
        let done = match token {
            None => work(),
            Some(token) => self.with_progress(&token, notify, work),
        };
        let broken = |_| Err(RpcError::new(code::INTERNAL, "the call broke off: see the log"));
        let done = done.unwrap_or_else(broken);
        // ORDERING: relaxed, as above.
        if self.flag.load(Ordering::Relaxed) {
            return None;
        }
        Some(match done {
            Ok(mut result) => {
                if self.is_modern {
                    modern::stamp(&self.method, &mut result);
                }
                rpc::result(&self.id, &result)
            }
            Err(error) => rpc::error(Some(&self.id), &error),
        })
    }

    /// Does something, and tells every second that it still runs.
    fn with_progress<T>(&self, token: &Json, notify: &Notify<'_>, work: impl FnOnce() -> T) -> T {
        let most = self.session.server.settings.timeout.as_secs_f64();
        thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            scope.spawn(move || {
                let began = Instant::now();
                while is_done.recv_timeout(PROGRESS) == Err(RecvTimeoutError::Timeout) {
                    let progress = json!({
                        "progressToken": token,
                        "progress": began.elapsed().as_secs_f64(),
                        "total": most,
                        "message": "seconds of the time that a call may take",
                    });
                    notify(notification("notifications/progress", &progress));
                }
            });
            let result = work();
            drop(done);
            result
        })
    }

    fn answer(&self, graph: &Graph, mut params: Map<String, Json>) -> Result<Json, RpcError> {
        let settings = &self.session.server.settings;
        let context = Context { graph, settings, flag: &self.flag };
        if self.method == "resources/read" {
            let missing = match self.is_modern {
                true => code::INVALID_PARAMS,
                false => code::RESOURCE_NOT_FOUND,
            };
            return read_resource(&context, &params, missing);
        }
        let Some(Json::String(name)) = params.remove("name") else {
            return Err(RpcError::parameters("name: expected a string"));
        };
        let arguments = match params.remove("arguments") {
            None | Some(Json::Null) => Map::new(),
            Some(Json::Object(arguments)) => arguments,
            Some(_) => return Err(RpcError::parameters("arguments: expected an object")),
        };
        let tool = Tool::find(settings, &name);
        let unknown = || RpcError::parameters(format!("there is no tool '{name}'"));
        Ok(tool.ok_or_else(unknown)?.call(&context, arguments))
    }
}

impl Drop for Call {
    fn drop(&mut self) {
        self.session.state.lock().calls.remove(&self.id);
        // ORDERING: relaxed, as above.
        self.session.server.running.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Reads a resource; `missing` is the code of the error if there is no such.
fn read_resource(
    context: &Context<'_>,
    params: &Map<String, Json>,
    missing: i64,
) -> Result<Json, RpcError> {
    let uri = params.get("uri").and_then(Json::as_str);
    let uri = uri.ok_or_else(|| RpcError::parameters("uri: expected a string"))?;
    if uri != SCHEMA {
        let mut error = RpcError::new(missing, "there is no such resource");
        error.data = Some(json!({ "uri": uri }));
        return Err(error);
    }
    let schema = schema_of(context);
    let schema = schema.map_err(|failure| RpcError::new(code::INTERNAL, failure.to_string()))?;
    let text = schema.to_string();
    Ok(json!({ "contents": [{ "uri": uri, "mimeType": "application/json", "text": text }] }))
}
