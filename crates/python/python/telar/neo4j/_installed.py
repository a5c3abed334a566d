"""The package ``neo4j``, if it is installed."""

# mypy: ignore-errors

import importlib


def module(name=""):
    """A module of the package, or None."""
    try:
        return importlib.import_module("neo4j" + (f".{name}" if name else ""))
    except ImportError:
        return None


def bases(name, *classes):
    """Classes of a module of the package: what is made here is one of them, too."""
    found = module(name)
    return tuple(getattr(found, of) for of in classes if hasattr(found, of)) if found else ()
