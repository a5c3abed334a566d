"""Examples run, and the types that are promised are there."""

import doctest
import inspect
import os
import subprocess
import sys
from pathlib import Path

import pytest
import telar
import telar.aio

ROOT = Path(__file__).resolve().parents[3]
FLAGS = doctest.ELLIPSIS | doctest.IGNORE_EXCEPTION_DETAIL


def documented():
    """Everything public that has a text."""
    yield "telar", telar
    yield "telar.aio", telar.aio
    for name in telar.__all__:
        thing = getattr(telar, name)
        if name.startswith("__"):
            continue
        yield f"telar.{name}", thing
        if inspect.isclass(thing):
            for member, value in vars(thing).items():
                if not member.startswith("_"):
                    yield f"telar.{name}.{member}", value


@pytest.mark.parametrize("name, thing", list(documented()), ids=lambda value: value if isinstance(value, str) else "")
def test_docstrings(name, thing):
    text = inspect.getdoc(thing)
    assert text, f"{name} has no text"
    test = doctest.DocTestParser().get_doctest(text, {}, name, None, 0)
    assert doctest.DocTestRunner(optionflags=FLAGS).run(test).failed == 0


def blocks(page):
    """The programs of a page."""
    inside = None
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if line.startswith("```"):
            if inside is not None:
                if inside[0] == "python":
                    yield inside[1], "\n".join(inside[2])
                inside = None
            else:
                inside = (line[3:].strip(), number, [])
        elif inside is not None:
            inside[2].append(line)


PAGES = [ROOT / "docs/python.md", ROOT / "crates/python/README.md", ROOT / "README.md"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    count = 0
    for line, program in blocks(page):
        exec(compile("\n" * line + program, str(page), "exec"), names)
        count += 1
    assert count > 0


def test_the_reference_is_current():
    import importlib.util

    spec = importlib.util.spec_from_file_location("reference", ROOT / "tools/python_reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    written = reference.PAGE.read_text()
    assert written == reference.page(), "run tools/python_reference.py with target/python/venv/bin/python"


def test_the_stubs_are_those_of_the_module():
    command = [sys.executable, "-m", "mypy.stubtest", "telar", "--allowlist"]
    allow = Path(__file__).with_name("stubtest.txt")
    environment = {**os.environ, "MYPY_CACHE_DIR": os.devnull}
    done = subprocess.run([*command, str(allow)], capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
