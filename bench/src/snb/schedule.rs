//! The mixed run's operations, and what each has to wait for.
//!
//! ```text
//!  updates, in order   u1 u2 ... u16      ... u19       ...
//!  reads between                  c11 s s s        c13 s s s s
//! ```
//!
//! As LDBC's driver does it: the stream of updates sets the pace, after every so many of them comes
//! a complex read of each kind, and after that a walk of short reads that goes on with a chance
//! that falls. All of it is fixed beforehand by the data and a seed, so that every database is
//! asked the same. Unlike there, short reads are about persons and messages chosen at random and
//! not about those of the complex read before, and nothing waits for the time at which it happened.

use std::collections::HashMap;

use telar_db::{Value, ValueMap};
use telar_generate::rng::Rng;

use super::archive::Archive;
use super::reads::{Expected, READS};
use super::update::{Update, UpdateKind, updates};

/// After how many updates complex reads 1 to 14 come: LDBC's frequencies for scale factor 1, the
/// smallest for which there are any.
const UPDATES_PER_READ: [usize; 14] = [26, 37, 69, 36, 57, 129, 87, 45, 157, 30, 16, 44, 19, 49];

/// By how many percent the chance of another short read falls with each walk.
const DISSIPATION: u64 = 20;

/// Short reads that look at a person, and those that look at a message.
const WALKS: [(&str, &[usize]); 2] = [("personId", &[1, 2, 3]), ("messageId", &[4, 5, 6, 7])];

/// A query to run.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its name: `complex-1`, `short-1`, `update-1`.
    pub query: &'static str,
    /// What it is given.
    pub parameters: ValueMap,
    /// How many of the operations before it have to be done before it begins.
    pub after: usize,
}

/// What an update makes or needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Thing {
    Person(i64),
    Forum(i64),
    Message(i64),
}

/// The names of the updates' queries.
pub(super) const UPDATES: [&str; 8] = [
    "update-1", "update-2", "update-3", "update-4", "update-5", "update-6", "update-7", "update-8",
];

/// The name of an update's query.
#[must_use]
pub fn name(kind: UpdateKind) -> &'static str {
    UPDATES[kind as usize - 1]
}

/// The name of the short read of this number.
fn short(number: usize) -> &'static str {
    READS[13 + number].0
}

/// Persons, forums and messages that an update names; the first, if it makes something, is that.
fn things(update: &Update) -> Vec<Thing> {
    let made = match update.kind {
        UpdateKind::Person => "personId",
        UpdateKind::Forum => "forumId",
        UpdateKind::Post => "postId",
        UpdateKind::Comment => "commentId",
        _ => "",
    };
    let thing = |(name, value): (&std::sync::Arc<str>, &Value)| match (&**name, value) {
        // A comment replies to a post or to a comment; the other one is -1.
        (_, Value::Int(-1)) => None,
        (
            "personId" | "person1Id" | "person2Id" | "authorPersonId" | "moderatorPersonId",
            Value::Int(id),
        ) => Some((&**name != made, Thing::Person(*id))),
        ("forumId", Value::Int(id)) => Some((&**name != made, Thing::Forum(*id))),
        ("postId" | "commentId" | "replyToPostId" | "replyToCommentId", Value::Int(id)) => {
            Some((&**name != made, Thing::Message(*id)))
        }
        _ => None,
    };
    let mut things: Vec<_> = update.parameters.iter().filter_map(thing).collect();
    things.sort_by_key(|(needed, _)| *needed);
    things.into_iter().map(|(_, thing)| thing).collect()
}

/// The ids in the first column of a file.
fn ids(archive: &Archive, path: &str) -> Result<Vec<i64>, String> {
    let lines = archive.text(path)?.lines().skip(1);
    let id = |line: &str| line.split('|').next()?.parse().ok();
    lines.map(|line| id(line).ok_or_else(|| format!("{path}: no id in {line}"))).collect()
}

/// At most `most` operations.
///
/// # Errors
/// A file that is missing or not understood.
pub fn operations(
    archive: &Archive,
    expected: &Expected,
    most: usize,
    seed: u64,
) -> Result<Vec<Operation>, String> {
    let persons = ids(archive, "dynamic/person_0_0.csv")?;
    let mut messages = ids(archive, "dynamic/post_0_0.csv")?;
    messages.extend(ids(archive, "dynamic/comment_0_0.csv")?);
    let mut sets = Vec::new();
    for (name, _) in &READS[..14] {
        sets.push(expected.parameters(name)?);
    }
    let (mut rng, mut operations) = (Rng::new(seed), Vec::new());
    // Where each thing is made.
    let mut made: HashMap<Thing, usize> = HashMap::new();
    for (number, update) in (1..).zip(updates(archive)?) {
        let things = things(&update);
        let after = things.iter().filter_map(|thing| made.get(thing)).max();
        let after = after.map_or(0, |at| at + 1);
        if let (true, Some(thing)) = (makes(update.kind), things.first()) {
            made.insert(*thing, operations.len());
        }
        let (query, parameters) = (name(update.kind), update.parameters);
        operations.push(Operation { query, parameters, after });
        for (read, every) in UPDATES_PER_READ.iter().enumerate() {
            if number % every == 0 && !sets[read].is_empty() {
                let parameters = sets[read][number / every % sets[read].len()].clone();
                operations.push(Operation { query: READS[read].0, parameters, after: 0 });
                walk(&mut rng, &persons, &messages, &mut operations);
            }
        }
        if operations.len() >= most {
            operations.truncate(most);
            break;
        }
    }
    Ok(operations)
}

fn makes(kind: UpdateKind) -> bool {
    use UpdateKind::{Comment, Forum, Person, Post};
    matches!(kind, Person | Forum | Post | Comment)
}

/// Short reads, of a person and of a message in turns.
fn walk(rng: &mut Rng, persons: &[i64], messages: &[i64], operations: &mut Vec<Operation>) {
    let mut chance = 100;
    for (parameter, reads) in WALKS.iter().cycle() {
        if !rng.percent(chance) {
            break;
        }
        chance = chance.saturating_sub(DISSIPATION);
        let from = if *parameter == "personId" { persons } else { messages };
        let Some(id) = from.get(rng.index(from.len().max(1))) else { continue };
        for read in *reads {
            let parameters = ValueMap::from([((*parameter).into(), Value::Int(*id))]);
            operations.push(Operation { query: short(*read), parameters, after: 0 });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(kind: UpdateKind, entries: &[(&str, i64)]) -> Update {
        let parameters = entries.iter().map(|(k, v)| ((*k).into(), Value::Int(*v))).collect();
        Update { time: 0, kind, parameters }
    }

    #[test]
    fn what_an_update_makes_comes_before_what_it_needs() {
        let entries = [
            ("authorPersonId", 3),
            ("commentId", 7),
            ("replyToCommentId", -1),
            ("replyToPostId", 5),
            ("countryId", 1),
        ];
        let found = things(&update(UpdateKind::Comment, &entries));
        assert_eq!(found, [Thing::Message(7), Thing::Person(3), Thing::Message(5)]);
        let found = things(&update(UpdateKind::PostLike, &[("personId", 1), ("postId", 2)]));
        assert_eq!(found, [Thing::Person(1), Thing::Message(2)]);
    }

    #[test]
    fn names_are_those_of_the_reads_and_updates() {
        assert_eq!((short(1), short(7)), ("short-1", "short-7"));
        assert_eq!(name(UpdateKind::Friendship), "update-8");
        assert_eq!(UPDATES_PER_READ.len(), READS.iter().filter(|r| r.0 < "d").count());
    }

    #[test]
    fn walks_end() {
        let mut operations = Vec::new();
        let mut rng = Rng::new(1);
        for _ in 0..100 {
            walk(&mut rng, &[1], &[2, 3], &mut operations);
        }
        // 1 + 0.8 + 0.8 * 0.6 + ... walks of three or four reads each.
        assert!((700..1200).contains(&operations.len()), "{}", operations.len());
    }
}
