#!/usr/bin/env python3
"""Imports of CSV files in little memory: Telar, Ladybug and neo4j-admin, each alone in a control group with a limit.

    limited.py [--telar BINARY] [--memory MIB] [--relationships N] [--rounds N] [--only ENGINE,...] [--json FILE]

BINARY is what `cargo build --release -p telar-server` leaves. 500,000 persons and 10,000,000 relationships with two
properties each are written once, with headers that all three read, into target/compare/limited. The limit holds for
everything that the group has, page cache included, as the kernel counts it; whoever needs more is killed, and that is
what the table says. An engine that does not look at the limit itself is told of it: Ladybug by the size of its buffer
pool, Neo4j by its heap and the memory beside it. Telar and Ladybug have a unique key; neo4j-admin makes none, and only
checks ids. The files are on disk, and not in memory, when a load begins. Answers are compared when the limit is gone.

Needs root, and a kernel with control groups for memory (version 1 or 2). Neo4j needs mvn and Java (neo4j.sh).
"""
import argparse, csv, json, os, shutil, signal, statistics, subprocess, sys, time
from pathlib import Path

from python import ROOT, VENV, install_packages

WORK = ROOT / 'target' / 'compare' / 'limited'
ENGINES = ['telar', 'ladybug', 'neo4j-admin']
PERSONS, KNOWS = 500_000, 10_000_000
PORT = 7971


class Group:
    """A control group with a limit of memory, and without swap where the kernel counts it."""
    number = 0

    def __init__(self, limit):
        self.first = os.path.isdir('/sys/fs/cgroup/memory')
        root = Path('/sys/fs/cgroup/memory' if self.first else '/sys/fs/cgroup')
        Group.number += 1
        self.path = root / f'telar-limited-{os.getpid()}-{Group.number}'
        try:
            if not self.first:
                (root / 'cgroup.subtree_control').write_text('+memory')
            self.path.mkdir()
            (self.path / ('memory.limit_in_bytes' if self.first else 'memory.max')).write_text(str(limit))
            swap = self.path / ('memory.memsw.limit_in_bytes' if self.first else 'memory.swap.max')
            if swap.exists():
                swap.write_text(str(limit) if self.first else '0')
        except OSError as error:
            if self.path.exists():
                self.path.rmdir()
            sys.exit(f'no control group with a limit of memory can be made (run as root?): {error}')

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for left in (self.path / 'cgroup.procs').read_text().split():
            os.kill(int(left), signal.SIGKILL)
        # What a process leaves is counted until its pages are gone.
        for _ in range(100):
            try:
                return self.path.rmdir()
            except OSError:
                time.sleep(0.1)
        print(f'{self.path} is left', file=sys.stderr)

    def peak_bytes(self):
        """The most that the group ever had, page cache included; None where the kernel does not say."""
        file = self.path / ('memory.max_usage_in_bytes' if self.first else 'memory.peak')
        return int(file.read_text()) if file.exists() else None

    def was_short(self):
        """True if the kernel killed one of its processes for want of memory."""
        file = self.path / ('memory.oom_control' if self.first else 'memory.events')
        counts = dict(line.split() for line in file.read_text().splitlines())
        return int(counts.get('oom_kill', 0)) > 0

    def run(self, command, **more):
        """Runs a command and all it starts in the group: its status, what it said, seconds, processor seconds, and the
        most memory of its own that one of its processes had."""
        enter = lambda: (self.path / 'cgroup.procs').write_text(str(os.getpid()))
        begun = time.monotonic()
        output = open(WORK / 'output.txt', 'w+')
        child = subprocess.Popen(command, preexec_fn=enter, stdout=output, stderr=subprocess.STDOUT, cwd=WORK, **more)
        _, status, used = os.wait4(child.pid, 0)
        output.seek(0)
        code = os.waitstatus_to_exitcode(status)
        return {'code': code, 'said': output.read(), 's': time.monotonic() - begun, 'cpu_s': used.ru_utime + used.ru_stime,
                'rss_mib': used.ru_maxrss / 1024}


def make_data(relationships):
    """The files, and what must be found in them."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.csv as pacsv
    random = np.random.default_rng(11)
    names = pa.array([f'Person {n}' for n in range(PERSONS)])
    ages = random.integers(0, 100, PERSONS)
    person = pa.table({'id': np.arange(PERSONS), 'name': names, 'age': ages})
    ends = (PERSONS * random.random((2, relationships)) ** 3).astype(np.int64)
    since = random.integers(1950, 2026, relationships)
    know = pa.table({'a': ends[0], 'b': random.permutation(PERSONS)[ends[1]], 'since': since,
                     'weight': random.random(relationships).round(6)})
    plain = pacsv.WriteOptions(include_header=False)
    for name, header, table in (('person', 'id:ID(Person){id-type:long},name,age:long', person),
                                ('know', ':START_ID(Person),:END_ID(Person),since:long,weight:double', know)):
        with open(WORK / f'{name}.csv', 'wb') as file:
            file.write(f'{header}\n'.encode())
            pacsv.write_csv(table, file, plain)
    counts = [PERSONS, int(ages.sum()), relationships, int(since.sum())]
    (WORK / 'counts.json').write_text(json.dumps(counts))


def load_ladybug(folder, limit):
    import ladybug
    database = ladybug.Database(f'{folder}/g', buffer_pool_size=limit * 8 // 10)
    connection = ladybug.Connection(database)
    connection.execute('CREATE NODE TABLE Person(id INT64, name STRING, age INT64, PRIMARY KEY(id))')
    connection.execute('CREATE REL TABLE KNOWS(FROM Person TO Person, since INT64, weight DOUBLE)')
    connection.execute(f'COPY Person FROM "{WORK}/person.csv" (header=true)')
    connection.execute(f'COPY KNOWS FROM "{WORK}/know.csv" (header=true)')
    connection.close()
    database.close()


def counts_ladybug(folder):
    import ladybug
    connection = ladybug.Connection(ladybug.Database(f'{folder}/g'))
    one = lambda text: connection.execute(text).get_all()[0]
    found = [*one('MATCH (p:Person) RETURN count(p), sum(p.age)'),
             *one('MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)')]
    # Sums are of a type that JSON does not have.
    print(json.dumps([int(number) for number in found]))


class Telar:
    def __init__(self, options):
        self.binary = options.telar

    def command(self, folder, limit):
        return [self.binary, 'import', folder / 'g', '--nodes', f'Person={WORK}/person.csv',
                '--relationships', f'KNOWS={WORK}/know.csv', '--unique', 'Person.id'], {}

    def counts(self, folder):
        found = []
        for text in ('MATCH (p:Person) RETURN count(p), sum(p.age)', 'MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)'):
            done = subprocess.run([self.binary, 'shell', folder / 'g', '-c', text, '--format', 'csv'],
                                  capture_output=True, text=True, check=True)
            found += [int(number) for number in list(csv.reader(done.stdout.splitlines()))[-1]]
        return found


class Ladybug:
    def __init__(self, _):
        pass

    def command(self, folder, limit):
        return [VENV / 'bin' / 'python', __file__, '--part', f'load_ladybug {folder} {limit}'], {}

    def counts(self, folder):
        done = subprocess.run([VENV / 'bin' / 'python', __file__, '--part', f'counts_ladybug {folder}'],
                              capture_output=True, text=True, check=True)
        return json.loads(done.stdout)


class Neo4jAdmin:
    def __init__(self, _):
        self.script = ROOT / 'bench' / 'compare' / 'neo4j.sh'
        # Its artefacts, outside of what is timed.
        subprocess.run([self.script, 'fetch'], check=True)

    def command(self, folder, limit):
        environment = {**os.environ, 'HEAP': f'{limit // 4 >> 20}m'}
        beside = f'--max-off-heap-memory={limit // 2 >> 20}m'
        return [self.script, 'import', folder / 'g', str(PORT), '--id-type=integer', beside,
                f'--nodes=Person={WORK}/person.csv',
                f'--relationships=KNOWS={WORK}/know.csv'], {'env': environment}

    def counts(self, folder):
        subprocess.run([self.script, 'start', folder / 'g', str(PORT)], check=True, stdout=subprocess.DEVNULL)
        try:
            import neo4j
            with neo4j.GraphDatabase.driver(f'bolt://127.0.0.1:{PORT}') as driver:
                one = lambda text: list(driver.execute_query(text).records[0])
                return one('MATCH (p:Person) RETURN count(p), sum(p.age)') + \
                    one('MATCH ()-[k:KNOWS]->() RETURN count(k), sum(k.since)')
        finally:
            subprocess.run([self.script, 'stop', folder / 'g'], check=True)


KINDS = {'telar': Telar, 'ladybug': Ladybug, 'neo4j-admin': Neo4jAdmin}


def forget_files():
    """Leaves the files on disk only: pages that somebody else has read are not counted as the engine's."""
    os.sync()
    for file in WORK.glob('*.csv'):
        descriptor = os.open(file, os.O_RDONLY)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(descriptor)


def loaded(name, engine, limit, expected):
    """One load by an engine, in a group of its own."""
    forget_files()
    folder = WORK / 'database'
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    command, more = engine.command(folder, limit)
    with Group(limit) as group:
        done = group.run(command, **more)
        peak, short = group.peak_bytes(), group.was_short()
    if done['code'] or short:
        lines = (done['said'].strip() or 'it said nothing').splitlines()
        told = [line for line in lines if 'rror' in line or 'FAILED' in line or 'xception' in line]
        return {'fails': f"killed after {done['s']:.0f} s" if short else (told or lines)[0].strip('# ')[:120]}
    disk = sum(file.stat().st_blocks * 512 for file in folder.rglob('*') if file.is_file())
    found = engine.counts(folder)
    if found != expected:
        sys.exit(f'{name}: {found} are there, not {expected}')
    shutil.rmtree(folder)
    return {'s': done['s'], 'cpu_s': done['cpu_s'], 'rss_mib': done['rss_mib'],
            'peak_mib': peak / 2**20 if peak else float('nan'),
            'disk_mib': disk / 2**20}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('--telar', type=lambda path: Path(path).resolve(), default=ROOT / 'target' / 'release' / 'telar')
    parser.add_argument('--memory', type=int, default=1024, help='MiB')
    parser.add_argument('--relationships', type=int, default=KNOWS)
    parser.add_argument('--rounds', type=int, default=3)
    parser.add_argument('--only', default=','.join(ENGINES))
    parser.add_argument('--json', type=Path)
    parser.add_argument('--part', help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        name, *arguments = options.part.split(' ')
        parts = {'data': lambda n: make_data(int(n)), 'load_ladybug': lambda f, n: load_ladybug(f, int(n)),
                 'counts_ladybug': counts_ladybug}
        return parts[name](*arguments)
    WORK.mkdir(parents=True, exist_ok=True)
    install_packages()
    if Path(sys.executable) != VENV / 'bin' / 'python':
        # With Neo4j's driver.
        os.execv(VENV / 'bin' / 'python', [VENV / 'bin' / 'python', *sys.argv])
    # In a process of its own: what this one has is counted as the memory of those that it starts.
    subprocess.run([sys.executable, __file__, '--part', f'data {options.relationships}'], check=True)
    expected = json.loads((WORK / 'counts.json').read_text())
    engines = {name: KINDS[name](options) for name in options.only.split(',')}
    limit = options.memory << 20
    # In turns, so that a slow moment of the machine meets all of them.
    turns = [{name: loaded(name, engine, limit, expected) for name, engine in engines.items()} for _ in range(options.rounds)]
    columns = ['s', 'cpu_s', 'rss_mib', 'peak_mib', 'disk_mib']
    rows = {}
    for name in engines:
        some = [turn[name] for turn in turns]
        failed = [one['fails'] for one in some if 'fails' in one]
        times = '' if len(failed) == len(some) else f' (in {len(failed)} of {len(some)} rounds)'
        if failed:
            rows[name] = {'fails': failed[0] + times}
        else:
            rows[name] = {column: statistics.median(one[column] for one in some) for column in columns}
    print(f'{options.relationships:,} relationships within {options.memory} MiB; median of {options.rounds}\n')
    print('| | ' + ' | '.join(columns) + ' |\n|---|' + '---:|' * len(columns))
    for name, figures in rows.items():
        cells = [figures.get('fails', '')] if 'fails' in figures else [f'{figures[column]:.1f}' for column in columns]
        print(f'| {name} | ' + ' | '.join(cells) + ' |')
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == '__main__':
    main()
