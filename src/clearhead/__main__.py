"""`clearhead` and `python -m clearhead`; Ctrl-C is silent also while the command is imported."""

import sys

try:
    from clearhead.cli.main import main
except KeyboardInterrupt:
    sys.exit(130)

if __name__ == "__main__":
    main()
