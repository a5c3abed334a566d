//! The update streams: what happened in the network after it was dumped.
//!
//! ```text
//! time | time of what it depends on | kind 1 .. 8 | parameters by position
//! ```
//!
//! Lists are separated by `;`, pairs in them by `,`.

use telar_db::{Value, ValueMap};

use super::archive::Archive;

/// What an update adds; the number of its query.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names say what is added")]
pub enum UpdateKind {
    Person = 1,
    PostLike = 2,
    CommentLike = 3,
    Forum = 4,
    Membership = 5,
    Post = 6,
    Comment = 7,
    Friendship = 8,
}

/// One update.
#[derive(Debug, Clone, PartialEq)]
pub struct Update {
    /// Milliseconds since 1970.
    pub time: i64,
    /// Which query it is.
    pub kind: UpdateKind,
    /// What the query is given.
    pub parameters: ValueMap,
}

/// How a field is read.
#[derive(Debug, Clone, Copy)]
enum Field {
    Int,
    Text,
    Ints,
    Texts,
    Pairs,
}

use Field::{Int, Ints, Pairs, Text, Texts};

/// Names and types of the parameters of each kind, in order.
const FIELDS: [(UpdateKind, &[(&str, Field)]); 8] = [
    (
        UpdateKind::Person,
        &[
            ("personId", Int),
            ("personFirstName", Text),
            ("personLastName", Text),
            ("gender", Text),
            ("birthday", Int),
            ("creationDate", Int),
            ("locationIP", Text),
            ("browserUsed", Text),
            ("cityId", Int),
            ("languages", Texts),
            ("emails", Texts),
            ("tagIds", Ints),
            ("studyAt", Pairs),
            ("workAt", Pairs),
        ],
    ),
    (UpdateKind::PostLike, &[("personId", Int), ("postId", Int), ("creationDate", Int)]),
    (UpdateKind::CommentLike, &[("personId", Int), ("commentId", Int), ("creationDate", Int)]),
    (
        UpdateKind::Forum,
        &[
            ("forumId", Int),
            ("forumTitle", Text),
            ("creationDate", Int),
            ("moderatorPersonId", Int),
            ("tagIds", Ints),
        ],
    ),
    (UpdateKind::Membership, &[("forumId", Int), ("personId", Int), ("joinDate", Int)]),
    (
        UpdateKind::Post,
        &[
            ("postId", Int),
            ("imageFile", Text),
            ("creationDate", Int),
            ("locationIP", Text),
            ("browserUsed", Text),
            ("language", Text),
            ("content", Text),
            ("length", Int),
            ("authorPersonId", Int),
            ("forumId", Int),
            ("countryId", Int),
            ("tagIds", Ints),
        ],
    ),
    (
        UpdateKind::Comment,
        &[
            ("commentId", Int),
            ("creationDate", Int),
            ("locationIP", Text),
            ("browserUsed", Text),
            ("content", Text),
            ("length", Int),
            ("authorPersonId", Int),
            ("countryId", Int),
            ("replyToPostId", Int),
            ("replyToCommentId", Int),
            ("tagIds", Ints),
        ],
    ),
    (UpdateKind::Friendship, &[("person1Id", Int), ("person2Id", Int), ("creationDate", Int)]),
];

/// Every update of the archive, in the order in which they happened.
///
/// # Errors
/// The line that is not understood.
pub fn updates(archive: &Archive) -> Result<Vec<Update>, String> {
    let mut updates = Vec::new();
    // Persons first: at one time a person comes before what the person does.
    for stream in ["person", "forum"] {
        let path = format!("update_streams/updateStream_0_0_{stream}.csv");
        for (number, line) in (1..).zip(archive.text(&path)?.lines()) {
            let update = parse(line).map_err(|problem| format!("{path}:{number}: {problem}"))?;
            updates.push(update);
        }
    }
    updates.sort_by_key(|update| update.time);
    Ok(updates)
}

fn parse(line: &str) -> Result<Update, String> {
    let mut fields = line.split('|');
    let [Some(time), Some(_), Some(kind)] = std::array::from_fn(|_| fields.next()) else {
        return Err("fewer than three fields".to_owned());
    };
    let number: usize = kind.parse().map_err(|_| format!("unknown kind of update: {kind}"))?;
    let known = number.checked_sub(1).and_then(|place| FIELDS.get(place));
    let (kind, names) = known.ok_or_else(|| format!("unknown kind of update: {kind}"))?;
    let fields: Vec<&str> = fields.collect();
    if fields.len() != names.len() {
        return Err(format!("{} parameters instead of {}", fields.len(), names.len()));
    }
    let mut parameters = ValueMap::new();
    for ((name, field), text) in names.iter().zip(fields) {
        let value = field.value(text).map_err(|problem| format!("{name}: {problem}"))?;
        parameters.insert((*name).into(), value);
    }
    Ok(Update { time: int(time)?, kind: *kind, parameters })
}

fn int(text: &str) -> Result<i64, String> {
    text.parse().map_err(|_| format!("not a number: {text}"))
}

impl Field {
    fn value(self, text: &str) -> Result<Value, String> {
        let list = |separator, element: &dyn Fn(&str) -> Result<Value, String>| {
            let parts = text.split(separator).filter(|part: &&str| !part.is_empty());
            parts.map(element).collect::<Result<_, _>>().map(Value::List)
        };
        let number = |text: &str| int(text).map(Value::Int);
        match self {
            Int => number(text),
            // As it is: a text that looks like a time is still a text.
            Text => Ok(Value::from(text)),
            Ints => list(';', &number),
            Texts => list(';', &|text| Ok(Value::from(text))),
            Pairs => list(';', &|pair| match pair.split_once(',') {
                Some((a, b)) => Ok(Value::list([number(a)?, number(b)?])),
                None => Err(format!("not a pair: {pair}")),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_have_the_types_that_the_queries_want() {
        let text = "5|0|1|7|Ada|L|f|1|5|::1|B|3|ja;en|a@x;b@y|6;564|47,2003|67,2005;68,2004";
        let update = parse(text).unwrap();
        assert_eq!((update.time, update.kind), (5, UpdateKind::Person));
        assert_eq!(update.parameters["personId"], Value::Int(7));
        assert_eq!(update.parameters["languages"], Value::list(["ja", "en"]));
        assert_eq!(update.parameters["tagIds"], Value::list([6, 564]));
        let pair = |a: i64, b: i64| Value::list([a, b]);
        assert_eq!(update.parameters["workAt"], Value::list([pair(67, 2005), pair(68, 2004)]));
        let empty = parse("5|0|4|1|t|2|3|").unwrap();
        assert_eq!(empty.parameters["tagIds"], Value::List([].into()));
    }

    #[test]
    fn lines_that_are_no_update_are_refused() {
        for line in ["", "1|2", "1|2|9|3", "1|2|0|3", "1|2|8|3|4", "1|2|8|3|4|x", "x|2|8|3|4|5"] {
            assert!(parse(line).is_err(), "{line}");
        }
    }
}
