from collections.abc import Callable
from typing import Any, Literal

from ._telar import Result, Session

GRAPH: tuple[str, ...]

class Algorithms:
    def __init__(self, session: Session, path: tuple[str, ...] = ()) -> None: ...
    def __getattr__(self, name: str) -> Algorithms: ...
    def __call__(self, *, key: str | None = None, **settings: Any) -> Result: ...
    def vertex_program(
        self,
        apply: Callable[..., Any],
        *,
        init: Any,
        combine: Any = None,
        along: Callable[[Any, Any], Any] | None = None,
        empty: Any = None,
        reduce: Callable[[Any, Any], Any] | None = None,
        takes: Literal["values", "numpy", "arrow"] = "values",
        max_iterations: int = 100,
        key: str | None = None,
        **graph: Any,
    ) -> Result: ...
