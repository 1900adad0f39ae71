"""python -m tailrace: the command line."""

import sys

from tailrace.cli import main

sys.exit(main())
