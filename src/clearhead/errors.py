"""The one exception that a user may see as a line of text.

Every message says three things: what was given, what was expected, what to do.
The command line prints it as one line and exits with code 2; Python callers
catch it as an ordinary `ValueError`.
"""


class UserError(ValueError):
    """Something the user gave cannot be used; the message is the whole answer."""
