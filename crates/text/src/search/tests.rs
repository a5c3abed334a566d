//! Hits and scores over a few documents, by hand.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::key;
use crate::query::parse;

/// Documents in memory: texts by field.
#[derive(Default)]
struct Plain {
    documents: Vec<Vec<Vec<String>>>,
    keys: BTreeMap<Vec<u8>, Vec<usize>>,
    most: Option<usize>,
    /// Terms that no document has any more.
    gone: Vec<String>,
}

const FIELDS: [&str; 2] = ["title", "body"];

impl Plain {
    fn of(documents: &[(&str, &str)]) -> Self {
        Self::of_texts(documents.iter().map(|(title, body)| [title, body].map(|t| t.to_string())))
    }

    fn of_texts(documents: impl IntoIterator<Item = [String; 2]>) -> Self {
        let mut plain = Self::default();
        for (id, document) in documents.into_iter().enumerate() {
            let texts: Vec<Vec<String>> =
                document.map(|t| if t.is_empty() { vec![] } else { vec![t] }).to_vec();
            for (field, texts) in texts.iter().enumerate().filter(|(_, t)| !t.is_empty()) {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                key::for_each_key(Analyzer::default(), field as u8, &texts, |key| {
                    plain.keys.entry(key.to_vec()).or_default().push(id);
                });
            }
            plain.documents.push(texts);
        }
        plain
    }

    fn hits(&mut self, query: &str) -> Vec<usize> {
        let clause = parse(query).unwrap();
        let found = search(self, &FIELDS, Analyzer::default(), &clause, usize::MAX);
        let mut found: Vec<usize> = found.unwrap().into_iter().map(|(id, _)| id).collect();
        found.sort_unstable();
        found
    }
}

/// Documents that have a term, with its frequency and the norm; in blocks of so many.
#[derive(Debug)]
struct Blocks<const SIZE: usize>(Vec<(usize, (u32, u8))>, Vec<usize>, Vec<u8>);

impl<const SIZE: usize> Blocks<SIZE> {
    fn of(mut postings: Vec<(usize, (u32, u8))>) -> Self {
        postings.sort_unstable();
        let objects = postings.iter().map(|(object, _)| *object).collect();
        // Each posting has an impact of its own.
        let places = (0..postings.len()).map(|at| (at % SIZE) as u8).collect();
        Self(postings, objects, places)
    }

    fn impact(&self, object: usize) -> Option<(u32, u8)> {
        let at = self.1.binary_search(&object).ok()?;
        Some(self.0[at].1)
    }

    fn range(&self, block: usize) -> std::ops::Range<usize> {
        block * SIZE..((block + 1) * SIZE).min(self.0.len())
    }
}

impl<const SIZE: usize> List for Blocks<SIZE> {
    type Object = usize;

    fn len(&self) -> usize {
        self.0.len()
    }

    fn blocks(&self) -> usize {
        self.0.len().div_ceil(SIZE)
    }

    fn objects(&self, block: usize) -> &[usize] {
        &self.1[self.range(block)]
    }

    fn places(&self, block: usize) -> &[u8] {
        &self.2[self.range(block)]
    }

    fn impacts(&self, block: usize) -> impl Iterator<Item = (u32, u8)> {
        self.0[self.range(block)].iter().map(|(_, impact)| *impact)
    }

    fn best(&self, block: usize) -> impl Iterator<Item = (u32, u8)> {
        self.impacts(block)
    }
}

impl Source for Plain {
    type Id = usize;
    type List = Blocks<2>;
    type Error = &'static str;

    /// Documents with even numbers are one part, the others another one.
    fn lists(&mut self, field: u8, term: &str) -> Result<Vec<Blocks<2>>, &'static str> {
        let (from, to) = key::term(field, term);
        let mut parts = [Vec::new(), Vec::new()];
        self.entries((&from, &to), &mut |entry, id| {
            let Entry::Posting { frequency, norm, .. } = entry else { panic!("{entry:?}") };
            parts[id % 2].push((id, (frequency, norm)));
        })?;
        Ok(parts.map(Blocks::of).into())
    }

    fn entries(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(Entry<'_>, usize),
    ) -> Result<(), &'static str> {
        for (key, ids) in self.keys.range(from.to_vec()..to.to_vec()) {
            let entry = Entry::decode(key).ok_or("no key")?;
            ids.iter().for_each(|id| f(entry, *id));
        }
        Ok(())
    }

    fn terms(
        &mut self,
        (from, to): (&[u8], &[u8]),
        f: &mut dyn FnMut(&str) -> usize,
    ) -> Result<(), &'static str> {
        let mut held = 0;
        for term in &self.gone {
            let key = [&from[..1], term.as_bytes(), &[0]].concat();
            if (from..to).contains(&&key[..]) {
                held = f(term);
            }
        }
        self.entries((from, to), &mut |entry, _| {
            let Entry::Posting { term, .. } = entry else { panic!("{entry:?}") };
            held = f(term);
        })?;
        self.check(held)
    }

    fn totals(&mut self) -> Result<Vec<Totals>, &'static str> {
        let mut totals = vec![Totals::default(); FIELDS.len()];
        for document in &self.documents {
            for (of, texts) in totals.iter_mut().zip(document) {
                let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
                let terms = Analyzer::default().tokens(&texts).len() as u64;
                of.documents += u64::from(terms > 0);
                of.terms += terms;
            }
        }
        Ok(totals)
    }

    fn texts(&mut self, id: usize, field: u8) -> Result<Vec<String>, &'static str> {
        Ok(self.documents[id][usize::from(field)].clone())
    }

    fn check(&mut self, bytes: usize) -> Result<(), &'static str> {
        if self.most.is_some_and(|most| bytes > most) { Err("too many") } else { Ok(()) }
    }
}

fn library() -> Plain {
    Plain::of(&[
        ("The quick fox", "jumps over the lazy dog"),
        ("The lazy fox", "sleeps"),
        ("A dog's life", "the dog barks at the quick quick cat"),
        ("", "Foxes and cats"),
        ("quick", ""),
    ])
}

#[test]
fn queries_find_what_they_say() {
    let mut plain = library();
    let cases: [(&str, &[usize]); 42] = [
        ("fox", &[0, 1]),
        ("FOX dog", &[0, 1, 2]),
        ("fox AND lazy", &[0, 1]),
        ("title:fox AND title:lazy", &[1]),
        ("title:(fox lazy)", &[0, 1]),
        ("+fox -lazy", &[]),
        ("quick -fox", &[2, 4]),
        ("NOT fox", &[]),
        ("*:* -fox", &[2, 3, 4]),
        ("*", &[0, 1, 2, 3, 4]),
        ("title:*", &[0, 1, 2, 4]),
        ("fox*", &[0, 1, 3]),
        ("fo?", &[0, 1]),
        ("*s", &[0, 1, 2, 3]),
        ("F*s", &[3]),
        ("fxo~", &[0, 1]),
        ("fxo~1", &[0, 1]),
        ("cut~1", &[2]),
        ("fox~0", &[0, 1]),
        ("\"lazy dog\"", &[0]),
        ("\"dog lazy\"", &[]),
        ("\"dog lazy\"~1", &[]),
        ("\"dog lazy\"~2", &[0]),
        ("\"jumps dog\"~2", &[]),
        ("\"jumps dog\"~3", &[0]),
        ("\"quick quick\"", &[2]),
        ("\"fox fox\"~5", &[]),
        ("\"fox\"", &[0, 1]),
        ("/[dl]a?o?[gz]y?/", &[0, 1, 2]),
        ("title:[lazy TO quick]", &[0, 1, 2, 4]),
        ("title:{lazy TO quick}", &[2]),
        ("body:[* TO barks]", &[2, 3]),
        ("body:{sleeps TO *]", &[0, 2]),
        ("other:fox", &[]),
        ("fox OR other:fox", &[0, 1]),
        ("fox AND other:lazy", &[]),
        ("fox AND other:...", &[]),
        ("fox AND ...", &[0, 1]),
        ("...", &[]),
        ("(fox AND lazy) OR barks", &[0, 1, 2]),
        ("life AND (cat OR fox)", &[2]),
        ("dog-barks", &[0, 2]),
    ];
    for (query, expected) in cases {
        assert_eq!(plain.hits(query), expected, "{query}");
    }
}

/// Terms that are in the index and that no document has are none of the fifty that are most like.
#[test]
fn terms_without_documents_are_passed_over() {
    let mut plain = library();
    for letter in 'a'..='z' {
        plain.gone.extend([format!("la{letter}x"), format!("laz{letter}"), format!("{letter}azx")]);
    }
    assert!(plain.gone.iter().filter(|term| &term[..] < "lazy").count() > 50);
    for query in ["lazx~1", "lazx~", "?az?", "/la.*/", "title:[la TO lb]"] {
        assert_eq!(
            plain.hits(query),
            if query.starts_with("title") { vec![1] } else { vec![0, 1] }
        );
    }
}

fn scores(query: &str) -> Vec<(usize, f32)> {
    let mut plain = library();
    search(&mut plain, &FIELDS, Analyzer::default(), &parse(query).unwrap(), usize::MAX).unwrap()
}

fn close(found: &[(usize, f32)], expected: &[(usize, f32)]) {
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for (a, b) in found.iter().zip(expected) {
        assert!(a.0 == b.0 && (a.1 - b.1).abs() < 1e-5, "{found:?} {expected:?}");
    }
}

/// By hand: four documents have a title, of 3, 3, 3 and 1 words.
#[test]
fn scores_are_bm25() {
    let idf = |df: f32| (1.0 + (4.0 - df + 0.5) / (df + 0.5)).ln();
    let term =
        |idf: f32, tf: f32, length: f32| idf * tf / (tf + 1.2 * (0.25 + 0.75 * length / 2.5));
    let (short, long) = (term(idf(2.0), 1.0, 1.0), term(idf(2.0), 1.0, 3.0));
    close(&scores("title:quick"), &[(4, short), (0, long)]);
    close(&scores("title:quick^2"), &[(4, 2.0 * short), (0, 2.0 * long)]);
    close(&scores("title:\"lazy fox\""), &[(1, term(idf(1.0) + idf(2.0), 1.0, 3.0))]);
    let quick_fox = [(0, 2.0 * long), (4, short), (1, long)];
    close(&scores("title:(quick fox)"), &quick_fox);
    close(&scores("title:f*"), &[(0, 1.0), (1, 1.0)]);
    close(&scores("*:*^3"), &[(0, 3.0), (1, 3.0), (2, 3.0), (3, 3.0), (4, 3.0)]);
    // Two words of 5, one edit of three letters.
    close(&scores("title:fix~1"), &[(0, long * (2.0 / 3.0)), (1, long * (2.0 / 3.0))]);
}

#[test]
fn the_best_come_first_and_no_more_than_asked() {
    let mut plain = library();
    let query = parse("quick lazy").unwrap();
    let all = search(&mut plain, &FIELDS, Analyzer::default(), &query, usize::MAX).unwrap();
    assert!(all.windows(2).all(|pair| pair[0].1 >= pair[1].1));
    for most in 0..=all.len() + 1 {
        let some = search(&mut plain, &FIELDS, Analyzer::default(), &query, most).unwrap();
        assert_eq!(some, all[..most.min(all.len())]);
    }
}

type Postings = BTreeMap<usize, (u32, u8)>;

fn impact() -> impl Strategy<Value = (u32, u8)> {
    (prop_oneof![4 => Just(1_u32), 1 => 1_u32..9], 1_u8..6)
}

fn sparse() -> impl Strategy<Value = Postings> {
    prop::collection::btree_map(0_usize..400, impact(), 0..12)
}

/// Postings of one to four terms, over lists of many blocks.
fn terms() -> impl Strategy<Value = Vec<Postings>> {
    let dense = prop::collection::btree_map(0_usize..400, impact(), 0..300);
    prop::collection::vec(prop_oneof![sparse(), dense], 1..5)
}

fn text() -> impl Strategy<Value = Vec<&'static str>> {
    prop::collection::vec(prop::sample::select(&["fox", "dog", "cat", "owl", "bee"][..]), 0..6)
}

/// Queries of words, needed, excluded, boosted, in fields that there are or not, and in brackets.
fn query() -> impl Strategy<Value = String> {
    let words = &["fox", "dog", "cat", "owl", "...", "title:fox", "body:dog", "other:owl"][..];
    let word = prop::sample::select(words).prop_map(str::to_owned);
    word.prop_recursive(3, 12, 4, |inner| {
        let occur = prop::sample::select(&["", "", "+", "+", "-"][..]);
        let boost = prop::sample::select(&["", "", "^2", "^0.5"][..]);
        let clause = (occur, inner, boost)
            .prop_map(|(occur, inner, boost)| format!("{occur}({inner}){boost}"));
        prop::collection::vec(clause, 1..4).prop_map(|clauses| clauses.join(" "))
    })
}

proptest! {
    /// The best are the first of all, to the bit, however much is skipped.
    #[test]
    fn the_best_are_the_first_of_all(
        terms in terms(),
        weights in prop::array::uniform4(prop::sample::select(&[0.1_f32, 1.0, 2.0, 8.0][..])),
        without in prop::collection::vec(sparse(), 0..2),
        sizes in prop::collection::vec(1_usize..3, 1..4),
        most in prop_oneof![1_usize..12, 100_usize..500],
    ) {
        let totals = Totals { documents: 400, terms: 1200 };
        let list = |term: BTreeMap<usize, (u32, u8)>| Blocks::of(term.into_iter().collect());
        let lists: Vec<Blocks<8>> = terms.into_iter().map(list).collect();
        let scorers = weights.map(|weight| Scorer::new(totals, weight, 1.0));
        let summed = |object: usize| -> (usize, f32) {
            let scores = lists.iter().zip(&scorers).filter_map(|(list, scorer)| {
                list.impact(object).map(|(frequency, norm)| f64::from(scorer.of(frequency, norm)))
            });
            (object, scores.sum::<f64>() as f32)
        };
        let has = |list: &Blocks<8>, object: usize| list.impact(object).is_some();
        let expect = |is_hit: &dyn Fn(usize) -> bool| {
            let mut all: Vec<_> = (0..400).filter(|object| is_hit(*object)).map(summed).collect();
            all.sort_unstable_by(rank);
            all.truncate(most);
            all
        };
        let cursors = |terms: std::ops::Range<usize>| -> Vec<Cursor<'_, Blocks<8>>> {
            terms.map(|at| Cursor::new(&lists[at], &scorers[at], at)).collect()
        };
        let (count, check) = (lists.len(), &mut |_| Ok::<(), ()>(()));
        let sorted = |mut best: Ranked<usize>| {
            best.sort_unstable_by(rank);
            best
        };

        // A sum of the first terms, without documents that have one of `out`.
        let out: Vec<Blocks<8>> = without.into_iter().map(list).collect();
        let places = || out.iter().map(Place::new).collect();
        let is_out = |object: usize| out.iter().any(|list| has(list, object));
        let sum = top::top(cursors(0..count), places(), count, most, check).unwrap();
        let any = |object: usize| lists.iter().any(|list| has(list, object)) && !is_out(object);
        prop_assert_eq!(sorted(sum), expect(&any));

        // All of the first groups; those terms that are left add.
        let mut ends = vec![0];
        for size in sizes {
            let end = ends[ends.len() - 1] + size;
            if end <= count {
                ends.push(end);
            }
        }
        let groups = || ends.windows(2).map(|ends| ends[0]..ends[1]);
        prop_assume!(ends.len() > 1);
        let conjunction = Conjunction {
            needed: groups().map(|group| Group(cursors(group))).collect(),
            optional: cursors(ends[ends.len() - 1]..count),
            without: places(),
        };
        let all = conjunction.best(count, most, check).unwrap();
        let every = |object: usize| {
            groups().all(|group| lists[group].iter().any(|list| has(list, object)))
                && !is_out(object)
        };
        prop_assert_eq!(sorted(all), expect(&every));
    }

    /// A query that has a form finds the same, with the same scores, as its clauses put together.
    #[test]
    fn forms_are_what_their_clauses_are(
        query in query(),
        documents in prop::collection::vec((text(), text()), 1..40),
    ) {
        let texts = documents.iter().map(|(title, body)| [title, body].map(|text| text.join(" ")));
        let mut plain = Plain::of_texts(texts);
        let clause = parse(&query).unwrap();
        let (source, analyzer) = (&mut plain, Analyzer::default());
        let mut search = Search { source, fields: &FIELDS, analyzer, totals: None };
        let hits = search.hits(&clause).unwrap().unwrap_or_default().into_iter();
        let mut expected: Ranked<usize> = hits.map(|(id, score)| (id, score as f32)).collect();
        expected.sort_unstable_by(rank);
        let form = search.form(&clause);
        prop_assume!(form.is_some());
        let mut found = search.best(&form.unwrap(), usize::MAX).unwrap();
        found.sort_unstable_by(rank);
        let ids = |hits: &Ranked<usize>| hits.iter().map(|hit| hit.0).collect::<BTreeSet<_>>();
        prop_assert_eq!(ids(&found), ids(&expected), "{}", query);
        let scores: BTreeMap<usize, f32> = expected.into_iter().collect();
        for (id, score) in found {
            prop_assert!((score - scores[&id]).abs() <= 1e-5 * score.abs(), "{} {}", query, id);
        }
    }

    #[test]
    fn others_are_found_in_ascending_order(
        others in prop::collection::btree_map(0_usize..200, any::<u8>(), 0..100),
        mut asked in prop::collection::vec(0_usize..220, 0..60),
    ) {
        asked.sort_unstable();
        let flat: Vec<(usize, u8)> = others.iter().map(|(id, value)| (*id, *value)).collect();
        let mut left = Others(&flat);
        for id in asked {
            prop_assert_eq!(left.get(id), others.get(&id).copied());
        }
    }
}

#[test]
fn what_the_source_refuses_ends_the_search() {
    let mut plain = Plain { most: Some(HIT_BYTES), ..library() };
    let found = search(&mut plain, &FIELDS, Analyzer::default(), &parse("fox").unwrap(), 10);
    assert_eq!(found, Err(Failure::Source("too many")));
    // Of terms, too, before their documents are read.
    for query in ["fox~1", "f*", "/f.*/"] {
        let query = parse(query).unwrap();
        let found = search(&mut plain, &FIELDS, Analyzer::default(), &query, 10);
        assert_eq!(found, Err(Failure::Source("too many")));
    }
    let found = search(&mut library(), &FIELDS, Analyzer::default(), &parse("/(/").unwrap(), 10);
    assert!(matches!(found, Err(Failure::Query(why)) if why.contains("/(/")));
}
