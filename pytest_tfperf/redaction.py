"""What is shown to nobody: secrets by the names they go under, and the users and passwords of URLs."""

from __future__ import annotations

import re
from collections.abc import Iterable

HIDDEN = "***"
_SECRET = re.compile(
    r"token|secret|passw|passphrase|(?<!by)(?<!com)pass(?:$|_|key|code|file)|pwd|credential|cookie|private"
    r"|(?:api|access|signing|encryption)_?key|_key$|auth(?!ors?(?:$|[^a-z]))",
    re.IGNORECASE,
)
_USER_INFO = re.compile(r"(?P<scheme>\w[\w+.-]*://)(?P<user>[^:@/]*):(?P<password>.*)@", re.ASCII | re.DOTALL)
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_IN_QUERY = re.compile(r"(?P<name>[?&]\w*password=)[^&#]*", re.ASCII | re.IGNORECASE)


def is_secret(name: str) -> bool:
    """Whether what a variable, an option or a setting of this name holds is for nobody else."""
    return bool(_SECRET.search(name.replace("-", "_")))


def hide_passwords(text: str) -> str:
    """Replace the passwords of URLs in a text.

    A password that should have been percent-encoded and was not, with an ``@`` or ``/`` in it, is hidden all the same:
    everything up to the last ``@`` is taken for it.
    """
    return _IN_QUERY.sub(rf"\g<name>{HIDDEN}", _USER_INFO.sub(rf"\g<scheme>\g<user>:{HIDDEN}@", text))


def hide_users(text: str) -> str:
    """Replace all that stands before the host in the URLs of a text."""
    return _USER.sub(f"{HIDDEN}@", text)


def passwords_of(url: str) -> tuple[str, ...]:
    """What must not be shown of a URL, as it is written there."""
    found = [match["password"] for match in _USER_INFO.finditer(url)]
    found += [match[0].partition("=")[2] for match in _IN_QUERY.finditer(url)]
    return tuple(password for password in found if password)


def without_secrets(arguments: Iterable[str]) -> tuple[str, ...]:
    """A command line as it may be shown: reports go to more people than a shell does.

    Hidden are the users and passwords of URLs, as a token may stand for either, and what is given to an option, or
    assigned to an ini value, whose name says that it is secret: ``--api-token=x``, ``--api-token x``,
    ``-o password=x``, ``--override-ini=password=x``.
    """
    shown: list[str] = []
    is_value = False
    for argument in map(str, arguments):
        if is_value and not argument.startswith("-"):
            shown.append(HIDDEN)
            is_value = False
            continue
        end = _end_of_secret_name(argument)
        shown.append(hide_users(hide_passwords(argument)) if end is None else f"{argument[:end]}={HIDDEN}")
        is_value = argument.startswith("--") and "=" not in argument and _names_secret(argument)
    return tuple(shown)


def _end_of_secret_name(argument: str) -> int | None:
    """Where the first of an argument's names ends that something secret is assigned to; None where nothing is."""
    ends = (match.start() for match in re.finditer("=", argument))
    return next((end for end in ends if _names_secret(argument[:end])), None)


def _names_secret(text: str) -> bool:
    is_place = "/" in text or "::" in text  # a path's or a test's name, which is no setting's
    return not is_place and is_secret(text.rpartition("=")[2])
