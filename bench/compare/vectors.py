#!/usr/bin/env python3
"""Exact search for the nearest vectors: Telar and others, on the same vectors. One run, answers compared.

    vectors.py [--wheel WHEEL] [--section NAME,...] [--scale F] [--rounds N] [--only ENGINE,...] [--json FILE]
               [--python PYTHON] [--telar BINARY] [--folder FOLDER] [--servers NAME,...]

WHEEL is what `make wheel` leaves. Engines are installed from the package registry into target/compare/vectors, at the
versions below. Each engine runs in a process of its own, bound to one processor; where one fails, the reason stands in
place of its figure.

Sections:
    exact   the 10 nearest of 100,000 vectors of 768 numbers by cosine, all of them looked at; beside it a copy of as many
            bytes in memory (which moves each twice)
    facts   the search of graphiti as it sends it, over 76,000 relationships with vectors of 2,560 numbers
    servers where it is named: the vectors of `exact` in Telar in process, in Telar and Neo4j over Bolt (search_servers.py),
            asked in turns with the same Cypher. BINARY is a release build of `telar`; stores lie below FOLDER for the while, and
            need about 3 GB. Time that passed comes first there; processor time is the client's and the server's. Needs mvn and Java

Figures are processor time, median of the rounds, which other programs on the machine disturb less; the time that passed
stands behind it.
"""
import argparse, json, os, shutil, statistics, subprocess, sys, time
from pathlib import Path

import search_servers

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / 'target' / 'compare' / 'vectors'
PACKAGES = ['numpy==2.4.6', 'pyarrow==26.0.1', 'duckdb==2.0.1', 'lancedb']
ENGINES = ['telar', 'numpy', 'duckdb', 'lancedb']
NEAREST = 10
EXACT = (100_000, 768)
FACTS = (76_000, 2_560)
CHUNKS = '''MATCH (c:Chunk) WITH c, vector.similarity.cosine(c.embedding, $v) AS score
ORDER BY score DESC LIMIT 10 RETURN c.id AS id, score'''
# graphiti_core/search/search_utils.py, edge_similarity_search, with one group.
GRAPHITI = '''MATCH (n:Entity)-[e:RELATES_TO]->(m:Entity) WHERE e.group_id IN $group_ids
WITH DISTINCT e, n, m, vector.similarity.cosine(e.fact_embedding, $search_vector) AS score
WHERE score > $min_score
RETURN e.uuid AS uuid, n.uuid AS source_node_uuid, m.uuid AS target_node_uuid, e.group_id AS group_id,
       e.name AS name, e.fact AS fact, properties(e) AS attributes
ORDER BY score DESC LIMIT $limit'''


class Taken:
    """Processor time and passed time of each round. The first one warms up."""

    def __init__(self):
        self.all = []

    def __enter__(self):
        self.before = time.process_time(), time.perf_counter()

    def __exit__(self, *_):
        self.all.append((time.process_time() - self.before[0], time.perf_counter() - self.before[1]))

    def figure(self, size):
        cpu, passed = (statistics.median(one) for one in zip(*self.all[1:]))
        return {'cpu_s': cpu, 's': passed, 'bytes': size}


def vectors(count, dimension):
    import numpy as np
    random = np.random.default_rng(7)
    return random.standard_normal((count, dimension), dtype=np.float32), random.standard_normal((8, dimension), dtype=np.float32)


def table_of(all_of_them, **columns):
    import pyarrow as pa
    flat = pa.array(all_of_them.reshape(-1))
    return pa.table({**columns, 'embedding': pa.FixedSizeListArray.from_arrays(flat, all_of_them.shape[1])})


def nearest(all_of_them, query):
    """The answer: similarities as Cypher has them, from 0 to 1, in 64 bits."""
    import numpy as np
    wide = all_of_them.astype(np.float64)
    query = query.astype(np.float64)
    cosine = wide @ query / np.sqrt((wide * wide).sum(axis=1) * (query @ query))
    best = np.argsort(-cosine, kind='stable')[:NEAREST]
    return [int(n) for n in best], [(1 + float(cosine[n])) / 2 for n in best]


def telar_exact(chunks, queries):
    import numpy as np
    import telar
    db = telar.open()
    began = time.perf_counter()
    db.create_nodes('Chunk', table_of(chunks, id=np.arange(len(chunks))))
    print(f'  telar: loaded in {time.perf_counter() - began:.1f} s', file=sys.stderr)
    lists = [query.astype(np.float64).tolist() for query in queries]
    return lambda n: [row[0] for row in db.query(CHUNKS, v=lists[n]).tuples()]


def numpy_exact(chunks, queries):
    import numpy as np

    def ask(n):
        norms = np.sqrt(np.einsum('ij,ij->i', chunks, chunks))
        scores = chunks @ queries[n] / norms
        best = np.argpartition(-scores, NEAREST)[:NEAREST]
        return [int(x) for x in best[np.argsort(-scores[best])]]
    return ask


def duckdb_exact(chunks, queries):
    import duckdb
    import numpy as np
    connection = duckdb.connect()
    connection.execute('SET threads = 1')
    rows = table_of(chunks, id=np.arange(len(chunks)))  # noqa: F841: found by its name
    dimension = chunks.shape[1]
    connection.execute(f'CREATE TABLE chunk AS SELECT id, embedding::FLOAT[{dimension}] AS embedding FROM rows')
    text = (f'SELECT id FROM chunk ORDER BY array_cosine_similarity(embedding, ?::FLOAT[{dimension}]) DESC '
            f'LIMIT {NEAREST}')
    return lambda n: [row[0] for row in connection.execute(text, [queries[n].tolist()]).fetchall()]


def lancedb_exact(chunks, queries):
    import lancedb
    import numpy as np
    import tempfile
    folder = tempfile.TemporaryDirectory()
    table = lancedb.connect(folder.name).create_table('chunk', table_of(chunks, id=np.arange(len(chunks))))

    def ask(n):
        found = table.search(queries[n], vector_column_name='embedding').distance_type('cosine').limit(NEAREST)
        return found.select(['id', '_distance']).to_arrow()['id'].to_pylist()
    ask.folder = folder
    return ask


def run_exact(engine, scale, rounds):
    import numpy as np
    count, dimension = int(EXACT[0] * scale), EXACT[1]
    chunks, queries = vectors(count, dimension)
    if engine == 'copy':
        target = np.empty_like(chunks)

        def copy(_):
            np.copyto(target, chunks)
        ask, wanted = copy, None
    else:
        wanted = [nearest(chunks, query)[0] for query in queries]
        ask = globals()[f'{engine}_exact'](chunks, queries)
    taken = Taken()
    for turn in range(rounds + 1):
        n = turn % len(queries)
        with taken:
            found = ask(n)
        if wanted and found != wanted[n]:
            raise SystemExit(f'the answers differ: {found}, expected {wanted[n]}')
    return taken.figure(chunks.nbytes)


def run_facts(engine, scale, rounds):
    import numpy as np
    import telar
    count, dimension = int(FACTS[0] * scale), FACTS[1]
    facts, queries = vectors(count, dimension)
    nodes = max(count // 4, 1)
    uuids = [f'entity-{n}' for n in range(nodes)]
    random = np.random.default_rng(8)
    ends = [[uuids[n] for n in random.integers(0, nodes, count)] for _ in range(2)]
    db = telar.open()
    import pyarrow as pa
    rows = table_of(facts, src=ends[0], dst=ends[1], uuid=[f'fact-{n}' for n in range(count)], group_id=['g'] * count,
                    name=['KNOWS'] * count, fact=[f'Fact number {n}.' for n in range(count)])
    rows = rows.rename_columns([{'embedding': 'fact_embedding'}.get(name, name) for name in rows.column_names])
    with db.load(unique=['Entity.uuid']) as load:
        load.nodes('Entity', pa.table({'uuid': uuids}))
        load.relationships('RELATES_TO', rows, src='src', dst='dst', label='Entity')
    taken = Taken()
    for turn in range(rounds + 1):
        query = queries[turn % len(queries)]
        best, scores = nearest(facts, query)
        with taken:
            found = db.query(GRAPHITI, group_ids=['g'], search_vector=query.astype(np.float64).tolist(),
                             min_score=(scores[-1] + scores[-2]) / 2 - 1e-3, limit=NEAREST).tuples()
        if [row[0] for row in found] != [f'fact-{n}' for n in best][:len(found)] or not found:
            raise SystemExit('the answers differ')
    return taken.figure(facts.nbytes)


def load_by_bolt(server, chunks):
    server.ask('CREATE CONSTRAINT FOR (c:Chunk) REQUIRE c.id IS UNIQUE')
    for first in range(0, len(chunks), 1000):
        server.ask("""UNWIND range(0, size($vectors) - 1) AS i CREATE (c:Chunk {id: $first + i})
WITH c, i CALL db.create.setNodeVectorProperty(c, 'embedding', $vectors[i])""",
                   first=first, vectors=chunks[first:first + 1000].tolist())


def run_servers(arguments, engines):
    import numpy as np
    chunks, queries = vectors(int(EXACT[0] * arguments.scale), EXACT[1])
    wanted = [nearest(chunks, query) for query in queries]
    lists = [query.astype(np.float64).tolist() for query in queries]
    with search_servers.folder_for_stores(arguments.folder) as (folder, stack):
        with search_servers.telar(arguments.telar, folder / 'served') as served:
            load_by_bolt(served, chunks)
        calls = {}
        if 'telar' in engines:
            import telar
            shutil.copytree(folder / 'served', folder / 'here')
            db = telar.open(folder / 'here')
            stack.callback(db.close)
            calls['telar'] = lambda v: db.query(CHUNKS, v=v).tuples(), None
        served = stack.enter_context(search_servers.telar(arguments.telar, folder / 'served'))
        calls['bolt'] = lambda v: served.ask(CHUNKS, v=v), served
        neo4j = stack.enter_context(search_servers.neo4j(folder / 'neo4j'))
        load_by_bolt(neo4j, chunks)
        calls['neo4j'] = lambda v: neo4j.ask(CHUNKS, v=v), neo4j

        def asked(ask):
            def call(turn):
                found = ask(lists[turn % len(lists)])
                ids, scores = wanted[turn % len(lists)]
                # Neo4j computes in 32 bits: neighbours in the answer may be swapped where their scores are the same in them.
                if len(found) != len(ids) or any(abs(row[1] - score) > 1e-6 for row, score in zip(found, scores)):
                    raise SystemExit(f'the answers differ: {found}, expected {ids} {scores}')
            return call
        calls = {name: (asked(ask), server) for name, (ask, server) in calls.items()}
        # The servers' programs are to be compiled and their memory filled.
        search_servers.in_turns(calls, 2)
        return search_servers.in_turns(calls, arguments.rounds)


def print_servers(figures):
    """Milliseconds that passed and those of processors, and how many times faster telar and bolt are."""
    print(f'{"servers":8} {"ms":>9} {"telar":>8} {"bolt":>8} | {"cpu ms":>9} {"telar":>8} {"bolt":>8}')
    for name, of in figures.items():
        cells = []
        for at in (0, 1):
            times = [f'{of[at] / figures[to][at]:8.2f}' if to in figures else f'{"":8}' for to in ('telar', 'bolt')]
            cells.append(' '.join([f'{of[at] * 1e3:9.1f}', *times]))
        print(f'{name:8}', ' | '.join(cells), flush=True)


def child(arguments):
    if arguments.child[0] == 'servers':
        print(json.dumps(run_servers(arguments, arguments.child[1].split(','))))
        return
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[0]})
    run = {'exact': run_exact, 'facts': run_facts}[arguments.child[0]]
    print(json.dumps(run(arguments.child[1], arguments.scale, arguments.rounds)))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--wheel', type=Path)
    parser.add_argument('--section', default='exact,facts')
    parser.add_argument('--only', default=','.join(ENGINES))
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--rounds', type=int, default=9)
    parser.add_argument('--json', type=Path)
    parser.add_argument('--python', help='an interpreter that has everything; nothing is installed')
    parser.add_argument('--telar', type=Path, default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--servers', default='telar,bolt,neo4j', help='without telar: no wheel is needed')
    parser.add_argument('--folder', type=Path)
    parser.add_argument('--child', nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        return child(arguments)
    wheels = sorted((ROOT / 'target' / 'python' / 'wheels').glob('telar-*.whl'))
    wheel = arguments.wheel or (wheels[-1] if wheels else None)
    if wheel is None and not arguments.python:
        raise SystemExit('there is no wheel: run `make wheel`, or name one with --wheel')
    sections = arguments.section.split(',')
    packages = [*PACKAGES, *(search_servers.PACKAGES if 'servers' in sections else [])]
    python, figures = arguments.python or search_servers.install(VENV, packages, wheel), {}
    for section in sections:
        engines = ['copy', *arguments.only.split(',')] if section == 'exact' else ['telar']
        engines = [arguments.servers] if section == 'servers' else engines
        for engine in engines:
            command = [python, __file__, '--child', section, engine, '--scale', str(arguments.scale),
                       '--rounds', str(arguments.rounds), '--telar', arguments.telar]
            command += ['--folder', arguments.folder] if arguments.folder else []
            # One thread for those who take a count of them from the environment.
            limits = {name: '1' for name in ('OMP_NUM_THREADS', 'OPENBLAS_NUM_THREADS', 'LANCE_CPU_THREADS')}
            done = subprocess.run(command, stdout=subprocess.PIPE, env={**os.environ, **limits}, text=True)
            lines = done.stdout.splitlines()
            figure = json.loads(lines[-1]) if done.returncode == 0 else None
            figures[f'{section}/{engine}'] = figure
            if figure is None:
                print(f'{section:6} {engine:8} failed')
                continue
            if section == 'servers':
                print_servers(figure)
                continue
            rate = figure['bytes'] / figure['cpu_s'] / 1e9
            ratio = figure['cpu_s'] / figures[f'{section}/telar']['cpu_s'] if figures.get(f'{section}/telar') else 0
            print(f'{section:6} {engine:8} {figure["cpu_s"] * 1e3:9.1f} ms  {rate:6.2f} GB/s  ({figure["s"] * 1e3:.1f} ms passed)'
                  + (f'  {ratio:6.2f} x telar' if ratio else ''), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(figures, indent=1))


if __name__ == '__main__':
    main()
