//! The reads against a subject that knows the answers, and updates against the counts that Neo4j
//! had after them.

use std::collections::{BTreeSet, VecDeque};

use super::*;
use crate::tck::step::Procedure;
use crate::tck::subject::{Failure, GraphState, Rows, Subject};
use crate::tck::value::{Entries, Node, Relationship, TckValue};

/// Gives prepared answers, in order, and says that the graph is as after the updates.
#[derive(Clone, Default)]
struct Prepared {
    answers: VecDeque<Rows>,
    state: GraphState,
}

impl Prepared {
    fn new(answers: VecDeque<Rows>) -> Self {
        Self { answers, ..Self::default() }
    }
}

impl Subject for Prepared {
    fn run(&mut self, _: &str, _: &Entries) -> Result<Rows, Failure> {
        Ok(self.answers.pop_front().expect("one answer per query"))
    }

    fn state(&mut self) -> Result<GraphState, String> {
        Ok(self.state.clone())
    }

    fn register(&mut self, _: &Procedure) -> Result<(), String> {
        Ok(())
    }
}

fn tiny() -> Option<(Archive, Queries)> {
    let (Some(archive), Some(queries)) =
        (crate::shared("data/snb/tiny.tar.zst"), crate::shared("data/snb/queries"))
    else {
        println!("skipped: the shared folder has no SNB data");
        return None;
    };
    Some((Archive::read(&archive).unwrap(), Queries::read(&queries).unwrap()))
}

fn right_answers(expected: &Expected) -> VecDeque<Rows> {
    let places = READS.iter().flat_map(|(name, _)| (0..5).map(move |place| (*name, place)));
    places.map(|(name, place)| answer::rows(expected.answer(name, place))).collect()
}

#[test]
fn right_answers_pass_and_each_wrong_one_is_noticed() {
    let Some((archive, queries)) = tiny() else { return };
    for file in ["expected-neo4j-5.26.30.json", "expected-neo4j-5.26.30-after-updates.json"] {
        let expected = Expected::read(&archive, file).unwrap();
        let right = right_answers(&expected);
        assert_eq!(check_reads(&queries, &expected, &mut Prepared::new(right.clone())), Ok(105));
        for place in 0..right.len() {
            let mut wrong = right.clone();
            let rows = &mut wrong[place].rows;
            match rows.last_mut() {
                None => rows.push(vec![TckValue::Null]),
                Some(row) => *row.last_mut().unwrap() = TckValue::string("wrong"),
            }
            let problems = check_reads(&queries, &expected, &mut Prepared::new(wrong)).unwrap_err();
            assert_eq!(problems.len(), 1, "{problems:?}");
        }
    }
}

/// What an update adds, by label set and type.
fn adds(update: &Update) -> Vec<(&'static str, u64)> {
    let count = |name: &str| match &update.parameters[name] {
        TckValue::List(elements) => elements.len() as u64,
        other => panic!("{name} is {other}"),
    };
    match update.kind {
        UpdateKind::Person => {
            let mut adds = vec![("Person", 1), ("IS_LOCATED_IN", 1)];
            // Each UNWIND of an empty list leaves no row for what follows it.
            for (ty, list) in
                [("HAS_INTEREST", "tagIds"), ("STUDY_AT", "studyAt"), ("WORKS_AT", "workAt")]
            {
                if count(list) == 0 {
                    break;
                }
                adds.push((ty, count(list)));
            }
            adds
        }
        UpdateKind::PostLike | UpdateKind::CommentLike => vec![("LIKES", 1)],
        UpdateKind::Forum => {
            vec![("Forum", 1), ("HAS_MODERATOR", 1), ("HAS_TAG", count("tagIds"))]
        }
        UpdateKind::Membership => vec![("HAS_MEMBER", 1)],
        UpdateKind::Post => vec![
            ("Message:Post", 1),
            ("HAS_CREATOR", 1),
            ("CONTAINER_OF", 1),
            ("IS_LOCATED_IN", 1),
            ("HAS_TAG", count("tagIds")),
        ],
        UpdateKind::Comment => vec![
            ("Comment:Message", 1),
            ("HAS_CREATOR", 1),
            ("REPLY_OF", 1),
            ("IS_LOCATED_IN", 1),
            ("HAS_TAG", count("tagIds")),
        ],
        UpdateKind::Friendship => vec![("KNOWS", 1)],
    }
}

#[test]
fn what_is_loaded_and_what_updates_add_make_the_counts_after_updates() {
    let Some((archive, _)) = tiny() else { return };
    let db = telar_db::open_in_memory().unwrap();
    load(&archive, &db).unwrap();
    let mut all = counts(&db).unwrap();
    let updates = updates(&archive).unwrap();
    assert_eq!(updates.len(), 6920);
    assert!(updates.is_sorted_by_key(|update| update.time));
    for (name, count) in updates.iter().flat_map(adds) {
        *all.entry(name.to_owned()).or_default() += count;
    }
    assert_eq!(all, counts_after_updates(&archive).unwrap());
}

#[test]
fn every_update_comes_after_what_it_refers_to() {
    let Some((archive, _)) = tiny() else { return };
    // Numbers of each kind; posts and comments share theirs.
    let files = [
        ("Person", "dynamic/person_0_0.csv"),
        ("Forum", "dynamic/forum_0_0.csv"),
        ("Message", "dynamic/post_0_0.csv"),
        ("Message", "dynamic/comment_0_0.csv"),
        ("Tag", "static/tag_0_0.csv"),
        ("Place", "static/place_0_0.csv"),
        ("Organisation", "static/organisation_0_0.csv"),
    ];
    let mut known = BTreeSet::new();
    for (kind, path) in files {
        for line in archive.text(path).unwrap().lines().skip(1) {
            known.insert((kind, line.split('|').next().unwrap().parse::<i64>().unwrap()));
        }
    }
    for update in updates(&archive).unwrap() {
        let new = match update.kind {
            UpdateKind::Person => Some(("Person", "personId")),
            UpdateKind::Forum => Some(("Forum", "forumId")),
            UpdateKind::Post => Some(("Message", "postId")),
            UpdateKind::Comment => Some(("Message", "commentId")),
            _ => None,
        };
        for (name, value) in &update.parameters {
            let kind = match name.as_str() {
                _ if new.is_some_and(|(_, id)| id == name) => continue,
                "personId" | "person1Id" | "person2Id" | "authorPersonId" | "moderatorPersonId" => {
                    "Person"
                }
                "forumId" => "Forum",
                "postId" | "commentId" | "replyToPostId" | "replyToCommentId" => "Message",
                "tagIds" => "Tag",
                "cityId" | "countryId" => "Place",
                "studyAt" | "workAt" => "Organisation",
                _ => continue,
            };
            let ids: Vec<&TckValue> = match value {
                TckValue::List(elements) => elements.iter().collect(),
                one => vec![one],
            };
            for id in ids {
                let id = match id {
                    TckValue::List(pair) => &pair[0],
                    id => id,
                };
                // A comment replies to a post or to a comment; the other one is -1.
                let TckValue::Int(id) = id else { panic!("{name} is {id}") };
                let none = *id == -1 && name.starts_with("replyTo");
                assert!(none || known.contains(&(kind, *id)), "{name} {id} of {update:?}");
            }
        }
        if let Some((kind, name)) = new {
            let TckValue::Int(id) = update.parameters[name] else { panic!("{name}") };
            assert!(known.insert((kind, id)), "{kind} {id} twice");
        }
    }
}

#[test]
fn the_whole_check_wants_answers_before_and_after_and_counts() {
    let Some((archive, queries)) = tiny() else { return };
    let answers = |file| right_answers(&Expected::read(&archive, file).unwrap());
    let mut prepared = Prepared::new(answers("expected-neo4j-5.26.30.json"));
    prepared.answers.extend((0..6920).map(|_| Rows::default()));
    prepared.answers.extend(answers("expected-neo4j-5.26.30-after-updates.json"));
    let mut id = 0;
    for (name, count) in counts_after_updates(&archive).unwrap() {
        for _ in 0..count {
            id += 1;
            if name.chars().all(|c| c.is_ascii_uppercase() || c == '_') {
                let ty = Relationship { ty: name.clone(), ..Relationship::default() };
                prepared.state.relationships.insert([id; 4], ty);
            } else {
                let labels = name.split(':').map(str::to_owned).collect();
                prepared.state.nodes.insert(id, Node { labels, ..Node::default() });
            }
        }
    }
    let mut wrong = prepared.clone();
    assert_eq!(check_tiny(&archive, &queries, &mut prepared), Ok(210));
    wrong.state.nodes.pop_first();
    wrong.answers[0].rows.clear();
    wrong.answers.back_mut().unwrap().rows.clear();
    let problems = check_tiny(&archive, &queries, &mut wrong).unwrap_err();
    let begins: Vec<&str> = problems.iter().map(|p| &p[..13]).collect();
    assert_eq!(begins, ["before update", "after updates", "counts after "], "{problems:?}");
}
