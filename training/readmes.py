"""Fetches the descriptions of the packages in a list of `name==version`.

    PYPI=<root of the package index> python readmes.py LIST OUT.jsonl
"""
import concurrent.futures
import json
import os
import sys
import urllib.request


def one(pin):
    name, version = pin.split("==")
    info = ask(f"{name}/{version}") or ask(name)  # not every mirror keeps old versions
    if not info:
        print(f"{pin}: not found", file=sys.stderr)
        return None
    if info["version"] != version:
        print(f"{pin}: took {info['version']}", file=sys.stderr)
    return {"name": name, "version": info["version"], "summary": info["summary"], "text": (info["description"] or "")[:60000]}


def ask(what):
    try:
        with urllib.request.urlopen(f"{os.environ['PYPI']}/pypi/{what}/json", timeout=60) as answer:
            return json.load(answer)["info"]
    except OSError:
        return None


def main(pins, out):
    pins = open(pins).read().split()
    with concurrent.futures.ThreadPoolExecutor(6) as pool, open(out, "w") as file:
        for entry in pool.map(one, pins):
            if entry:
                file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
