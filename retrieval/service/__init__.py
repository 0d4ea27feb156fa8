"""The HTTP service over a lake: `edgarmill serve`. It follows `prod` without a restart and says in every answer which version served it.

`running` starts it, `app` puts it together, `gate` and `host` decide who may ask how much, `patience` how long a connection may
idle, `following` opens versions, `routes` and `asked` are its
interface, `lookups` what it does, `work` where that is done.
"""
