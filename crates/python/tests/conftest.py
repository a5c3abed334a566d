import signal

import pytest
import telar

# Shells start what runs in the background with SIGINT ignored, and Python leaves it so: nothing would be interrupted.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def db():
    with telar.open() as db:
        yield db


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "graph.telar"
