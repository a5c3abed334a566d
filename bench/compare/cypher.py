#!/usr/bin/env python3
"""The queries of `telar bench cypher` on other engines, on the same graph, in one run.

    cypher.py [--telar BINARY] [--persons N] [--rounds N] [--turn MS] [--only NAME,...] [--json FILE]

BINARY is `telar` with `telar-bench` beside it: `cargo build --release -p telar-server -p telar-bench`.

Runs `telar bench cypher --export` first: it writes the graph as CSV and the questions with their
answers, and measures Telar. Then each peer, in a process of its own, loads the same CSV, answers
every question, is compared with the answers, and is measured in the same way: processor time of
the whole process, all threads, per query, median over rounds, one client, warm.

`neo4j` is no embedded engine: bench/compare/neo4j.sh starts it, bench/compare/bolt (Go) asks it
over Bolt, and a figure is the processor time of both processes. It is warmed up before.

Peers are installed from the package registry into target/compare/venv, at the versions below.
Queries are the same text where the peer can read it; where it cannot, `TEXTS` has its own form.
A peer that fails a question shows why instead of a figure.
"""
import argparse, json, math, os, resource, statistics, subprocess, sys, tempfile, time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
VENV = ROOT / 'target' / 'compare' / 'venv'
PACKAGES = {'ladybug': 'ladybug==0.22.0', 'neug': 'neug==0.3.0', 'kuzu': 'kuzu==0.11.3'}
INSERT = 'CREATE (:Person {id: $id, name: $name, age: $age, city: $city})'
SCHEMA = [
    'CREATE NODE TABLE Person(id INT64, name STRING, age INT64, city STRING, PRIMARY KEY(id))',
    'CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64)',
]
# Kuzu and what descends from it write shortest paths in their own way, and their plain patterns
# need a bound on lengths.
KUZU_SHORTEST = ('MATCH p = (a:Person {id: $a})-[:KNOWS* SHORTEST 1..30]->(b:Person {id: $b}) '
                 'RETURN length(p)')


def cpu_s():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Kuzu:
    """Kuzu, and Ladybug, which continues it with the same interface."""
    texts = {'shortest': KUZU_SHORTEST}

    def __init__(self, module, folder):
        self.module = __import__(module)
        self.database = self.module.Database(str(folder / f'people.{module}'))
        self.connection = self.module.Connection(self.database)
        self.prepared = {}

    def load(self, data):
        for text in SCHEMA:
            self.connection.execute(text)
        for table, file in (('Person', 'persons.csv'), ('KNOWS', 'knows.csv')):
            self.connection.execute(f'COPY {table} FROM "{data / file}" (header=true)')

    def run(self, text, parameters):
        if text not in self.prepared:
            self.prepared[text] = self.connection.prepare(text)
        result = self.connection.execute(self.prepared[text], parameters)
        rows = result.get_all()
        result.close()
        return rows


class NeuG:
    texts = {'shortest': KUZU_SHORTEST}

    def __init__(self, _, folder):
        import logging
        logging.disable(logging.INFO)
        import neug
        self.module = neug
        self.database = neug.Database(str(folder / 'people.neug'))
        self.connection = self.database.connect()

    def load(self, data):
        for text in SCHEMA:
            self.connection.execute(text)
        self.connection.execute(f'COPY Person FROM "{data / "persons.csv"}" (header=true, delim=",")')
        self.connection.execute(f'COPY KNOWS FROM "{data / "knows.csv"}" '
                                '(from="Person", to="Person", header=true, delim=",")')

    def run(self, text, parameters):
        return [list(row) for row in self.connection.execute(text, parameters=parameters or None)]


PEERS = {'ladybug': Kuzu, 'neug': NeuG, 'kuzu': Kuzu}


def alike(found, expected):
    if isinstance(found, float) or isinstance(expected, float):
        return math.isclose(found, expected, rel_tol=1e-9)
    return found == expected


def same(question, found, expected):
    found = [list(row) for row in found]
    if not question['ordered']:
        found, expected = sorted(found, key=repr), sorted(expected, key=repr)
    return len(found) == len(expected) and all(
        len(f) == len(e) and all(map(alike, f, e)) for f, e in zip(found, expected))


def turn(peer, text, parameters, seconds):
    begun, cpu, queries = time.monotonic(), cpu_s(), 0
    while time.monotonic() - begun < seconds:
        for one in parameters:
            peer.run(text, one)
            queries += 1
            if time.monotonic() - begun > 20 * seconds:
                break
    return (cpu_s() - cpu) / queries * 1e3


def measure(name, data, rounds, seconds):
    """Everything about one peer, as a dictionary; runs in a process of its own."""
    questions = json.loads((data / 'questions.json').read_text())['questions']
    figures = {}
    with tempfile.TemporaryDirectory() as folder:
        peer = PEERS[name](name, Path(folder))
        peer.load(data)
        sound = []
        for question in questions:
            text = peer.texts.get(question['key'], question['text'])
            try:
                wrong = sum(not same(question, peer.run(text, asked['parameters']), asked['rows'])
                            for asked in question['asked'])
                if wrong:
                    # Kuzu matches a relationship twice in one pattern; openCypher does not.
                    figures[question['key']] = f'{wrong} of {len(question["asked"])} answers differ'
                    if question['key'] not in ('three_hops',):
                        continue
                sound.append((question['key'], text, [a['parameters'] for a in question['asked']]))
            except Exception as error:  # noqa: BLE001: whatever a peer throws is its result
                figures[question['key']] = f'fails: {str(error).splitlines()[0][:80]}'
        samples = {key: [] for key, _, _ in sound}
        inserts = []
        for number in range(1, rounds + 1):
            for key, text, parameters in sound:
                samples[key].append(turn(peer, text, parameters, seconds))
            new = ({'id': 1_000_000_000 * number + i, 'name': 'New', 'age': 30, 'city': 'Oslo'}
                   for i in range(1 << 30))
            begun, cpu, created = time.monotonic(), cpu_s(), 0
            while time.monotonic() - begun < seconds:
                peer.run(INSERT, next(new))
                created += 1
            inserts.append((cpu_s() - cpu) / created * 1e3)
            peer.run('MATCH (p:Person) WHERE p.id >= $first DELETE p',
                     {'first': 1_000_000_000 * number})
        for key, values in samples.items():
            note = figures.get(key)
            figures[key] = {'ms': statistics.median(values), 'note': note}
        figures['insert'] = {'ms': statistics.median(inserts), 'note': None}
        figures['version'] = getattr(peer.module, '__version__', '?')
    return figures


class Neo4j:
    """Over Bolt, with the client that telar bench snb's comparison has."""
    PORT = 17741

    def __init__(self, data, folder):
        self.data, self.folder, self.store = data, folder, folder / 'neo4j'
        self.script = Path(__file__).with_name('neo4j.sh')
        self.client = folder / 'bolt-client'
        subprocess.run(['go', 'build', '-o', self.client, '.'], cwd=self.script.with_name('bolt'), check=True)
        subprocess.run([self.script, 'import', self.store, str(self.PORT), '--id-type=integer',
                        f'--nodes=Person={data / "persons.csv"}',
                        f'--relationships=KNOWS={data / "knows.csv"}'], check=True)

    def __enter__(self):
        said = subprocess.run([self.script, 'start', self.store, str(self.PORT)], check=True,
                              stdout=subprocess.PIPE, text=True)
        self.process = said.stdout.split()[-1]
        for text in ('CREATE CONSTRAINT FOR (p:Person) REQUIRE p.id IS UNIQUE', 'CALL db.awaitIndexes(300)'):
            self.ask('query', '-text', text)
        return self

    def __exit__(self, *_):
        subprocess.run([self.script, 'stop', self.store], check=True)

    def ask(self, what, *options):
        said = subprocess.run([self.client, '-do', what, '-folder', self.folder, '-server', self.process,
                               '-address', f'127.0.0.1:{self.PORT}', *map(str, options)],
                              check=True, stdout=subprocess.PIPE, text=True)
        return json.loads(said.stdout)

    def inserts(self, number, seconds):
        """CPU ms of creating one person, each on disk before the next; they are removed again."""
        first = 1_000_000_000 * number
        with open(self.folder / 'operations.jsonl', 'w', encoding='utf-8') as file:
            for at in range(int(10_000 * seconds)):
                new = {'id': first + at, 'name': 'New', 'age': 30, 'city': 'Oslo'}
                print(json.dumps(['update', new, 0]), file=file)
        found = self.ask('mixed', '-connections', 1, '-seconds', seconds)
        self.ask('query', '-text', f'MATCH (p:Person) WHERE p.id >= {first} DELETE p')
        return (found['CPU_us'] + found['client_CPU_us']) / 1e3

    def measure(self, rounds, seconds, warm):
        questions = json.loads((self.data / 'questions.json').read_text())['questions']
        texts = {question['key']: question['text'] for question in questions}
        reads = [{'name': q['key'], 'sets': [{'parameters': a['parameters']} for a in q['asked']]}
                 for q in questions]
        (self.folder / 'questions.json').write_text(json.dumps({'texts': {**texts, 'update': INSERT}, 'reads': reads}))
        answers, figures = self.ask('answers'), {'version': '5.26'}
        for question in questions:
            found = answers[question['key']]
            wrong = sum(not same(question, rows, asked['rows']) for rows, asked in zip(found, question['asked']))
            if wrong:
                figures[question['key']] = f'{wrong} of {len(found)} answers differ'
        sound = ','.join(key for key in texts if key not in figures)
        self.ask('reads', '-only', sound, '-seconds', warm)
        self.inserts(1, warm)
        samples = {}
        for number in range(2, rounds + 2):
            for key, run in self.ask('reads', '-only', sound, '-seconds', seconds).items():
                samples.setdefault(key, []).append(run['CPU_ms'] + run['client_CPU_ms'])
            samples.setdefault('insert', []).append(self.inserts(number, seconds))
        return figures | {key: {'ms': statistics.median(some), 'note': None} for key, some in samples.items()}


def install(names):
    if not VENV.exists():
        subprocess.run([sys.executable, '-m', 'venv', VENV], check=True)
    subprocess.run([VENV / 'bin' / 'pip', 'install', '--quiet', '--disable-pip-version-check',
                    *(PACKAGES[name] for name in names)], check=True)


def cell(figure):
    if figure is None:
        return ''
    if isinstance(figure, str):
        return figure
    return f'{figure["ms"]:.3g}' + (' (*)' if figure['note'] else '')


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--telar', type=Path, default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--persons', type=int, default=100_000)
    parser.add_argument('--rounds', type=int, default=5)
    parser.add_argument('--turn', type=int, default=300, help='milliseconds of each query in a round')
    parser.add_argument('--only', default='ladybug,neug,neo4j')
    parser.add_argument('--warm', type=float, default=1, help='seconds of each query on neo4j before it counts')
    parser.add_argument('--json', type=Path)
    parser.add_argument('--measure', help=argparse.SUPPRESS)
    parser.add_argument('--data', type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure:
        figures = measure(options.measure, options.data, options.rounds, options.turn / 1e3)
        print('\n' + json.dumps(figures))
        return
    names = options.only.split(',')
    install([name for name in names if name in PACKAGES])
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder)
        subprocess.run([options.telar, 'bench', 'cypher', '--persons', str(options.persons),
                        '--rounds', str(options.rounds), '--turn', str(options.turn),
                        '--export', data, '--json', data / 'telar.json'], check=True)
        report = json.loads((data / 'telar.json').read_text())
        found = {'telar': {key.removesuffix('/CPU_ms'): {'ms': value, 'note': None}
                           for key, value in report['figures'].items()}}
        for name in names:
            print(f'   measuring {name}', file=sys.stderr)
            if name == 'neo4j':
                os.mkdir(data / name)
                with Neo4j(data, data / name) as peer:
                    found[name] = peer.measure(options.rounds, options.turn / 1e3, options.warm)
                continue
            done = subprocess.run([VENV / 'bin' / 'python', __file__, '--measure', name, '--data', data,
                                   '--rounds', str(options.rounds), '--turn', str(options.turn)],
                                  stdout=subprocess.PIPE, text=True)
            if done.returncode:
                found[name] = {'version': 'failed'}
                continue
            found[name] = json.loads(done.stdout.splitlines()[-1])
        questions = json.loads((data / 'questions.json').read_text())['questions']
    rows = [(q['key'], q['what']) for q in questions] + [('insert', 'durable single insert')]
    titles = ['CPU ms per query', 'Telar'] + [f'{n} {found[n].get("version", "")}' for n in names]
    print('\n| ' + ' | '.join(titles) + ' |\n|---|' + '---:|' * (len(titles) - 1))
    for key, what in rows:
        cells = [cell(found[name].get(key)) for name in ['telar', *names]]
        print('| ' + ' | '.join([what, *cells]) + ' |')
    notes = {f'{name}: {found[name][key]["note"]} in {what}' for name in names for key, what in rows
             if isinstance(found[name].get(key), dict) and found[name][key]['note']}
    for note in sorted(notes):
        print(f'(*) {note}')
    if options.json:
        options.json.write_text(json.dumps({'machine': report['machine'], 'found': found}, indent=1))


if __name__ == '__main__':
    main()
