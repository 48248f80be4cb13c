#!/usr/bin/python3
"""Writes the vectors (`rfc*.json`) and `docs/compliance.md` from the tables beside this file.

With `--check` nothing is written: it fails if a committed file is not what the tables say.
"""

import importlib
import json
import pathlib
import sys

# Columns of a line in the vectors; packets may have more.
WIDTH = 100
HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import compliance  # noqa: E402
import packets  # noqa: E402
from table import Collection  # noqa: E402


def collect():
    """Reads every source module."""
    collections = {}
    for path in sorted(HERE.glob("rfc*.py")):
        Collection.current = collections[path.stem] = Collection()
        packets.restart()
        importlib.import_module(path.stem)
    names = [v["name"] for c in collections.values() for v in c.vectors]
    twice = sorted({name for name in names if names.count(name) > 1})
    assert not twice, f"names used twice: {twice}"
    return collections


def layout(value, indent=""):
    """JSON with one packet a line. What has no packet in it stays on one line if that is short."""
    line = json.dumps(value, ensure_ascii=False)
    short = len(indent) + len(line) <= WIDTH and '"packet"' not in line
    if short or not isinstance(value, (dict, list)) or "packet" in value:
        return line
    deeper = indent + " "
    if isinstance(value, list):
        items = (f"\n{deeper}{layout(item, deeper)}" for item in value)
        return f"[{','.join(items)}\n{indent}]"
    members = (f"{json.dumps(key)}: {layout(item, deeper)}" for key, item in value.items())
    return "{" + f",\n{deeper}".join(members) + "}"


def as_json(collection):
    """The vectors of one module."""
    document = {"configurations": collection.configurations, "vectors": collection.vectors}
    return layout(document) + "\n"


def files():
    """Path and content of everything that is generated."""
    collections = collect()
    for stem, collection in collections.items():
        if collection.vectors:
            yield HERE / f"{stem}.json", as_json(collection)
    requirements = [r for c in collections.values() for r in c.requirements]
    yield HERE.parent / "docs" / "compliance.md", compliance.render(requirements, HERE)


def main():
    check = sys.argv[1:] == ["--check"]
    stale, wanted = [], set()
    for path, content in files():
        wanted.add(path)
        if path.exists() and path.read_text() == content:
            continue
        stale.append(path)
        if not check:
            path.write_text(content)
    for path in set(HERE.glob("rfc*.json")) - wanted:
        stale.append(path)
        if not check:
            path.unlink()
    if check and stale:
        names = ", ".join(str(path.relative_to(HERE.parent)) for path in sorted(stale))
        sys.exit(f"not what the tables say: {names}; run vectors/generate.py")


if __name__ == "__main__":
    main()
