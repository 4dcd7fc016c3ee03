"""The command line: ``python -m pgt``."""

from pgt.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
