"""Training throughput against the didactic baseline and every other peer.

    python benchmarks/training_speed.py --only didactic

The same as `clearhead bench training`, with the same options.
"""

import sys

from clearhead.cli.main import run

if __name__ == "__main__":
    sys.exit(run(["bench", "training", *sys.argv[1:]]))
