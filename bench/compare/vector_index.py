#!/usr/bin/env python3
"""Approximate search for the nearest vectors: Telar's vector index and the libraries hnswlib, usearch and (exactly) NumPy, on
the same vectors. One run, answers compared.

    vector_index.py [--wheel WHEEL] [--section NAME,...] [--scale F] [--only ENGINE,...] [--threads N] [--json FILE]

WHEEL is what `make wheel` leaves. Libraries are installed from the package registry into target/compare/vector_index, at
the versions below. Each engine runs in a process of its own.

Sections:
    small   1,000,000 vectors of 128 numbers, by cosine
    large   100,000 vectors of 768 numbers, by cosine
    filter  as large, the nearest among 1 %, 10 %, 50 % of the vectors (Telar alone)
    write   as large: vectors added one by one, each a transaction, and searches beside a writer (Telar alone)

Vectors have 32 directions of their own that are spread over all numbers, and some noise: as hard as embeddings are. For
each engine and effort: the part of the ten nearest that is found (recall), and searches a second on one processor, of
queries that are asked a hundred at a time. Telar is asked in Cypher, which the figure includes; scores are compared with
those of NumPy. The line that counts is the least effort with a recall of 0.95.
"""
import argparse, json, os, subprocess, sys, threading, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / 'target' / 'compare' / 'vector_index'
PACKAGES = ['numpy==2.4.6', 'pyarrow==26.0.1', 'hnswlib==0.8.0', 'usearch']
ENGINES = ['telar', 'hnswlib', 'usearch']
SIZES = {'small': (1_000_000, 128), 'large': (100_000, 768), 'filter': (100_000, 768), 'write': (100_000, 768)}
QUERIES = 500
NEAREST = 10
EFFORTS = [32, 48, 64, 96, 128, 192, 256, 384]
WANTED = 0.95
SEARCH = '''UNWIND range(0, size($queries) - 1) AS q
CALL db.index.vector.queryNodes('i', 10, $queries[q], {effort: $effort}) YIELD node, score
RETURN q, node.id AS id, score'''
FILTERED = '''UNWIND range(0, size($queries) - 1) AS q
CALL db.index.vector.queryNodes('i', 10, $queries[q], {filter: [['part', '<', $part]]}) YIELD node, score
RETURN q, node.id AS id, score'''


def data(count, dimension):
    import numpy as np
    random = np.random.default_rng(7)
    directions = random.standard_normal((32, dimension), dtype=np.float32)

    def some(n):
        spread = random.standard_normal((n, 32), dtype=np.float32) @ directions
        spread += np.float32(0.3) * random.standard_normal((n, dimension), dtype=np.float32)
        return spread / np.linalg.norm(spread, axis=1, keepdims=True)
    return some(count), some(QUERIES)


def truth(vectors, queries, among=None):
    import numpy as np
    best = []
    for first in range(0, len(queries), 50):
        scores = queries[first:first + 50] @ vectors.T
        if among is not None:
            scores[:, ~among] = -2
        some = np.argpartition(-scores, NEAREST, axis=1)[:, :NEAREST]
        best.extend(set(row.tolist()) for row in some)
    return best


def measured(ask, wanted, efforts=EFFORTS):
    """Of each effort: recall, searches a second."""
    lines = []
    for effort in efforts:
        ask(effort)
        began = time.perf_counter()
        found = ask(effort)
        passed = time.perf_counter() - began
        hits = sum(len(wanted[q] & set(found[q])) for q in range(len(wanted)))
        lines.append({'effort': effort, 'recall': hits / NEAREST / len(wanted), 'qps': len(wanted) / passed})
    return lines


def telar_database(vectors, **columns):
    import numpy as np
    import pyarrow as pa
    import telar
    db = telar.open()
    flat = pa.array(vectors.reshape(-1))
    table = {'id': np.arange(len(vectors)), **columns, 'v': pa.FixedSizeListArray.from_arrays(flat, vectors.shape[1])}
    db.create_nodes('Doc', pa.table(table))
    began = time.perf_counter()
    db.query("CREATE VECTOR INDEX i FOR (n:Doc) ON n.v OPTIONS {indexConfig: {`vector.dimensions`: toInteger($d)}}",
             d=vectors.shape[1])
    return db, time.perf_counter() - began


def hundreds(queries):
    import numpy as np
    wide = queries.astype(np.float64)
    return [wide[first:first + 100].tolist() for first in range(0, len(wide), 100)]


def rows_of(db, text, batches, **parameters):
    found = []
    for batch in batches:
        lists = [[] for _ in batch]
        for q, id, _ in db.query(text, queries=batch, **parameters).tuples():
            lists[q].append(id)
        found.extend(lists)
    return found


def check_scores(db, vectors, queries):
    import numpy as np
    for q, id, score in db.query(SEARCH, queries=queries[:5].astype(np.float64).tolist(), effort=200).tuples():
        expected = (1 + float(vectors[id].astype(np.float64) @ queries[q].astype(np.float64))) / 2
        if abs(score - expected) > 1e-6:
            raise SystemExit(f'the score of {id} is {score}, expected {expected}')


def telar_search(vectors, queries, wanted, threads):
    db, built = telar_database(vectors)
    check_scores(db, vectors, queries)
    batches = hundreds(queries)
    return built, measured(lambda effort: rows_of(db, SEARCH, batches, effort=effort), wanted)


def hnswlib_search(vectors, queries, wanted, threads):
    import hnswlib
    index = hnswlib.Index(space='cosine', dim=vectors.shape[1])
    began = time.perf_counter()
    index.init_index(max_elements=len(vectors), ef_construction=100, M=16)
    index.add_items(vectors, num_threads=threads)
    built = time.perf_counter() - began

    def ask(effort):
        index.set_ef(effort)
        found = []
        for first in range(0, len(queries), 100):
            found.extend(index.knn_query(queries[first:first + 100], k=NEAREST, num_threads=1)[0].tolist())
        return found
    return built, measured(ask, wanted)


def usearch_search(vectors, queries, wanted, threads):
    import numpy as np
    from usearch.index import Index
    index = Index(ndim=vectors.shape[1], metric='cos', dtype='f32', connectivity=16, expansion_add=100)
    began = time.perf_counter()
    index.add(np.arange(len(vectors)), vectors, threads=threads)
    built = time.perf_counter() - began

    def ask(effort):
        index.expansion_search = effort
        found = []
        for first in range(0, len(queries), 100):
            found.extend(index.search(queries[first:first + 100], NEAREST, threads=1).keys.tolist())
        return found
    return built, measured(ask, wanted)


def run_search(engine, count, dimension, threads):
    vectors, queries = data(count, dimension)
    wanted = truth(vectors, queries)
    built, lines = globals()[f'{engine}_search'](vectors, queries, wanted, threads)
    return {'built_s': built, 'lines': lines}


def run_filter(engine, count, dimension, threads):
    import numpy as np
    vectors, queries = data(count, dimension)
    queries = queries[:200]
    part = np.random.default_rng(9).integers(0, 100, count)
    db, _ = telar_database(vectors, part=part)
    batches = hundreds(queries)
    lines = []
    for percent in [100, 50, 10, 1]:
        wanted = truth(vectors, queries, part < percent)
        line, = measured(lambda _: rows_of(db, FILTERED, batches, part=percent), wanted, [0])
        lines.append({**line, 'effort': f'{percent} %'})
    return {'lines': lines}


def run_write(engine, count, dimension, threads):
    import numpy as np
    vectors, queries = data(count, dimension)
    half = count // 2
    db, _ = telar_database(vectors[:half])
    lists = vectors[half:].astype(np.float64)
    batches, added = hundreds(queries[:100]), 0

    def add(until):
        nonlocal added
        while time.perf_counter() < until and added < len(lists):
            db.query('CREATE (n:Doc {id: $id}) WITH n CALL db.create.setNodeVectorProperty(n, "v", $v)', id=half + added,
                     v=lists[added].tolist())
            added += 1

    def searches(seconds):
        began, done = time.perf_counter(), 0
        while time.perf_counter() < began + seconds:
            done += len(rows_of(db, SEARCH, batches, effort=96))
        return done / (time.perf_counter() - began)
    alone = searches(5)
    began = time.perf_counter()
    add(began + 10)
    rate = added / (time.perf_counter() - began)
    before = added
    writer = threading.Thread(target=add, args=[time.perf_counter() + 10])
    writer.start()
    beside = searches(9)
    writer.join()
    now = np.concatenate([vectors[:half], vectors[half:half + added]])
    line, = measured(lambda effort: rows_of(db, SEARCH, hundreds(queries), effort=effort), truth(now, queries), [96])
    return {'inserts_per_s': rate, 'searches_per_s': alone, 'beside_a_writer': beside, 'written_beside': added - before,
            'recall_then': line['recall']}


def install(wheel):
    python = VENV / 'bin' / 'python'
    if not python.exists():
        subprocess.run([sys.executable, '-m', 'venv', VENV], check=True)
    install = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*install, *PACKAGES], check=True)
    subprocess.run([*install, '--force-reinstall', '--no-deps', wheel], check=True)
    return python


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--wheel', type=Path)
    parser.add_argument('--python', help='an interpreter that has everything; nothing is installed')
    parser.add_argument('--section', default='small,large,filter,write')
    parser.add_argument('--only', default=','.join(ENGINES))
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--json', type=Path)
    parser.add_argument('--child', nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        section, engine = arguments.child
        count, dimension = SIZES[section]
        run = {'filter': run_filter, 'write': run_write}.get(section, run_search)
        print(json.dumps(run(engine, int(count * arguments.scale), dimension, arguments.threads)))
        return
    wheel = arguments.wheel or next(iter(sorted((ROOT / 'target' / 'python' / 'wheels').glob('*.whl'))), None)
    if wheel is None and not arguments.python:
        parser.error('there is no wheel: make wheel')
    python = arguments.python or install(wheel)
    results = {}
    for section in arguments.section.split(','):
        for engine in arguments.only.split(',') if section in ('small', 'large') else ['telar']:
            command = [python, __file__, '--child', section, engine, '--scale', str(arguments.scale), '--threads',
                       str(arguments.threads)]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
            if done.returncode != 0:
                print(f'{section} {engine}: failed')
                continue
            result = results[f'{section} {engine}'] = json.loads(done.stdout)
            lines = result.pop('lines', [])
            print(f'{section} {engine}:', json.dumps(result))
            for line in lines:
                print('   effort {effort}: recall {recall:.4f}, {qps:.0f} searches/s'.format(**line))
            enough = [line for line in lines if line['recall'] >= WANTED]
            if enough and section in ('small', 'large'):
                print(f'   at recall {WANTED}: {max(line["qps"] for line in enough):.0f} searches/s')
            result['lines'] = lines
            sys.stdout.flush()
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1))


if __name__ == '__main__':
    main()
