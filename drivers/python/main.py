"""Runs the behaviours of ../README.md with the official Python driver.

    python main.py [PART OF A NAME]...
"""

import sys

import values  # noqa: F401  (the order of the imports is the order of the list)
import results  # noqa: F401
import transactions  # noqa: F401
import failures  # noqa: F401
import connections  # noqa: F401
from behaviour import run

if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
