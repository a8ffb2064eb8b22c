"""Other ways to write a path: some mean the same route, all others must mean none, or none that is open."""

from __future__ import annotations


def alike(path: str, url: str = "http://reprise.invalid") -> dict[str, str]:
    """Targets that are answered as `path` is: the server decodes them, or the slash at the end does not count.

    `url` is the server's, without a slash at its end.
    """
    targets = {
        "as it is": path,
        "with a slash at its end": f"{path}/",
        "with a percent-encoded letter": f"/%{ord(path[1]):x}{path[2:]}" if len(path) > 1 else path,
        "with percent-encoded inner slashes": path[0] + path[1:].replace("/", "%2F"),
        "as a whole URL": f"{url}{path}",
        "with a query that looks like a path": f"{path}?//health/live",
    }
    return {name: target for name, target in targets.items() if name == "as it is" or target not in (path, "//")}


def unlike(path: str, url: str = "http://reprise.invalid") -> dict[str, str]:
    """Targets that are no route, unless their last part happens to be any text of the caller's."""
    targets = {
        "with two slashes in front": f"/{path}",
        "with three slashes in front": f"//{path}",
        "with an encoded slash in front": f"/%2F{path[1:]}",
        "with two encoded slashes in front": f"/%2f%2F{path[1:]}",
        "with an encoded slash and its own": f"/%2F{path}",
        "with a slash that is encoded twice": f"/%252F{path[1:]}",
        "with an overlong slash": f"/%c0%af{path[1:]}",
        "with a backslash": f"/\\{path[1:]}",
        "with a dot": f"/.{path}",
        "with an encoded dot": f"/%2e{path}",
        "with a parent": f"/x/..{path}",
        "with an encoded parent": f"/x/%2e%2e{path}",
        "with a public neighbour's parent": f"/health/live/..{path}",
        "with doubled inner slashes": path[0] + path[1:].replace("/", "//"),
        "with two slashes at its end": f"{path}//",
        "with a parameter": f"{path};x",
        "with a NUL": f"{path}%00",
        "with a line break": f"{path}%0d%0a",
        "with a suffix": f"{path}.json",
        "in capitals": path.upper(),
        "as a whole URL with two slashes": f"{url}/{path}",
    }
    return {name: target for name, target in targets.items() if target != path}
