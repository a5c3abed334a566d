#!/usr/bin/env python3
"""Full-text search beside tantivy: the same documents, the same queries, one thread, the best ten compared.

    fulltext.py [--documents N] [--example PROGRAM]

Documents are of 20 words by Zipf's law. PROGRAM is crates/db/examples/fulltext_cost.rs, built by
`cargo build --release -p telar-db --example fulltext_cost` (target/release/examples/fulltext_cost). It writes documents
and answers to a folder; the package `tantivy` (installed into target/compare/fulltext) indexes the same documents as one
segment and answers the same queries.

For each query: the first search of its words in Telar, which reads them in the index; the median of searches after that;
tantivy's median; the quotient. Telar is asked in Cypher and gives ids, tantivy is asked through its Python package and gives
addresses of documents: both are included. Answers are compared: the number of hits, and the ten scores, which tantivy
multiplies by 2.2; documents where their score is not that of others that were left out.
"""
import argparse, shutil, statistics, subprocess, sys, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HOME = ROOT / 'target' / 'compare' / 'fulltext'
PACKAGE = 'tantivy==0.27.0'
TIMES = 50
BEST = 10


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
    with open(HOME / 'documents.txt', encoding='utf-8') as file:
        texts = [line.rstrip('\n') for line in file]
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


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument('--documents', type=int, default=1_000_000)
    parser.add_argument('--example', default=ROOT / 'target' / 'release' / 'examples' / 'fulltext_cost')
    given = parser.parse_args()
    HOME.mkdir(parents=True, exist_ok=True)
    python = HOME / 'venv' / 'bin' / 'python'
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
