//! Resources and prompts, and pages of lists.

use serde_json::{Map, Value as Json, json};

use super::rpc::RpcError;

/// The resource that is the schema of the graph.
pub(crate) const SCHEMA: &str = "telar://schema";
/// Entries of one page.
const PAGE: usize = 50;

/// Instructions that a client may pass on to its model.
pub(crate) const INSTRUCTIONS: &str = "\
A property graph, queried in openCypher. Call 'schema' first: it lists labels, relationship types, \
properties and indexes. 'search' finds nodes by words, by an embedding or by both; 'neighbourhood' \
shows what is around a node; 'read_query' answers everything else. Every answer has 'at', the \
commit that was read: given as the argument 'at' of a later call, it reads that state again, also \
after changes. 'changes' lists what was committed since a cursor. Where an answer was cut, \
'truncated' says how to get the rest. An error of a query names line and column: correct the query \
and call again.";

/// One page of a list.
///
/// # Errors
/// If the cursor is not of this list.
pub(crate) fn page(name: &str, all: &[Json], params: &Map<String, Json>) -> Result<Json, RpcError> {
    let from = match params.get("cursor") {
        None | Some(Json::Null) => 0,
        Some(cursor) => {
            let from = cursor.as_str().and_then(|cursor| cursor.parse::<usize>().ok());
            let from = from.filter(|from| (1..all.len()).contains(from));
            from.ok_or_else(|| RpcError::parameters(format!("{cursor} is no cursor of this list")))?
        }
    };
    let to = all.len().min(from + PAGE);
    let mut page = json!({ name: all[from..to] });
    if to < all.len() {
        page["nextCursor"] = to.to_string().into();
    }
    Ok(page)
}

/// All resources.
pub(crate) fn resources() -> [Json; 1] {
    [json!({
        "uri": SCHEMA,
        "name": "schema",
        "title": "Schema of the graph",
        "description": "Labels, relationship types, properties, patterns, indexes and constraints",
        "mimeType": "application/json",
    })]
}

/// All prompts.
pub(crate) fn prompts() -> [Json; 1] {
    [json!({
        "name": "ask_graph",
        "title": "Ask the graph",
        "description": "Answer a question from the graph, with the nodes that show it",
        "arguments": [{
            "name": "question",
            "description": "What is to be answered",
            "required": true,
        }],
    })]
}

/// A prompt with its arguments.
///
/// # Errors
/// If there is no such prompt, or an argument is missing.
pub(crate) fn prompt(params: &Map<String, Json>) -> Result<Json, RpcError> {
    match params.get("name").and_then(Json::as_str) {
        Some("ask_graph") => {}
        Some(name) => return Err(RpcError::parameters(format!("there is no prompt '{name}'"))),
        None => return Err(RpcError::parameters("name: expected a string")),
    }
    let question = params.get("arguments").and_then(|given| given.get("question"));
    let Some(question) = question.and_then(Json::as_str) else {
        return Err(RpcError::parameters("arguments.question: expected a string"));
    };
    let text = format!(
        "Answer this question from the graph: {question}\n\nCall 'schema', unless you know it. Find \
         where to begin with 'search', if there are full-text or vector indexes, and look around \
         with 'neighbourhood'; count, filter and aggregate with 'read_query'. Say which nodes and \
         relationships the answer rests on, and say so if the graph does not have it."
    );
    Ok(json!({
        "description": "Answer a question from the graph",
        "messages": [{ "role": "user", "content": { "type": "text", "text": text } }],
    }))
}

#[test]
fn pages_go_on_where_the_one_before_ended() {
    let all: Vec<Json> = (0..120).map(Json::from).collect();
    let (mut params, mut seen) = (Map::new(), Vec::new());
    loop {
        let page = page("n", &all, &params).unwrap();
        seen.extend(page["n"].as_array().unwrap().clone());
        let Some(next) = page.get("nextCursor") else { break };
        params.insert("cursor".into(), next.clone());
    }
    assert_eq!(seen, all);
    for wrong in [json!("x"), json!("120"), json!(50), json!("-1")] {
        let params = Map::from_iter([("cursor".to_owned(), wrong)]);
        assert_eq!(page("n", &all, &params).unwrap_err().code, -32602);
    }
}
