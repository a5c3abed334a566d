//! `changes`: the change stream, commit by commit.

use serde_json::{Value as Json, json};
use telar_db::ValueMap;

use super::super::gather::{Cut, Room};
use super::{Arguments, Context, Failure, Tool, parts, set};

/// Changes of one commit that are shown, unless it is said.
const CHANGES: usize = 100;
/// Most of them: longer lists are cut.
const CHANGES_MAX: usize = 200;

const TEXT: &str = "CALL telar.changes($after, $commits) YIELD commit, time, changes \
                    RETURN commit, toString(time), size(changes), changes[0..$most]";

pub(super) const TOOL: Tool = Tool {
    name: "changes",
    title: "Changes since a cursor",
    description: "Every commit after a cursor, in order: nodes and relationships made and deleted, \
        labels and properties set, names and indexes made. Without 'after' it returns no changes \
        and the cursor of now: keep it, and ask with it later for what is new. 'more' says whether \
        to ask again at once. How far back it reaches is a setting of the database.",
    arguments: |settings| {
        let arguments = json!({
            "after": {
                "type": "integer",
                "minimum": 0,
                "description": "The cursor of an earlier answer, or a commit; 0: from the beginning",
            },
            "commits": {
                "type": "integer",
                "minimum": 1,
                "maximum": settings.rows_max,
                "description": "Commits at most",
            },
            "changes_per_commit": {
                "type": "integer",
                "minimum": 1,
                "maximum": CHANGES_MAX,
                "default": CHANGES,
                "description": "Changes of one commit at most; 'total' counts all of them",
            },
        });
        (arguments, &[])
    },
    output: || {
        json!({
            "type": "object",
            "properties": {
                "commits": { "type": "array", "items": {
                    "type": "object",
                    "properties": {
                        "commit": { "type": "integer" },
                        "time": { "type": ["string", "null"] },
                        "total": { "type": "integer" },
                        "changes": { "type": "array", "items": { "type": "object" } },
                    },
                    "required": ["commit", "total", "changes"],
                } },
                "cursor": { "type": "integer", "description": "'after' of the next call" },
                "more": { "type": "boolean" },
                "truncated": parts::truncated(),
            },
            "required": ["commits", "cursor", "more"],
        })
    },
    writes: false,
    run,
};

fn run(context: &Context<'_>, mut arguments: Arguments) -> Result<Json, Failure> {
    let after = arguments.cursor("after")?;
    let rows_max = context.settings.rows_max;
    let commits = arguments.count("commits", rows_max, (1, rows_max))?;
    let most = arguments.count("changes_per_commit", CHANGES, (1, CHANGES_MAX))?;
    arguments.end()?;
    let mut reading = context.read(None)?;
    let Some(after) = after else {
        reading.run("RETURN 1", &ValueMap::new(), context.room())?;
        let now = reading.finish().ok_or_else(|| Failure::new("the newest commit is not known"))?;
        return Ok(json!({ "commits": [], "cursor": now, "more": false }));
    };
    let mut most = most;
    loop {
        let parameters = [("after", after), ("commits", commits as i64), ("most", most as i64)];
        let parameters = parameters.map(|(name, value)| (name.into(), value.into()));
        // The procedure counts commits itself.
        let room = Room { rows: commits, bytes: context.settings.chars_max };
        let found = reading.run(TEXT, &ValueMap::from_iter(parameters), room)?.rows;
        if found.rows.is_empty() && found.cut == Some(Cut::Bytes) && most > 1 {
            // One commit alone is too large: less of it.
            most = most.div_ceil(4);
            continue;
        }
        if found.rows.is_empty() && found.cut.is_some() {
            return Err(Failure::new(format!(
                "a change after commit {after} is larger than an answer may be (mcp.answer_bytes; \
                 of telar mcp, --max-chars)"
            )));
        }
        let entry = |row: &Vec<Json>| json!({ "commit": row[0], "time": row[1], "total": row[2], "changes": row[3] });
        let cursor = found.rows.last().map_or(after.into(), |row| row[0].clone());
        let more = found.cut.is_some() || found.rows.len() == commits;
        let is_short = |row: &Vec<Json>| {
            row[2].as_u64() > row[3].as_array().map(|changes| changes.len() as u64)
        };
        let short = found.rows.iter().any(is_short);
        let commits: Vec<Json> = found.rows.iter().map(entry).collect();
        let mut answer = json!({ "commits": commits, "cursor": cursor, "more": more });
        let remark = format!("of each commit the first {most} changes are here");
        set(&mut answer, "truncated", short.then_some(remark));
        return Ok(answer);
    }
}
