#!/usr/bin/env python3
"""Approximate search for the nearest vectors: Telar's vector index and the libraries hnswlib, usearch and (exactly) NumPy, on
the same vectors. One run, answers compared.

    vector_index.py [--wheel WHEEL] [--section NAME,...] [--scale F] [--only ENGINE,...] [--threads N] [--json FILE]
                    [--python PYTHON] [--telar BINARY] [--folder FOLDER] [--sizes COUNTxDIMENSION,...] [--servers NAME,...]
                    [--rounds N] [--inserts SECONDS] [--recall R]

WHEEL is what `make wheel` leaves. Libraries are installed from the package registry into target/compare/vector_index, at
the versions below. Each engine runs in a process of its own.

Sections:
    small   1,000,000 vectors of 128 numbers, by cosine
    large   100,000 vectors of 768 numbers, by cosine
    filter  as large, the nearest among 1 %, 10 %, 50 % of the vectors (Telar alone)
    write   as large: vectors added one by one, each a transaction, and searches beside a writer (Telar alone)
    servers where it is named: Telar in process, and Telar, Neo4j and pgvector as servers (search_servers.py), for each of SIZES

Vectors have 32 directions of their own that are spread over all numbers, and some noise: as hard as embeddings are. For
each engine and effort: the part of the ten nearest that is found (recall), and searches a second on one processor, of
queries that are asked a hundred at a time. Telar is asked in Cypher, which the figure includes; scores are compared with
those of NumPy. The line that counts is the least effort with a recall of 0.95.

Section `servers`: BINARY is a release build of `telar`; stores lie below FOLDER for the while (4 GB for 100,000 x 768). Needs mvn
and Java, and the user `postgres` where it runs as root. All have 16 links and an effort of 100 when the index is made. Effort
of a search is Telar's option `effort` (144 at least, whatever it says), the number of nodes that Neo4j is asked for (ten of
them are kept; it has no other setting), and pgvector's `hnsw.ef_search`: the least of a list with a recall of R (0.95).
`neo4j` has the quantized index that is its default, and the nodes that it finds are ranked by their true scores; `neo4j-f32`
has an index without quantization. Searches are made one by one, and a hundred in a statement, by one client, in turns: medians
of the rounds. Then single vectors are inserted for SECONDS in each of three turns, each in a transaction of its own that waits
for the disk, and searched for. Processor time is the client's and the server's.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, threading, time
from pathlib import Path

import search_servers

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

SERVERS = ['telar', 'bolt', 'neo4j', 'neo4j-f32', 'pgvector']
SERVERS_EFFORTS = [10, 16, 24, 32, 40, 48, 64, 80, 96, 120, 144, 192, 288, 384, 576]
SERVERS_SIZES = '100000x128,100000x768'
ONE = """CALL db.index.vector.queryNodes('i', 10, $v, {effort: $effort}) YIELD node, score
RETURN node.id AS id, score"""
NEO4J_ONE = """CALL db.index.vector.queryNodes('i', $effort, $v) YIELD node, score
RETURN node.id AS id, score LIMIT 10"""
NEO4J_MANY = """UNWIND range(0, size($queries) - 1) AS q
CALL (q) { CALL db.index.vector.queryNodes('i', $effort, $queries[q]) YIELD node, score RETURN node, score LIMIT 10 }
RETURN q, node.id AS id, score"""
# Of a quantized index the best that are found are ranked by their true scores, without which recall stays below 0.95.
RANKED_ONE = """CALL db.index.vector.queryNodes('i', $effort, $v) YIELD node
WITH node, vector.similarity.cosine(node.v, $v) AS score ORDER BY score DESC LIMIT 10
RETURN node.id AS id, score"""
RANKED_MANY = """UNWIND range(0, size($queries) - 1) AS q
CALL (q) { WITH $queries[q] AS v CALL db.index.vector.queryNodes('i', $effort, v) YIELD node
           WITH node, vector.similarity.cosine(node.v, v) AS score ORDER BY score DESC LIMIT 10 RETURN node, score }
RETURN q, node.id AS id, score"""
PGVECTOR_ONE = 'SELECT id, 1 - (v <=> %(v)b) / 2 FROM doc ORDER BY v <=> %(v)b LIMIT 10'
PGVECTOR_MANY = """SELECT q - 1, id, 1 - distance / 2
FROM unnest(%(queries)b::vector[]) WITH ORDINALITY AS asked(w, q)
CROSS JOIN LATERAL (SELECT id, v <=> w AS distance FROM doc ORDER BY v <=> w LIMIT 10) AS found"""
INSERT = """CREATE (n:Doc {id: $id}) WITH n CALL db.create.setNodeVectorProperty(n, 'v', $v) RETURN count(*)"""


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


class Searched:
    """What the vectors are searched in: one search, many in a statement, and one insertion, which give rows."""

    def __init__(self, ask, texts, server, list_of=lambda vector: vector.tolist(), lists_of=lambda vectors: vectors.tolist()):
        self.ask, self.texts, self.server = ask, texts, server
        self.list_of, self.lists_of = list_of, lists_of
        self.effort, self.inserts = None, []

    def tuned(self, effort):
        self.effort = effort

    def one(self, vector):
        return self.ask(self.texts[0], v=self.list_of(vector), effort=self.effort)

    def many(self, vectors):
        return self.ask(self.texts[1], queries=self.lists_of(vectors), effort=self.effort)

    def insert(self, id, vector):
        self.ask(self.texts[2], id=id, v=self.list_of(vector))


class PgVector(Searched):
    def __init__(self, server):
        from pgvector import Vector
        super().__init__(server.ask, (PGVECTOR_ONE, PGVECTOR_MANY, 'INSERT INTO doc VALUES (%(id)s, %(v)b)'), server,
                         Vector, lambda vectors: [Vector(vector) for vector in vectors])

    def tuned(self, effort):
        super().tuned(effort)
        self.ask(f'SET hnsw.ef_search = {effort}')


def load_by_bolt(server, vectors):
    for first in range(0, len(vectors), 1000):
        server.ask("""UNWIND range(0, size($vectors) - 1) AS i CREATE (n:Doc {id: $first + i})
WITH n, i CALL db.create.setNodeVectorProperty(n, 'v', $vectors[i])""",
                   first=first, vectors=vectors[first:first + 1000].tolist())


def index_by_bolt(server, vectors, **settings):
    settings = {'vector.dimensions': vectors.shape[1], 'vector.similarity_function': 'cosine', 'vector.hnsw.m': 16,
                'vector.hnsw.ef_construction': 100, **settings}
    began = time.perf_counter()
    server.ask('CREATE VECTOR INDEX i FOR (n:Doc) ON n.v OPTIONS {indexConfig: $settings}', settings=settings)
    server.ask('CALL db.awaitIndexes(7200)')
    return time.perf_counter() - began


def telar_both(vectors, names, binary, folder, stack):
    """Telar in process and as a server: the same store, twice."""
    if not {'telar', 'bolt'} & set(names):
        return
    with search_servers.telar(binary, folder / 'served') as served:
        load_by_bolt(served, vectors)
        built = index_by_bolt(served, vectors)
    texts = (ONE, SEARCH, INSERT)
    if 'telar' in names:
        import telar
        shutil.copytree(folder / 'served', folder / 'here')
        db = telar.open(folder / 'here')
        stack.callback(db.close)
        yield 'telar', Searched(lambda text, **values: db.query(text, **values).tuples(), texts, None), built
    if 'bolt' in names:
        served = stack.enter_context(search_servers.telar(binary, folder / 'served'))
        yield 'bolt', Searched(served.ask, texts, served), built


def neo4j(vectors, name, folder, stack):
    server = stack.enter_context(search_servers.neo4j(folder / name))
    load_by_bolt(server, vectors)
    quantized = name == 'neo4j'
    built = index_by_bolt(server, vectors, **{'vector.quantization.enabled': quantized})
    texts = (RANKED_ONE, RANKED_MANY) if quantized else (NEO4J_ONE, NEO4J_MANY)
    return Searched(server.ask, (*texts, INSERT), server), built


def pgvector(vectors, folder, stack):
    server = stack.enter_context(search_servers.postgres(folder / 'pgvector'))
    # Whole vectors in the rows of the table, as they are in the index.
    server.ask(f'CREATE TABLE doc (id bigint PRIMARY KEY, v vector({vectors.shape[1]}))')
    server.ask('ALTER TABLE doc ALTER COLUMN v SET STORAGE PLAIN')
    with server.connection.cursor().copy('COPY doc FROM STDIN WITH (FORMAT BINARY)') as copy:
        copy.set_types(['int8', 'vector'])
        for id, vector in enumerate(vectors):
            copy.write_row((id, vector))
    began = time.perf_counter()
    server.ask('CREATE INDEX i ON doc USING hnsw (v vector_cosine_ops) WITH (m = 16, ef_construction = 100)')
    built = time.perf_counter() - began
    server.ask('VACUUM ANALYZE doc')
    return PgVector(server), built


def ids_of(rows, count):
    lists = [[] for _ in range(count)]
    for q, id, _ in rows:
        lists[q].append(id)
    return lists


def tune(name, searched, vectors, queries, wanted, least):
    """The least effort with that recall, or the greatest."""
    for effort in SERVERS_EFFORTS:
        searched.tuned(effort)
        found = []
        for first in range(0, len(queries), 100):
            found.extend(ids_of(searched.many(queries[first:first + 100]), len(queries[first:first + 100])))
        recall = sum(len(set(ids) & best) for ids, best in zip(found, wanted)) / NEAREST / len(wanted)
        print(f'   {name}: effort {effort}, recall {recall:.4f}', file=sys.stderr, flush=True)
        if recall >= least:
            break
    # One by one the answers are the same, and their scores those of NumPy.
    for query, ids in zip(queries[:20], found):
        rows = searched.one(query)
        expected = {id: (1 + float(vectors[id].astype('f8') @ query.astype('f8'))) / 2 for id, _ in rows}
        if {id for id, _ in rows} != set(ids):
            raise SystemExit(f'{name}: one by one the answer is another: {rows}, not {ids}')
        off = max(abs(score - expected[id]) for id, score in rows)
        if off > 1e-5:
            raise SystemExit(f'{name}: a score is {off} from what it should be')
    return recall


def insert_in_turns(engines, extra, first_id, seconds):
    """Insertions of each, in three turns; afterwards a search finds the last vector."""
    for name, searched in engines.items():
        searched.inserted = 0
    for _ in range(3):
        for name, searched in engines.items():
            began, before = time.perf_counter(), searched.inserted
            processor = search_servers.processor_s(searched.server.pid) if searched.server else 0
            processor += time.process_time()
            while time.perf_counter() < began + seconds and searched.inserted < len(extra):
                searched.insert(first_id + searched.inserted, extra[searched.inserted])
                searched.inserted += 1
            passed, count = time.perf_counter() - began, searched.inserted - before
            used = time.process_time() + (search_servers.processor_s(searched.server.pid) if searched.server else 0)
            searched.inserts.append((count / passed, (used - processor) / count * 1e3))
            last = searched.inserted - 1
            found = [id for id, _ in searched.one(extra[last])]
            if found[0] != first_id + last:
                print(f'   {name}: the last vector, {first_id + last}, is not the nearest one: {found}', file=sys.stderr)


def run_servers(arguments, size):
    count, dimension = map(int, size.split('x'))
    names = arguments.servers.split(',')
    vectors, queries = data(count + 60_000, dimension)
    vectors, extra = vectors[:count], vectors[count:]
    wanted, built, recalls, engines = truth(vectors, queries), {}, {}, {}
    with search_servers.folder_for_stores(arguments.folder) as (folder, stack):
        for name, searched, took in telar_both(vectors, names, arguments.telar, folder, stack):
            engines[name], built[name] = searched, took
        for name in names:
            if name in ('neo4j', 'neo4j-f32'):
                engines[name], built[name] = neo4j(vectors, name, folder, stack)
            elif name == 'pgvector':
                engines[name], built[name] = pgvector(vectors, folder, stack)
        print('   built in s:', json.dumps(built), file=sys.stderr, flush=True)
        for name, searched in engines.items():
            # The first search reads the graph from its file, and makes it where there is none.
            searched.tuned(SERVERS_EFFORTS[0])
            searched.one(queries[0])
            recalls[name] = tune(name, searched, vectors, queries, wanted, arguments.recall)

        def one_by_one(searched):
            def call(turn):
                for query in queries[turn % 5 * 100:][:100]:
                    searched.one(query)
            return call

        def at_once(searched):
            return lambda turn: searched.many(queries[turn % 5 * 100:][:100])
        singly = {name: (one_by_one(searched), searched.server) for name, searched in engines.items()}
        together = {name: (at_once(searched), searched.server) for name, searched in engines.items()}
        # Neo4j's program is compiled while it runs: some thousand searches.
        for name, (call, _) in singly.items():
            for turn in range(10 if 'neo4j' in name else 2):
                call(turn)
        singly = search_servers.in_turns(singly, arguments.rounds)
        together = search_servers.in_turns(together, arguments.rounds)
        if arguments.inserts:
            insert_in_turns(engines, extra, count, arguments.inserts)
        return {name: {'built_s': built[name], 'effort': searched.effort, 'recall': recalls[name], 'single': singly[name],
                       'hundred': together[name], 'inserts': [statistics.median(of) for of in zip(*searched.inserts)]}
                for name, searched in engines.items()}


def print_servers(size, result):
    print(f'{size}: searches a second, and how many times faster telar and bolt (Telar over Bolt) are than that')
    print(f'{"":10} {"build s":>8} {"effort":>6} {"recall":>7} | {"one by one":>10} {"telar":>6} {"bolt":>6} {"cpu ms":>7} '
          f'| {"a hundred":>10} {"telar":>6} {"bolt":>6} {"cpu ms":>7} | {"inserts/s":>9} {"telar":>6} {"bolt":>6} {"cpu ms":>7}')

    def times(of):
        return ' '.join(f'{of(result[to]) / of(figure):6.2f}' if to in result else f'{"":6}' for to in ('telar', 'bolt'))
    for name, figure in result.items():
        cells = [f'{name:10} {figure["built_s"]:8.1f} {figure["effort"]:6} {figure["recall"]:7.4f}']
        for kind in ('single', 'hundred'):
            passed, processor = figure[kind]
            rate = times(lambda one: 1 / one[kind][0])
            cells.append(f'{100 / passed:10.0f} {rate} {processor * 10:7.2f}')
        if figure['inserts']:
            rate, processor = figure['inserts']
            cells.append(f'{rate:9.0f} {times(lambda one: one["inserts"][0])} {processor:7.2f}')
        print(' | '.join(cells), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--wheel', type=Path)
    parser.add_argument('--python', help='an interpreter that has everything; nothing is installed')
    parser.add_argument('--section', default='small,large,filter,write')
    parser.add_argument('--only', default=','.join(ENGINES))
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--threads', type=int, default=os.cpu_count())
    parser.add_argument('--json', type=Path)
    parser.add_argument('--telar', type=Path, default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--folder', type=Path)
    parser.add_argument('--sizes', default=SERVERS_SIZES)
    parser.add_argument('--servers', default=','.join(SERVERS))
    parser.add_argument('--rounds', type=int, default=7)
    parser.add_argument('--inserts', type=float, default=5.0)
    parser.add_argument('--recall', type=float, default=WANTED)
    parser.add_argument('--child', nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        section, engine = arguments.child
        if section == 'servers':
            print(json.dumps(run_servers(arguments, engine)))
            return
        count, dimension = SIZES[section]
        run = {'filter': run_filter, 'write': run_write}.get(section, run_search)
        print(json.dumps(run(engine, int(count * arguments.scale), dimension, arguments.threads)))
        return
    wheel = arguments.wheel or next(iter(sorted((ROOT / 'target' / 'python' / 'wheels').glob('*.whl'))), None)
    if wheel is None and not arguments.python:
        parser.error('there is no wheel: make wheel')
    sections = arguments.section.split(',')
    packages = [*PACKAGES, *(search_servers.PACKAGES if 'servers' in sections else [])]
    python = arguments.python or search_servers.install(VENV, packages, wheel)
    results = {}
    for section in sections:
        if section == 'servers':
            for size in arguments.sizes.split(','):
                # The other options are those that were given.
                command = [python, __file__, *sys.argv[1:], '--child', section, size]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
                if done.returncode != 0:
                    print(f'{section} {size}: failed')
                    continue
                results[f'{section} {size}'] = json.loads(done.stdout.splitlines()[-1])
                print_servers(size, results[f'{section} {size}'])
            continue
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
