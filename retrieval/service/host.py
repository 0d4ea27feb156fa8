"""Which Host headers a service without keys takes: a page in a browser on this machine could else reach it through a name of its own that
resolves to 127.0.0.1 (DNS rebinding), and read filings and metrics."""

from __future__ import annotations

import ipaddress
import re

_HOST = re.compile(r"(?:\[([0-9A-Fa-f:.]{2,45})\]|([A-Za-z0-9._-]{1,253}))(?::[0-9]{1,5})?")


def is_loopback(host: str) -> bool:
    """Of an address or name to listen on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_own(header: bytes) -> bool:
    """Whether a Host header names this machine itself: localhost or an address of loopback, with any port."""
    found = _HOST.fullmatch(header.decode("latin-1"))
    return found is not None and is_loopback((found[1] or found[2]).lower())
