import pytest
import telar


@pytest.fixture
def db():
    with telar.open() as db:
        yield db


@pytest.fixture
def folder(tmp_path):
    return tmp_path / "graph.telar"
