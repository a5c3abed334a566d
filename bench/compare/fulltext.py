#!/usr/bin/env python3
"""Full-text search beside tantivy: the same documents, the same queries, one thread, the best ten compared.

    fulltext.py [--documents N] [--example PROGRAM]
    fulltext.py --servers [--documents N] [--example PROGRAM] [--telar BINARY] [--wheel WHEEL | --python PYTHON] [--folder FOLDER]
                [--rounds N] [--engines telar,bolt,neo4j]

Documents are of 20 words by Zipf's law. PROGRAM is crates/db/examples/fulltext_cost.rs, built by
`cargo build --release -p telar-db --example fulltext_cost` (target/release/examples/fulltext_cost). It writes documents
and answers to a folder; the package `tantivy` (installed into target/compare/fulltext) indexes the same documents as one
segment and answers the same queries.

For each query: the first search of its words in Telar, which reads them in the index; the median of searches after that;
tantivy's median; the quotient. Telar is asked in Cypher and gives ids, tantivy is asked through its Python package and gives
addresses of documents: both are included. Answers are compared: the number of hits, and the ten scores, which tantivy
multiplies by 2.2; documents where their score is not that of others that were left out.

With --servers, instead: `telar` in process (WHEEL is what `make wheel` leaves), and `bolt` (Telar, a release build at BINARY) and
`neo4j` as servers (search_servers.py), with the documents of PROGRAM and its queries of two words, and with a hundred pairs of
words that are drawn as those of documents are. The number of hits and the best ten are compared. Figures are those of one
query, asked ten times in a turn, on the wall and of processors (client and server): medians of as many rounds as --rounds says.
Stores lie below FOLDER for the while. PYTHON is an interpreter that has everything; nothing is installed then. Without `telar`
in --engines no wheel is needed. Needs mvn and Java.
"""
import argparse, random, shutil, statistics, subprocess, sys, time
from pathlib import Path

import search_servers

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / 'target' / 'compare' / 'fulltext'
PACKAGE = 'tantivy==0.27.0'
TIMES = 50
BEST = 10
SEARCH = """CALL db.index.fulltext.queryNodes('i', $q, {limit: 10}) YIELD node, score RETURN node.id AS id, score"""
COUNT = "CALL db.index.fulltext.queryNodes('i', $q) YIELD node RETURN count(*)"
INDEX = 'CREATE FULLTEXT INDEX i FOR (n:D) ON EACH [n.t]'


def timed(search):
    times = []
    for _ in range(TIMES):
        begin = time.perf_counter()
        search()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def index(texts):
    import tantivy
    schema = tantivy.SchemaBuilder()
    schema.add_text_field('t')
    schema.add_integer_field('id', stored=True, fast=True)
    folder = HOME / 'index'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    made = tantivy.Index(schema.build(), path=str(folder))
    begin = time.perf_counter()
    # One segment: documents that score the same come in their order, as they do in Telar.
    writer = made.writer(heap_size=3_000_000_000, num_threads=1)
    for at, text in enumerate(texts):
        writer.add_document(tantivy.Document(t=text, id=at))
    writer.commit()
    writer.wait_merging_threads()
    made.reload()
    of_postings = sum(file.stat().st_size for file in folder.iterdir() if file.suffix in ('.idx', '.term', '.fieldnorm', '.pos'))
    print(f'tantivy: built in {time.perf_counter() - begin:.1f} s, {made.searcher().num_segments} segments, '
          f'{of_postings / sum(map(len, texts)):.2f} x text with positions')
    return made


def compare(documents):
    texts = read_documents()
    assert len(texts) == documents, (len(texts), documents)
    made = index(texts)
    searcher = made.searcher()
    print(f'{"query":<26} {"hits":>9} {"first":>10} {"again":>10} {"tantivy":>10} {"x":>6}')
    wrong = 0
    with open(HOME / 'answers.tsv', encoding='utf-8') as file:
        for line in file:
            what, text, first, again, hits, ids, scores = line.rstrip('\n').split('\t')
            if any(c in text for c in '"*~'):
                print(f'{what:<26} {hits:>9} {float(first):>10.3f} {float(again):>10.3f}')
                continue
            query = made.parse_query(text, ['t'])
            ids = [int(id) for id in ids.split(',') if id]
            scores = [float(score) for score in scores.split(',') if score]
            found = searcher.search(query, limit=BEST, count=True)
            theirs = [(searcher.doc(address)['id'][0], score / 2.2) for score, address in found.hits]
            same = found.count == int(hits) and len(ids) == len(theirs)
            same = same and all(abs(a - b) <= 1e-4 * b for a, (_, b) in zip(scores, theirs))
            least = min(scores, default=0)
            above = {id for id, score in zip(ids, scores) if score > least * 1.0001}
            same = same and above <= {id for id, _ in theirs}
            wrong += not same
            median = timed(lambda: searcher.search(query, limit=BEST, count=False))
            print(f'{what:<26} {hits:>9} {float(first):>10.3f} {float(again):>10.3f} {median:>10.3f} '
                  f'{float(again) / median:>6.2f}' + ('' if same else f'  OTHER ANSWER {found.count} {theirs}'))
    return wrong


def read_documents():
    with open(HOME / 'documents.txt', encoding='utf-8') as file:
        return [line.rstrip('\n') for line in file]


def same_best(rows, others):
    """Equal scores in 32 bits, and equal documents but for those with the least score."""
    least = min((score for _, score in rows), default=0) * 1.0001
    above = [{id for id, score in of if score > least} for of in (rows, others)]
    return (len(rows) == len(others) and all(abs(a[1] - b[1]) <= 1e-4 * b[1] for a, b in zip(rows, others))
            and above[0] == above[1])


def load_by_bolt(server, texts, name):
    for first in range(0, len(texts), 10_000):
        server.ask('UNWIND range(0, size($texts) - 1) AS i CREATE (:D {t: $texts[i], id: $first + i})',
                   texts=texts[first:first + 10_000], first=first)
    began = time.perf_counter()
    server.ask(INDEX)
    server.ask('CALL db.awaitIndexes(7200)')
    print(f'{name}: index built in {time.perf_counter() - began:.1f} s', flush=True)


def compare_servers(given):
    texts = read_documents()
    with open(HOME / 'answers.tsv', encoding='utf-8') as file:
        queries = dict(line.split('\t')[:2] for line in file)
    queries = {what: text for what, text in queries.items() if ' ' in text and '"' not in text}
    chosen = random.Random(7)
    drawn = [' '.join(chosen.choice(chosen.choice(texts).split()) for _ in range(2)) for _ in range(100)]
    wrong = 0
    with search_servers.folder_for_stores(given.folder) as (folder, stack):
        engines, asks = given.engines.split(','), {}
        with search_servers.telar(given.telar, folder / 'served') as served:
            load_by_bolt(served, texts, 'bolt')
        if 'telar' in engines:
            import telar
            shutil.copytree(folder / 'served', folder / 'here')
            db = telar.open(folder / 'here')
            stack.callback(db.close)
            asks['telar'] = lambda text, **values: db.query(text, **values).tuples(), None
        served = stack.enter_context(search_servers.telar(given.telar, folder / 'served'))
        asks['bolt'] = served.ask, served
        neo4j = stack.enter_context(search_servers.neo4j(folder / 'neo4j'))
        load_by_bolt(neo4j, texts, 'neo4j')
        asks['neo4j'] = neo4j.ask, neo4j
        columns = [name for name in ('telar', 'bolt') if name in asks]

        def again(ask, *texts):
            return lambda _: [ask(SEARCH, q=text) for text in texts]

        def measured(what, *texts, rounds):
            figures = search_servers.in_turns({name: (again(ask, *texts), server) for name, (ask, server) in asks.items()}, rounds)
            cells = []
            for at in (0, 1):
                cells += [f'{of[at] / len(texts) * 1e3:9.3f}' for of in figures.values()]
                cells += [f'{figures["neo4j"][at] / figures[name][at]:7.2f}' for name in columns]
            print(f'{what:<38}', *cells, flush=True)
        for name, (ask, _) in asks.items():
            # What is loaded and compiled once.
            ask(SEARCH, q='nothing')
            for _ in range(20):
                again(ask, *drawn)(0)
        print('milliseconds of one search, and how many times as many neo4j takes; on the wall, then of processors')
        print(f'{"query":<38}', *[cell for _ in range(2) for cell in (*(f'{name:>9}' for name in asks),
                                                                       *(f'{"x " + name:>7}' for name in columns))])
        for what, text in queries.items():
            counts = {name: ask(COUNT, q=text)[0][0] for name, (ask, _) in asks.items()}
            best = {name: ask(SEARCH, q=text) for name, (ask, _) in asks.items()}
            if len(set(counts.values())) > 1 or not all(same_best(best['neo4j'], rows) for rows in best.values()):
                wrong += 1
                print(f'{what}: other answers: {counts} {best}')
            measured(f'{what} ({counts["neo4j"]})', *[text] * 10, rounds=given.rounds)
        for text in drawn:
            best = {name: ask(SEARCH, q=text) for name, (ask, _) in asks.items()}
            if not all(same_best(best['neo4j'], rows) for rows in best.values()):
                wrong += 1
                print(f'{text}: other answers: {best}')
        measured('100 pairs as drawn', *drawn, rounds=given.rounds)
    return wrong


def has_documents(count):
    return (HOME / 'answers.tsv').exists() and len(read_documents()) == count


def install_for_servers(wheel):
    wheel = wheel or next(iter(sorted((ROOT / 'target' / 'python' / 'wheels').glob('*.whl'))), None)
    if wheel is None:
        raise SystemExit('there is no wheel: run `make wheel`, or name one with --wheel')
    return search_servers.install(HOME / 'venv', [PACKAGE, *search_servers.PACKAGES], wheel)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--documents', type=int, default=1_000_000)
    parser.add_argument('--example', default=ROOT / 'target' / 'release' / 'examples' / 'fulltext_cost')
    parser.add_argument('--servers', action='store_true')
    parser.add_argument('--telar', type=Path, default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--wheel', type=Path)
    parser.add_argument('--python')
    parser.add_argument('--folder', type=Path)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--engines', default='telar,bolt,neo4j')
    parser.add_argument('--child', action='store_true', help=argparse.SUPPRESS)
    given = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    python = HOME / 'venv' / 'bin' / 'python'
    if given.child:
        return 1 if compare_servers(given) else 0
    if given.servers:
        python = given.python or install_for_servers(given.wheel)
        if not has_documents(given.documents):
            subprocess.run([given.example, str(given.documents), str(HOME)], check=True)
        return subprocess.run([python, __file__, *sys.argv[1:], '--child']).returncode
    if Path(sys.prefix) != HOME / 'venv':
        if not python.exists():
            subprocess.run([sys.executable, '-m', 'venv', HOME / 'venv'], check=True)
            subprocess.run([python, '-m', 'pip', 'install', '--quiet', PACKAGE], check=True)
        print('ms; Telar:', flush=True)
        subprocess.run([given.example, str(given.documents), str(HOME)], check=True)
        return subprocess.run([python, __file__, *sys.argv[1:]]).returncode
    return 1 if compare(given.documents) else 0


if __name__ == '__main__':
    sys.exit(main())
