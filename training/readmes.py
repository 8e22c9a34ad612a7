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
    try:
        with urllib.request.urlopen(f"{os.environ['PYPI']}/pypi/{name}/{version}/json", timeout=60) as answer:
            info = json.load(answer)["info"]
    except OSError as error:
        print(f"{pin}: {error}", file=sys.stderr)
        return None
    return {"name": name, "version": version, "summary": info["summary"], "text": (info["description"] or "")[:60000]}


def main(pins, out):
    pins = open(pins).read().split()
    with concurrent.futures.ThreadPoolExecutor(6) as pool, open(out, "w") as file:
        for entry in pool.map(one, pins):
            if entry:
                file.write(json.dumps(entry) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
