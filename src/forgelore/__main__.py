"""`python -m forgelore`: the command line, from a folder that was never installed."""

import sys

from forgelore.surfaces.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
