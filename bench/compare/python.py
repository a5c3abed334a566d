#!/usr/bin/env python3
"""Telar and other engines as Python programs use them: loads, points, frames, graphs. One run, answers compared.

    python.py [--wheel WHEEL] [--telar BINARY] [--section NAME,...] [--scale F] [--rounds N] [--only ENGINE,...] [--json FILE]

WHEEL is what `make wheel` leaves; BINARY (`cargo build --release -p telar-server`) is asked by Neo4j's driver, which
is what a program would use without the package. Engines and libraries are installed from the package registry into
target/compare/python, at the versions below. Each engine runs in a process of its own; where one fails, the reason
stands in place of its figure.

Sections:
    load    100,000 persons and 2,000,000 relationships with properties and a unique key, into a folder: processor
            seconds of the whole process from CSV, Parquet and an Arrow table, until it is closed
    point   one person by key, one person created: microseconds, median, in a folder (asynchronous, and durable where
            the engine has the difference)
    frames  10,000,000 rows of two columns to Arrow, beside a copy of two such columns in memory, and 1,000,000 rows by
            Neo4j's driver from a server: seconds
    shared  the points of Telar in the process that has the folder open, and in another one beside it: microseconds,
            median; 10,000,000 stored rows to Arrow in both: seconds
    graphs  1,000,000 relationships as a NetworkX graph and as an edge index: seconds, beside the same by Neo4j's driver
    programs  PageRank over 1,000,000 relationships, 20 steps, as a vertex program in Python and by the engine: seconds
"""
import argparse, json, resource, socket, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / 'target' / 'compare' / 'python'
PACKAGES = ['numpy==2.4.6', 'pandas==3.1.1', 'polars==2.1.0', 'pyarrow==26.0.1', 'networkx==3.6.1', 'neo4j==6.4.1',
            'ladybug==0.22.0', 'neug==0.3.0', 'kuzu==0.11.3', 'duckdb==2.0.1']
ENGINES = ['telar', 'ladybug', 'kuzu', 'neug', 'duckdb']
PERSONS, KNOWS, ROWS, EDGES = 100_000, 2_000_000, 10_000_000, 1_000_000
NODE_TABLE = 'CREATE NODE TABLE Person(id INT64, name STRING, age INT64, city STRING, PRIMARY KEY(id))'
REL_TABLE = 'CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64, weight DOUBLE)'


def cpu_s():
    """Processor seconds of this process, and of children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


def people(scale):
    """Persons and whom they know: power-law degrees, from a fixed seed."""
    import numpy as np
    import pyarrow as pa
    random = np.random.default_rng(7)
    persons, knows = int(PERSONS * scale), int(KNOWS * scale)
    cities = np.array(['Ulm', 'Bonn', 'Oslo', 'Lima', 'Kyoto'])
    person = pa.table({
        'id': np.arange(persons), 'name': [f'Person {n}' for n in range(persons)],
        'age': random.integers(0, 100, persons), 'city': cities[random.integers(0, 5, persons)]})
    ends = (persons * random.random((2, knows)) ** 3).astype(np.int64)
    know = pa.table({
        'from': ends[0], 'to': random.permutation(persons)[ends[1]], 'since': random.integers(1950, 2026, knows),
        'weight': random.random(knows).round(6)})
    return person, know


# --- engines -------------------------------------------------------------------------------------------------------


class Telar:
    def __init__(self, folder, durability='full', import_folder='/'):
        import telar
        self.db = telar.open(folder / 'people.telar', durability=durability, import_folder=import_folder)

    def load(self, source, person, know, data):
        if source == 'arrow':
            with self.db.load(unique=['Person.id']) as load:
                load.nodes('Person', person)
                load.relationships('KNOWS', know, src='from', dst='to', label='Person')
            return
        self.db.query('CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE')
        self.db.query(f"COPY Person FROM '{data}/person.{source}'")
        self.db.query(f"COPY KNOWS FROM '{data}/know.{source}' (from = 'Person', to = 'Person')")

    def schema(self):
        self.db.query('CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE')

    def counts(self):
        text = 'MATCH (p:Person) WITH count(p) AS n, sum(p.age) AS a MATCH ()-[k:KNOWS]->() RETURN n, a, count(k), sum(k.since)'
        return self.db.query(text).tuples()[0]

    def read(self, key):
        return self.db.query('MATCH (p:Person {id: $id}) RETURN p.name AS name', id=key).value()

    def create(self, key):
        self.db.query("CREATE (:Person {id: $id, name: 'New', age: 30, city: 'Ulm'})", id=key)

    def close(self):
        self.db.close()


class Kuzu:
    """Kuzu, and Ladybug, which continues it with the same interface."""
    module = 'kuzu'

    def __init__(self, folder):
        module = __import__(self.module)
        self.database = module.Database(str(folder / 'people.db'))
        self.connection = module.Connection(self.database)

    def schema(self):
        self.connection.execute(NODE_TABLE)
        self.connection.execute(REL_TABLE)
        self.by_key = self.connection.prepare('MATCH (p:Person {id: $id}) RETURN p.name')
        self.new = self.connection.prepare("CREATE (:Person {id: $id, name: 'New', age: 30, city: 'Ulm'})")

    def load(self, source, person, know, data):
        self.schema()
        if source == 'arrow':
            # Tables are found by the names of variables.
            self.connection.execute('COPY Person FROM person')
            self.connection.execute('COPY KNOWS FROM know')
            return
        header = ' (header=true)' if source == 'csv' else ''
        self.connection.execute(f'COPY Person FROM "{data}/person.{source}"{header}')
        self.connection.execute(f'COPY KNOWS FROM "{data}/know.{source}"{header}')

    def counts(self):
        one = lambda text: self.connection.execute(text).get_all()[0]
        return (*one('MATCH (p:Person) RETURN count(p), sum(p.age)'), *one('MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)'))

    def read(self, key):
        result = self.connection.execute(self.by_key, {'id': key})
        row = result.get_next()
        result.close()
        return row[0]

    def create(self, key):
        self.connection.execute(self.new, {'id': key}).close()

    def close(self):
        self.connection.close()
        self.database.close()


class Ladybug(Kuzu):
    module = 'ladybug'


class NeuG:
    def __init__(self, folder):
        import logging
        logging.disable(logging.INFO)
        import neug
        self.database = neug.Database(str(folder / 'people.neug'))
        self.connection = self.database.connect()

    def schema(self):
        self.connection.execute(NODE_TABLE)
        self.connection.execute(REL_TABLE)

    def load(self, source, person, know, data):
        self.schema()
        if source == 'arrow':
            raise NotImplementedError('takes no Arrow table')
        csv = 'header=true, delim=","' if source == 'csv' else ''
        self.connection.execute(f'COPY Person FROM "{data}/person.{source}"' + (f' ({csv})' if csv else ''))
        options = ', '.join(filter(None, ['from="Person", to="Person"', csv]))
        self.connection.execute(f'COPY KNOWS FROM "{data}/know.{source}" ({options})')

    def counts(self):
        one = lambda text: list(next(iter(self.connection.execute(text))))
        return (*one('MATCH (p:Person) RETURN count(p), sum(p.age)'), *one('MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)'))

    def read(self, key):
        return next(iter(self.connection.execute('MATCH (p:Person {id: $id}) RETURN p.name', parameters={'id': key})))[0]

    def create(self, key):
        text = "CREATE (:Person {id: $id, name: 'New', age: 30, city: 'Ulm'})"
        self.connection.execute(text, parameters={'id': key})

    def close(self):
        self.connection.close()
        self.database.close()


class DuckDb:
    """A database of tables, with the key and the references that a graph implies."""

    def __init__(self, folder):
        import duckdb
        self.connection = duckdb.connect(str(folder / 'people.duckdb'))

    def schema(self):
        self.connection.execute('CREATE TABLE Person(id BIGINT PRIMARY KEY, name VARCHAR, age BIGINT, city VARCHAR)')
        self.connection.execute('CREATE TABLE KNOWS("from" BIGINT REFERENCES Person(id), "to" BIGINT REFERENCES Person(id), '
                                'since BIGINT, weight DOUBLE)')

    def load(self, source, person, know, data):
        self.schema()
        reads = {'csv': "read_csv('{}')", 'parquet': "read_parquet('{}')"}
        for name, rows in (('Person', person), ('KNOWS', know)):
            text = 'rows' if source == 'arrow' else reads[source].format(data / f"{'person' if name == 'Person' else 'know'}.{source}")
            self.connection.execute(f'INSERT INTO {name} SELECT * FROM {text}')

    def counts(self):
        one = lambda text: self.connection.execute(text).fetchone()
        return (*one('SELECT count(*), sum(age) FROM Person'), *one('SELECT count(*), sum(since) FROM KNOWS'))

    def read(self, key):
        return self.connection.execute('SELECT name FROM Person WHERE id = ?', [key]).fetchone()[0]

    def create(self, key):
        self.connection.execute("INSERT INTO Person VALUES (?, 'New', 30, 'Ulm')", [key])

    def close(self):
        self.connection.close()


CLASSES = {'telar': Telar, 'ladybug': Ladybug, 'kuzu': Kuzu, 'neug': NeuG, 'duckdb': DuckDb}

# --- what runs in a process of its own -----------------------------------------------------------------------------


def run_load(engine, source, data, folder):
    import pyarrow.parquet as parquet
    person, know = (parquet.read_table(data / f'{name}.parquet') for name in ('person', 'know'))
    expected = json.loads((data / 'counts.json').read_text())
    peer = CLASSES[engine](folder)
    begun, cpu = time.monotonic(), cpu_s()
    peer.load(source, person, know, data)
    peer.close()
    figure = {'cpu_s': cpu_s() - cpu, 's': time.monotonic() - begun}
    peer = CLASSES[engine](folder)
    found = [int(n) for n in peer.counts()]
    if found != expected:
        raise SystemExit(f'the answers differ: {found}, expected {expected}')
    return figure


def median_us(act, seconds=1.0):
    taken, begun = [], time.perf_counter()
    while time.perf_counter() - begun < seconds or len(taken) < 50:
        before = time.perf_counter_ns()
        act()
        taken.append(time.perf_counter_ns() - before)
    return statistics.median(taken) / 1e3


def run_point(engine, durability, data, folder):
    import random
    import pyarrow.parquet as parquet
    import pyarrow as pa
    person = parquet.read_table(data / 'person.parquet')
    options = {'durability': durability} if engine == 'telar' else {}
    peer = CLASSES[engine](folder, **options)
    if engine == 'telar':
        peer.db.create_nodes('Person', person, unique=['Person.id'])
    elif engine == 'neug':
        peer.schema()
        peer.connection.execute(f'COPY Person FROM "{data}/person.csv" (header=true, delim=",")')
    elif engine == 'duckdb':
        peer.schema()
        rows = person
        peer.connection.execute('INSERT INTO Person SELECT * FROM rows')
    else:
        peer.schema()
        peer.connection.execute('COPY Person FROM person')
    keys = random.Random(7).choices(range(person.num_rows), k=1 << 16)
    for key in keys[:100]:
        if peer.read(key) != f'Person {key}':
            raise SystemExit('the answers differ')
    each, new = iter(keys * 1000), iter(range(10**9, 2 * 10**9))
    figures = {'read_us': median_us(lambda: peer.read(next(each))), 'insert_us': median_us(lambda: peer.create(next(new)))}
    last = next(new) - 1
    if peer.read(last) != 'New':
        raise SystemExit('what was created is not there')
    peer.close()
    return figures


class Server:
    """A Telar server in memory, for Neo4j's driver."""

    def __init__(self, binary):
        with socket.socket() as free:
            free.bind(('127.0.0.1', 0))
            self.port = free.getsockname()[1]
        self.process = subprocess.Popen([binary, 'serve', '--memory', '--no-auth', '--no-http', '--bolt', f'127.0.0.1:{self.port}'],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def __enter__(self):
        from neo4j import GraphDatabase
        for _ in range(100):
            try:
                self.driver = GraphDatabase.driver(f'bolt://127.0.0.1:{self.port}')
                self.driver.verify_connectivity()
                return self.driver
            except Exception:  # noqa: BLE001: it is not up yet
                time.sleep(0.1)
        raise SystemExit('telar serve did not start')

    def __exit__(self, *_):
        self.driver.close()
        self.process.kill()
        self.process.wait()


def seconds(act, rounds):
    taken, result = [], None
    for _ in range(rounds):
        before = time.perf_counter()
        result = act()
        taken.append(time.perf_counter() - before)
    return statistics.median(taken), result


TWO_COLUMNS = 'UNWIND range(1, $rows) AS n RETURN n, n * 0.5 AS half'
STORED = 'MATCH (p:Row) RETURN p.n AS n, p.half AS half'


def run_frames(binary, scale, rounds):
    import numpy as np
    import telar
    rows = int(ROWS * scale)
    db = telar.open()
    figures = {}
    ints, floats = np.arange(rows), np.arange(rows) * 0.5
    figures['copy'], _ = seconds(lambda: (ints.copy(), floats.copy()), rounds)
    db.create_nodes('Row', {'n': ints, 'half': floats} if rows < 1000 else __import__('pyarrow').table({'n': ints, 'half': floats}))
    figures['stored: query'], result = seconds(lambda: db.query(STORED), rounds)
    figures['to_arrow'], table = seconds(result.to_arrow, rounds)
    if table.num_rows != rows or __import__('pyarrow.compute').compute.sum(table['n']).as_py() != rows * (rows - 1) // 2:
        raise SystemExit('the answers differ')
    figures['query and to_arrow'], _ = seconds(lambda: db.query(STORED).to_arrow(), rounds)
    figures['counted: query and to_arrow'], _ = seconds(lambda: db.query(TWO_COLUMNS, rows=rows).to_arrow(), rounds)
    few = rows // 10
    with Server(binary) as driver:
        def ask():
            records, _, _ = driver.execute_query(TWO_COLUMNS, rows=few)
            return len(records)
        taken, count = seconds(ask, rounds)
        if count != few:
            raise SystemExit('the answers differ')
        figures['driver, ten times a tenth'] = taken * 10
    return figures


HOLDER = """
import sys, telar
folder, durability = sys.argv[1:]
with telar.open(folder, durability=durability) as db:
    print('open', flush=True)
    sys.stdin.read()
"""


def run_shared(durability, scale, rounds, folder):
    import numpy as np
    import pyarrow as pa
    import telar
    figures, rows, path = {}, int(ROWS * scale), folder / 'shared.telar'
    with telar.open(path, durability=durability) as db:
        persons = int(PERSONS * scale)
        db.create_nodes('Person', pa.table({'id': np.arange(persons)}), unique=['Person.id'])
        db.create_nodes('Row', pa.table({'n': np.arange(rows), 'half': np.arange(rows) * 0.5}))
    new = iter(range(10**9, 2 * 10**9))

    def measure(who):
        with telar.open(path, durability=durability) as db:
            if db.is_owner != (who == 'owner'):
                raise SystemExit(f'this process is not {who}')
            read = lambda: db.query('MATCH (p:Person {id: $id}) RETURN p.id AS id', id=7).value()
            if read() != 7:
                raise SystemExit('the answers differ')
            figures[f'{who}: read_us'] = median_us(read)
            figures[f'{who}: insert_us'] = median_us(lambda: db.query('CREATE (:Person {id: $id})', id=next(new)))
            figures[f'{who}: query and to_arrow'], table = seconds(lambda: db.query(STORED).to_arrow(), rounds)
            if pa.compute.sum(table['n']).as_py() != rows * (rows - 1) // 2:
                raise SystemExit('the answers differ')

    import pyarrow.compute
    measure('owner')
    holder = subprocess.Popen([sys.executable, '-c', HOLDER, path, durability], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    holder.stdout.readline()
    measure('guest')
    holder.stdin.close()
    holder.wait()
    return figures


GRAPH = 'MATCH (a:N)-[r:TO]->(b:N) RETURN a, r, b'
ENDS = 'MATCH (a:N)-[:TO]->(b:N) RETURN id(a) AS a, id(b) AS b'


def random_graph(nodes, edges):
    """A database in memory, and a table of its relationships."""
    import numpy as np
    import pyarrow as pa
    import telar
    random = np.random.default_rng(7)
    node = pa.table({'id': np.arange(nodes)})
    edge = pa.table({'a': random.integers(0, nodes, edges), 'b': random.integers(0, nodes, edges), 'w': random.random(edges)})
    db = telar.open()
    with db.load(unique=['N.id']) as load:
        load.nodes('N', node)
        load.relationships('TO', edge, src='a', dst='b', label='N')
    return db, edge


def run_programs(_, scale, rounds):
    import numpy as np
    steps = 20

    def arrays(step, score, told, degrees):
        if step > 0:
            score = 0.15 / len(score) + 0.85 * (told + score[degrees == 0].sum() / len(score))
        return score, score / np.maximum(degrees, 1), degrees > 0

    def values(vertex, messages):
        if vertex.step > 0:
            vertex.value = 0.15 / vertex.count + 0.85 * (sum(messages) + vertex.aggregated / vertex.count)
        if vertex.degree > 0:
            vertex.scatter(vertex.value / vertex.degree)
        vertex.aggregate(vertex.value if vertex.degree == 0 else 0.0)

    figures = {}
    for name, size in (('', scale), (', a tenth', scale / 10)):
        edges = int(EDGES * size)
        db, _ = random_graph(edges // 10, edges)
        init = 10 / edges
        ways = {
            'engine': lambda: db.algo.page_rank(max_iterations=steps, tolerance=0),
            'program of arrays, no step': lambda: db.algo.vertex_program(lambda *all: all[1], takes='numpy', init=init),
            'program of arrays': lambda: db.algo.vertex_program(arrays, takes='numpy', init=init, max_iterations=steps + 1),
        }
        if name:
            # Of all, they would take ten times as long.
            ways['program of values'] = lambda: db.algo.vertex_program(values, init=init, max_iterations=steps + 1)
        expected = None
        for way, act in ways.items():
            figures[way + name], result = seconds(act, rounds)
            if 'no step' in way:
                continue
            scores = result.to_numpy()
            scores = list(scores.values())[1][np.argsort(scores['node'])]
            if expected is not None and not np.allclose(scores, expected, atol=1e-12):
                raise SystemExit('the answers differ')
            expected = scores
    return figures


def run_graphs(binary, scale, rounds):
    import numpy as np
    edges, nodes = int(EDGES * scale), int(EDGES * scale) // 10
    db, edge = random_graph(nodes, edges)
    figures = {}
    figures['NetworkX'], graph = seconds(lambda: db.query(GRAPH).to_networkx(), rounds)
    figures['edge index'], (index, ids) = seconds(lambda: db.query(ENDS).edge_index(), rounds)
    if graph.number_of_edges() != edges or index.shape != (2, edges):
        raise SystemExit('the answers differ')
    with Server(binary) as driver:
        text = 'UNWIND $rows AS row CREATE (:N {id: row})'
        for at in range(0, nodes, 10_000):
            driver.execute_query(text, rows=list(range(at, min(at + 10_000, nodes))))
        driver.execute_query('CREATE CONSTRAINT FOR (n:N) REQUIRE n.id IS UNIQUE')
        text = 'UNWIND $rows AS row MATCH (a:N {id: row[0]}), (b:N {id: row[1]}) CREATE (a)-[:TO {w: row[2]}]->(b)'
        rows = list(zip(*(edge[name].to_pylist() for name in 'abw')))
        for at in range(0, edges, 20_000):
            driver.execute_query(text, rows=rows[at:at + 20_000])

        def networkx():
            import networkx as nx
            graph = nx.MultiDiGraph()
            for a, r, b in driver.execute_query(GRAPH).records:
                graph.add_node(a.element_id, labels=a.labels, **a)
                graph.add_node(b.element_id, labels=b.labels, **b)
                graph.add_edge(a.element_id, b.element_id, r.element_id, type=r.type, **r)
            return graph

        def ends():
            records = driver.execute_query(ENDS).records
            return np.unique(np.array([tuple(r) for r in records]).T, return_inverse=True)
        figures['NetworkX by the driver'], graph = seconds(networkx, 1)
        figures['edge index by the driver'], _ = seconds(ends, 1)
        if graph.number_of_edges() != edges:
            raise SystemExit('the answers differ')
    return figures


# --- the run -------------------------------------------------------------------------------------------------------


def install_packages(wheel=None):
    """Engines and libraries at their versions, and the package of Telar, if it is given."""
    if not VENV.exists():
        subprocess.run([sys.executable, '-m', 'venv', VENV], check=True)
    pip = [VENV / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*pip, *PACKAGES], check=True)
    if wheel:
        subprocess.run([*pip, '--force-reinstall', '--no-deps', wheel], check=True)


def in_process(*arguments):
    """The figures of a part, or why there are none."""
    done = subprocess.run([VENV / 'bin' / 'python', __file__, '--part', json.dumps(arguments)], capture_output=True, text=True)
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    lines = (done.stderr.strip() or f'ended with {done.returncode}').splitlines()
    told = [line for line in lines if 'rror' in line or 'xception' in line or 'differ' in line]
    return {'fails': (told or lines)[-1].strip()[:100].replace('|', '/')}


def part(name, *arguments):
    if name in ('load', 'point'):
        engine, how, data = arguments
        with tempfile.TemporaryDirectory(dir=Path(data).parent) as folder:
            return {'load': run_load, 'point': run_point}[name](engine, how, Path(data), Path(folder))
    if name == 'shared':
        with tempfile.TemporaryDirectory() as folder:
            return run_shared(*arguments, Path(folder))
    runs = {'frames': run_frames, 'graphs': run_graphs, 'programs': run_programs, 'people': make_people}
    return runs[name](*arguments)


def make_people(data, scale):
    import pyarrow.compute as compute
    import pyarrow.csv as csv
    import pyarrow.parquet as parquet
    person, know = people(scale)
    for name, table in (('person', person), ('know', know)):
        csv.write_csv(table, f'{data}/{name}.csv')
        parquet.write_table(table, f'{data}/{name}.parquet')
    counts = [person.num_rows, compute.sum(person['age']).as_py(), know.num_rows, compute.sum(know['since']).as_py()]
    Path(data, 'counts.json').write_text(json.dumps(counts))
    return {}


def shown(figure):
    return figure if isinstance(figure, str) else f'{figure:.3g}'


def table(title, rows, columns):
    print(f'\n{title}\n\n| | ' + ' | '.join(columns) + ' |\n|---|' + '---:|' * len(columns))
    for name, figures in rows.items():
        cells = [shown(figures.get(column, figures.get('fails', ''))) for column in columns]
        print(f'| {name} | ' + ' | '.join(cells) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    wheels = sorted((ROOT / 'target' / 'python' / 'wheels').glob('telar-*.whl'))
    parser.add_argument('--wheel', type=Path, default=wheels[-1] if wheels else None)
    parser.add_argument('--telar', type=Path, default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--section', default='load,point,shared,frames,graphs,programs')
    parser.add_argument('--scale', type=float, default=1.0)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default=','.join(ENGINES))
    parser.add_argument('--json', type=Path)
    parser.add_argument('--part', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps(part(*json.loads(options.part))))
        return
    if options.wheel is None:
        parser.error('no wheel: run `make wheel`, or say --wheel')
    install_packages(options.wheel)
    engines, found = options.only.split(','), {}
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder, 'data')
        data.mkdir()
        made = in_process('people', str(data), options.scale)
        if made:
            sys.exit(made['fails'])
        for section in options.section.split(','):
            if section == 'load':
                rows = {}
                for source in ('csv', 'parquet', 'arrow'):
                    # In turns, so that a slow moment of the machine meets all of them.
                    turns = [{engine: in_process('load', engine, source, str(data)) for engine in engines}
                             for _ in range(options.rounds)]
                    for engine in engines:
                        some = [turn[engine] for turn in turns]
                        failed = next((one['fails'] for one in some if 'fails' in one), None)
                        cell = failed or statistics.median(one['cpu_s'] for one in some)
                        rows.setdefault(engine, {})[source] = cell
                table('load: processor seconds', rows, ['csv', 'parquet', 'arrow'])
            elif section == 'point':
                rows = {engine: in_process('point', engine, 'async', str(data)) for engine in engines}
                if 'telar' in engines:
                    rows['telar, durable'] = in_process('point', 'telar', 'full', str(data))
                table('point: microseconds', rows, ['read_us', 'insert_us'])
            elif section == 'shared':
                asks = {how: in_process('shared', how, options.scale, options.rounds) for how in ('async', 'full')}
                rows = {name: {how: asks[how].get(name, '') for how in asks} for name in asks['async']}
                table('shared', rows, ['async', 'full'])
            else:
                figures = in_process(section, str(options.telar), options.scale, options.rounds)
                rows = {name: {'s': figure} for name, figure in figures.items()}
                table(f'{section}: seconds', rows, ['s'])
            found[section] = rows
    if options.json:
        options.json.write_text(json.dumps(found, indent=1))


if __name__ == '__main__':
    main()
