"""Errors, by the names of the driver. With ``neo4j`` installed they are its own classes."""

# mypy: ignore-errors

from . import _installed

_of_driver = _installed.module("exceptions")


def _class(name, *bases):
    """The class of the driver, or one that takes its place."""
    found = getattr(_of_driver, name, None)
    return found or type(name, bases, {"__doc__": f"{name}, as the driver of Neo4j has it.", "__module__": __name__})


Neo4jError = _class("Neo4jError", Exception)
ClientError = _class("ClientError", Neo4jError)
CypherSyntaxError = _class("CypherSyntaxError", ClientError)
CypherTypeError = _class("CypherTypeError", ClientError)
ConstraintError = _class("ConstraintError", ClientError)
Forbidden = _class("Forbidden", ClientError)
DatabaseError = _class("DatabaseError", Neo4jError)
TransientError = _class("TransientError", Neo4jError)
DriverError = _class("DriverError", Exception)
SessionError = _class("SessionError", DriverError)
TransactionError = _class("TransactionError", DriverError)
TransactionNestingError = _class("TransactionNestingError", TransactionError)
ResultError = _class("ResultError", DriverError)
ResultConsumedError = _class("ResultConsumedError", ResultError)
ResultFailedError = _class("ResultFailedError", ResultError)
ResultNotSingleError = _class("ResultNotSingleError", ResultError)
ConfigurationError = _class("ConfigurationError", DriverError)
ServiceUnavailable = _class("ServiceUnavailable", DriverError)

_made = {}


def _coded(base):
    """The class with what an error of the server has: code and message."""

    class Coded(base):
        def __init__(self, message, code):
            Exception.__init__(self, message)
            self._telar = message, code

        code = property(lambda self: self._telar[1])
        message = property(lambda self: self._telar[0])

        def is_retryable(self):
            return isinstance(self, TransientError)

        def __str__(self):
            message, code = self._telar
            return f"{{code: {code}}} {{message: {message}}}"

    Coded.__name__, Coded.__qualname__, Coded.__module__ = base.__name__, base.__qualname__, base.__module__
    return Coded


def of_telar(error):
    """The error of the driver that an error of Telar is."""
    code = getattr(error, "code", None) or "Neo.DatabaseError.General.UnknownError"
    title = code.rsplit(".", 1)[-1]
    named = {
        "SyntaxError": CypherSyntaxError,
        "TypeError": CypherTypeError,
        "ConstraintValidationFailed": ConstraintError,
    }
    kinds = {"ClientError": ClientError, "TransientError": TransientError}
    base = named.get(title) or kinds.get((code + ".").split(".")[1], DatabaseError)
    if base not in _made:
        _made[base] = _coded(base)
    return _made[base](str(error), code)
