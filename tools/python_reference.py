#!/usr/bin/env python3
"""Writes the reference of the Python package from its docstrings: docs/python-reference.md.

    target/python/venv/bin/python tools/python_reference.py

The package is the one that is installed (tools/python.sh). A test compares the page with what this would write.
"""
import inspect
from pathlib import Path

import telar
import telar.aio

PAGE = Path(__file__).resolve().parents[1] / "docs" / "python-reference.md"
HEAD = """# Reference of the Python package

Every name of `telar`, from its docstrings (`tools/python_reference.py` writes this page). [python.md](python.md) is the
manual.
"""


def text_of(thing):
    """A docstring as Markdown: examples are programs."""
    lines, example = [], False
    for line in (inspect.getdoc(thing) or "").replace("``", "`").splitlines():
        begins = line.lstrip().startswith(">>>")
        if begins and not example:
            lines.append("```pycon")
        if example and not line.strip():
            lines.append("```")
        example = (example or begins) and bool(line.strip())
        lines.append(line)
    return "\n".join(lines + ["```"] * example)


def signature_of(name, thing):
    try:
        signature = inspect.signature(thing)
    except (TypeError, ValueError):
        return name
    hidden = [p for p in signature.parameters.values() if p.name not in ("self", "slf") and not p.name.startswith("_")]
    parts, star = [], False
    for parameter in hidden:
        if parameter.kind is parameter.VAR_POSITIONAL:
            star = True
        if parameter.kind is parameter.KEYWORD_ONLY and not star:
            parts.append("*")
            star = True
        parts.append(str(parameter.replace(annotation=parameter.empty)))
    return f"{name}({', '.join(parts)})"


def members(kind):
    """Public members that have a text of their own, by name: PyO3 has them in no order."""
    for name, value in sorted(vars(kind).items()):
        if not name.startswith("_") and inspect.getdoc(value):
            yield name, value


def class_of(name, kind):
    bases = [base.__name__ for base in kind.__bases__ if base.__module__ in ("telar", "telar.aio")]
    yield f"## `{name}`" + (f" ({', '.join(f'`{base}`' for base in bases)})" if bases else "")
    yield text_of(kind)
    for member, value in members(kind):
        callable_ = callable(value) or isinstance(value, (staticmethod, classmethod))
        title = signature_of(member, value) if callable_ else member
        yield f"### `{title}`"
        yield text_of(value)


def page():
    parts = [HEAD]
    functions, classes, errors = [], [], []
    for name in telar.__all__:
        thing = getattr(telar, name)
        if inspect.isclass(thing):
            (errors if issubclass(thing, Exception) else classes).append((name, thing))
        elif callable(thing):
            functions.append((name, thing))
    for name, thing in functions:
        parts += [f"## `telar.{signature_of(name, thing)}`", text_of(thing)]
    for name, thing in classes:
        parts += class_of(name, thing)
    parts += ["## Exceptions", "| class | is a | when |\n|---|---|---|"]
    rows = [
        f"| `{name}` | `{thing.__bases__[0].__name__}` | {' '.join((inspect.getdoc(thing) or '').split())} |"
        for name, thing in errors
    ]
    parts[-1] += "\n" + "\n".join(rows)
    parts += ["## `telar.aio`", text_of(telar.aio)]
    for name in telar.aio.__all__:
        thing = getattr(telar.aio, name)
        if inspect.isclass(thing):
            parts += class_of(name, thing)
        else:
            parts += [f"## `telar.aio.{signature_of(name, thing)}`", text_of(thing)]
    return "\n\n".join(part.strip("\n") for part in parts if part) + "\n"


if __name__ == "__main__":
    PAGE.write_text(page())
