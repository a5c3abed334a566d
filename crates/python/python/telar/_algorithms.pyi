from typing import Any

from ._telar import Result, Session

GRAPH: tuple[str, ...]

class Algorithms:
    def __init__(self, session: Session, path: tuple[str, ...] = ()) -> None: ...
    def __getattr__(self, name: str) -> Algorithms: ...
    def __call__(self, *, key: str | None = None, **settings: Any) -> Result: ...
