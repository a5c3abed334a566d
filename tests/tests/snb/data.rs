//! The reads against prepared answers, and updates against the counts that Neo4j had after them.

use std::collections::{BTreeSet, VecDeque};

use telar_bench::snb::{
    ANSWERS, Archive, Counts, Expected, Queries, READS, Rows, Update, UpdateKind, check_reads,
    counts, counts_after_updates, load, operations, rows, updates,
};
use telar_db::{Value, ValueMap};

use crate::whole::{ANSWERS_AFTER, check_tiny};

/// Gives prepared answers, in order.
fn prepared(mut answers: VecDeque<Rows>) -> impl FnMut(&str, &ValueMap) -> Result<Rows, String> {
    move |_, _| Ok(answers.pop_front().expect("one answer per query"))
}

fn tiny() -> Option<(Archive, Queries)> {
    let (Some(archive), Some(queries)) =
        (telar_tests::shared("data/snb/tiny.tar.zst"), telar_tests::shared("data/snb/queries"))
    else {
        return None;
    };
    Some((Archive::read(&archive).unwrap(), Queries::read(&queries).unwrap()))
}

fn right_answers(expected: &Expected) -> VecDeque<Rows> {
    let places = READS.iter().flat_map(|(name, _)| (0..5).map(move |place| (*name, place)));
    places.map(|(name, place)| rows(expected.answer(name, place)).unwrap()).collect()
}

#[test]
fn right_answers_pass_and_each_wrong_one_is_noticed() {
    let Some((archive, queries)) = tiny() else { return };
    for file in [ANSWERS, ANSWERS_AFTER] {
        let expected = Expected::read(&archive, file).unwrap();
        let right = right_answers(&expected);
        assert_eq!(check_reads(&queries, &expected, &mut prepared(right.clone())), Ok(105));
        for place in 0..right.len() {
            let mut wrong = right.clone();
            let rows = &mut wrong[place];
            match rows.last_mut() {
                None => rows.push(vec![Value::Null]),
                Some(row) => *row.last_mut().unwrap() = Value::from("wrong"),
            }
            let problems = check_reads(&queries, &expected, &mut prepared(wrong)).unwrap_err();
            assert_eq!(problems.len(), 1, "{problems:?}");
        }
    }
}

/// What an update adds, by label set and type.
fn adds(update: &Update) -> Vec<(&'static str, u64)> {
    let count = |name: &str| match &update.parameters[name] {
        Value::List(elements) => elements.len() as u64,
        other => panic!("{name} is {other:?}"),
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
            let kind = match &**name {
                _ if new.is_some_and(|(_, id)| *id == **name) => continue,
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
            let ids: Vec<&Value> = match value {
                Value::List(elements) => elements.iter().collect(),
                one => vec![one],
            };
            for id in ids {
                let id = match id {
                    Value::List(pair) => &pair[0],
                    id => id,
                };
                // A comment replies to a post or to a comment; the other one is -1.
                let Value::Int(id) = id else { panic!("{name} is {id:?}") };
                let none = *id == -1 && name.starts_with("replyTo");
                assert!(none || known.contains(&(kind, *id)), "{name} {id} of {update:?}");
            }
        }
        if let Some((kind, name)) = new {
            let Value::Int(id) = update.parameters[name] else { panic!("{name}") };
            assert!(known.insert((kind, id)), "{kind} {id} twice");
        }
    }
}

#[test]
fn operations_begin_after_what_they_need_and_every_update_is_one() {
    let Some((archive, _)) = tiny() else { return };
    let expected = Expected::read(&archive, ANSWERS).unwrap();
    let all = operations(&archive, &expected, usize::MAX, 1).unwrap();
    let count = |prefix: &str| all.iter().filter(|o| o.query.starts_with(prefix)).count();
    assert_eq!(count("update"), 6920);
    // 6920 / 26 + 6920 / 37 + ..
    assert_eq!(count("complex"), 2519);
    assert!(count("short") > 3 * count("complex"));
    // A post or comment is made at most once, and whoever likes it begins after that.
    let mut made = std::collections::HashMap::new();
    let mut waits = 0;
    for (at, operation) in all.iter().enumerate() {
        assert!(operation.after <= at);
        let id = |name: &str| operation.parameters.get(name).cloned();
        let (makes, needs) = match operation.query {
            "update-6" => (id("postId"), None),
            "update-7" => (id("commentId"), None),
            "update-2" => (None, id("postId")),
            "update-3" => (None, id("commentId")),
            _ => continue,
        };
        if let Some(made_at) = needs.and_then(|id| made.get(&id)) {
            assert!(operation.after > *made_at);
            waits += 1;
        }
        makes.map(|id| made.insert(id, at));
    }
    assert!(waits > 100, "{waits}");
    let some = operations(&archive, &expected, 100, 1).unwrap();
    let names = |some: &[telar_bench::snb::Operation]| -> Vec<_> {
        some.iter().take(100).map(|o| (o.query, o.parameters.clone())).collect()
    };
    assert_eq!(names(&some), names(&all));
}

#[test]
fn the_whole_check_wants_answers_before_and_after_and_counts() {
    let Some((archive, queries)) = tiny() else { return };
    let answers = |file| right_answers(&Expected::read(&archive, file).unwrap());
    let mut right = answers(ANSWERS);
    right.extend((0..6920).map(|_| Rows::default()));
    right.extend(answers(ANSWERS_AFTER));
    let counts = counts_after_updates(&archive).unwrap();
    let check = |answers: VecDeque<Rows>, counts: Counts| {
        check_tiny(&archive, &queries, &mut prepared(answers), &|| Ok(counts.clone()))
    };
    assert_eq!(check(right.clone(), counts.clone()), Ok(210));
    let (mut wrong, mut miscounted) = (right, counts);
    *miscounted.values_mut().next().unwrap() -= 1;
    wrong[0].clear();
    wrong.back_mut().unwrap().clear();
    let problems = check(wrong, miscounted).unwrap_err();
    let begins: Vec<&str> = problems.iter().map(|p| &p[..13]).collect();
    assert_eq!(begins, ["before update", "after updates", "counts after "], "{problems:?}");
}
