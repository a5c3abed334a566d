"""Functions of Python in statements."""

import inspect

MOST = 64


def arguments(function):
    """The fewest and the most arguments that a function takes."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        # Some built-in functions and compiled ones do not say.
        return 0, MOST
    fewest = most = 0
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_POSITIONAL:
            most = MOST
        elif parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            most = min(most + 1, MOST)
            fewest += parameter.default is parameter.empty
        elif parameter.kind is parameter.KEYWORD_ONLY and parameter.default is parameter.empty:
            raise TypeError(f"the argument {parameter.name!r} has no default and no place")
    return fewest, most


def call(takes, function, table):
    """Calls a function with the columns of a table, and returns what Telar reads as a column."""
    if takes == "numpy":
        result = function(*table.to_numpy().values())
    else:
        import pyarrow  # type: ignore[import-untyped,import-not-found]

        given = [column.combine_chunks() for column in table.to_arrow().columns]
        result = function(*given)
        if isinstance(result, (pyarrow.Array, pyarrow.ChunkedArray)):
            return pyarrow.table({"value": result})
    if hasattr(result, "tolist"):
        return result.tolist()
    return list(result)
