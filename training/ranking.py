"""Fits the constants of ranking, and tells what each step is worth.

Works on what `cargo xtask bench recall` left behind: the indexes of its
workspaces (passages, vectors) and, for each set, `--dump <set>.jsonl` (questions
with their vectors). It repeats the product's formula outside of it, so that a
constant can be tried in seconds; the last word has the bench itself.

    python training/ranking.py target/bench/recall dumps/            # every step
    python training/ranking.py target/bench/recall dumps/ --transfer # see below

`--transfer` leaves out each set in turn, takes for every constant the value that
is best on the others, and prints what the set gets by it beside what it gets by
the constants as they are. Needs numpy and snowballstemmer.
"""

import json
import math
import re
import sqlite3
import sys
import unicodedata
from pathlib import Path

import numpy as np
import snowballstemmer

# As in the product: recall/common.rs, index/reread.rs, index/postings.rs,
# recall/fuse.rs, Embedder::unrelated.
CHOSEN = {
    "common": 0.4,
    "pair": 0.2,
    "told": 0.3,
    "read": 64,
    "k1": 0.9,
    "b": 0.7,
    "vectors": 1.6,
    "spread": 0.25,
    "crowd": 200,
}
UNRELATED = 0.61
STEPS = [
    ("before", {"common": 1.0, "pair": 0.0, "told": 0.0, "k1": 1.2, "b": 0.6, "vectors": 1.4}),
    ("common words", {"pair": 0.0, "told": 0.0, "k1": 1.2, "b": 0.6, "vectors": 1.4}),
    ("and neighbours", {"told": 0.0, "k1": 1.2, "b": 0.6, "vectors": 1.4}),
    ("and who speaks", {"k1": 1.2, "b": 0.6, "vectors": 1.4}),
    ("and constants: as it is", {}),
]
GRID = {
    "common": (0.25, 0.6),
    "pair": (0.1, 0.3),
    "told": (0.15, 0.5),
    "b": (0.6, 0.8),
    "vectors": (1.4, 1.8),
    "spread": (0.0, 0.1),
}

ENGLISH = re.search(
    r'const ENGLISH: &str = "\\\n(.*?)";',
    (Path(__file__).parent.parent / "crates/forge-memory/src/recall/common.rs").read_text(),
    re.S,
)[1].replace("\\\n", " ")

RUN = re.compile(r"[A-Za-z0-9\-\u00c0-\uffff][\w\-./:@'’\\+#]*")
SPEAKER = re.compile(r"^[\s#>*_\-\[]*(user|human|me|assistant)[*_\] ]*:", re.I)
stemmer = snowballstemmer.stemmer("english")
known = {}


def fold(text):
    if text.isascii():
        return text.lower()
    marks = unicodedata.normalize("NFKD", text)
    return "".join(c for c in marks if not unicodedata.combining(c)).lower()


def stem(word):
    plain = len(word) > 3 and word.isascii() and word.isalpha()
    return stemmer.stemWord(word) if plain else word


def humps(core):
    parts = []
    for piece in re.split(r"[\W_]", core):
        start = 0
        for i in range(1, len(piece)):
            before, here, after = piece[i - 1], piece[i], piece[i + 1 : i + 2]
            if here.isupper() and (before.islower() or (before.isupper() and after.islower())):
                parts.append(piece[start:i])
                start = i
        if piece[start:]:
            parts.append(piece[start:])
    return parts


def of_run(run):
    if run not in known:
        core = re.sub(r"^[\W_]+|[\W_]+$", "", run)
        core = re.sub(r"['’]s$", "", core)
        parts = humps(core)
        terms = [stem(fold(core))] if parts == [core] else [fold(core)] + [stem(fold(p)) for p in parts]
        if run.startswith("-"):
            terms.append(fold(re.sub(r"[\W_]+$", "", run)))
        known[run] = list(dict.fromkeys(t[:64] for t in terms if t)) if core else []
    return known[run]


def terms_of(text):
    return [term for run in RUN.findall(text) for term in of_run(run)]


COMMON = set(terms_of(ENGLISH))


class Group:
    """One workspace: its passages as numbers of terms, and their vectors."""

    def __init__(self, folder, vocabulary):
        number = lambda term: vocabulary.setdefault(term, len(vocabulary))
        db = sqlite3.connect(f"file:{folder}/.memory-forge/index.db?mode=ro", uri=True)
        files = db.execute("select id, path, title from file").fetchall()
        rows = db.execute("select id, file, headings, text from chunk order by id").fetchall()
        place = {row[0]: at for at, row in enumerate(files)}
        self.files = [Path(row[1]).stem for row in files]
        self.owner = np.array([place[row[1]] for row in rows])
        self.first = np.flatnonzero(np.r_[True, self.owner[1:] != self.owner[:-1]])
        title = [set(map(number, terms_of(f"{row[2]} {Path(row[1]).stem}"))) for row in files]
        self.fields = [set(map(number, terms_of(row[2]))) for row in rows]
        self.titles = [title[owner] for owner in self.owner]
        self.terms, self.told = [], []
        for row in rows:
            terms, told, user = [], [], False
            for line in row[3].split("\n"):
                if spoken := SPEAKER.match(line):
                    user = spoken[1].lower() != "assistant"
                here = [number(term) for term in terms_of(line)]
                terms += here
                told += [user] * len(here)
            self.terms.append(np.array(terms, np.int32))
            self.told.append(np.array(told, bool))
        self.lengths = np.array([len(t) for t in self.terms], np.float32)
        pages = dict(db.execute("select page, data from vector"))
        width = len(next(iter(pages.values()))) // 1024
        raw = [pages[row[0] // 1024][row[0] % 1024 * width :][:width] for row in rows]
        scale = np.array([np.frombuffer(r, "<f4", 1)[0] for r in raw])
        self.vectors = np.array([np.frombuffer(r, np.int8, offset=4) for r in raw]) * scale[:, None]
        self.lists = {}
        self.all = np.concatenate(self.terms)
        self.order = np.argsort(self.all, kind="stable")
        self.sorted = self.all[self.order]
        self.passage = np.repeat(np.arange(len(rows)), [len(t) for t in self.terms])
        self.all_told = np.concatenate(self.told)

    def list(self, term):
        """Passages that hold a term: how often, and how often the user says it."""
        if term not in self.lists:
            here = self.order[slice(*np.searchsorted(self.sorted, [term, term + 1]))]
            n = len(self.owner)
            body = np.bincount(self.passage[here], minlength=n).astype(np.float32)
            told = np.bincount(self.passage[here], self.all_told[here], n)
            extra = [(term in f) + (term in t) for f, t in zip(self.fields, self.titles)]
            count = body + np.array(extra, np.float32)
            at = np.flatnonzero(count)
            self.lists[term] = (at, count[at], told[at].astype(np.float32))
        return self.lists[term]

    def best(self, at, scores):
        """The best of each file's passages."""
        whole = np.zeros(len(self.owner), np.float32)
        whole[at] = scores
        out = np.zeros(len(self.files), np.float32)
        out[self.owner[self.first]] = np.maximum.reduceat(whole, self.first)
        return out


class Question:
    def __init__(self, record, group, vocabulary):
        sequence = terms_of(record["question"])
        self.group, self.gold = group, set(record["gold"])
        names = list(dict.fromkeys(sequence))
        self.terms = [vocabulary.setdefault(t, len(vocabulary)) for t in names]
        self.common = [t in COMMON for t in names]
        places = [names.index(t) for t in sequence]
        self.pairs = {(a, b) for a, b in zip(places, places[1:]) if a != b}
        self.cosines = group.vectors @ np.array(record["query"])

    def scores(self, c):
        group = self.group
        n, average = len(group.owner), group.lengths.mean()
        norm = c["k1"] * (1 - c["b"] + c["b"] * group.lengths / max(average, 1))
        bm25 = lambda weight, count, at: weight * count * (c["k1"] + 1) / (count + norm[at])
        text = np.zeros(n, np.float32)
        spread = np.zeros(len(group.files), np.float32)
        weights = []
        for term, common in zip(self.terms, self.common):
            at, count, _ = group.list(term)
            rarity = math.log(1 + (n - len(at) + 0.5) / (len(at) + 0.5)) if len(at) else 0.0
            weights.append(rarity * (c["common"] if common else 1.0))
            added = bm25(weights[-1], count, at)
            text[at] += added
            spread += group.best(at, added)
        best = np.argsort(-text, kind="stable")[: c["read"]]
        read = np.zeros(n, bool)
        read[best[text[best] > 0]] = True
        more = np.zeros(n, np.float32)
        if c["told"]:
            for term, weight in zip(self.terms, weights):
                at, _, told = group.list(term)
                at, told = at[read[at]], told[read[at]]
                more[at] += bm25(c["told"] * weight, told, at)
        if c["pair"]:
            for passage in np.flatnonzero(read):
                words = group.terms[passage]
                for a, b in self.pairs:
                    side = (words[:-1] == self.terms[a]) & (words[1:] == self.terms[b])
                    if count := side.sum():
                        weight = c["pair"] * (weights[a] + weights[b])
                        more[passage] += bm25(weight, count, passage)
        text += more
        every = np.arange(n)
        words = group.best(every, text)
        words += c["spread"] * np.maximum(np.maximum(spread, words) - words, 0)
        near = self.cosines.max()
        crowd = np.sort(self.cosines)[::-1][: c["crowd"]]
        far = crowd[-1] if len(crowd) == c["crowd"] else min(crowd[-1], UNRELATED)
        nearness = lambda cosine: (cosine - UNRELATED) / (1 - UNRELATED)
        out = np.maximum(0, (self.cosines - far) / max(near - far, 1e-9))
        out[(text == 0) & (nearness(self.cosines) < 0.2)] = 0
        confidence = min(max(nearness(near), 0), 1)
        return words / max(words.max(), 1e-9) + c["vectors"] * confidence * group.best(every, out)

    def figures(self, c):
        scores = self.scores(c)
        names = self.group.files
        order = sorted(range(len(names)), key=lambda at: (-scores[at], names[at]))[:10]
        held = [names[at] in self.gold for at in order]
        gain = sum(hit / math.log2(at + 2) for at, hit in enumerate(held))
        ideal = sum(1 / math.log2(at + 2) for at in range(min(10, len(self.gold))))
        return gain / ideal, sum(held) / len(self.gold)


def read(workspaces, dump):
    vocabulary = {}
    records = [json.loads(line) for line in open(dump)]
    folders = sorted((workspaces / dump.stem).iterdir(), key=lambda it: int(it.name))
    groups = [Group(folder, vocabulary) for folder in folders]
    by_name = {}
    for record in records:
        if record["group"] not in by_name:
            found = {hit[0] for hit in record["text"] + record["vector"]}
            free = [g for g in groups if g not in by_name.values()]
            by_name[record["group"]] = next(g for g in free if found <= set(g.files))
    return [Question(record, by_name[record["group"]], vocabulary) for record in records]


def measure(sets, constants):
    c = {**CHOSEN, **constants}
    return {
        name: 100 * np.mean([q.figures(c) for q in questions], axis=0)
        for name, questions in sets.items()
    }


def show(name, figures):
    cells = "  ".join(f"{n:5.1f} / {r:5.1f}" for n, r in figures.values())
    mean = np.mean([n for n, _ in figures.values()])
    print(f"{name:26} {cells}  mean {mean:.2f}", flush=True)


def transfer(sets):
    chosen = measure(sets, {})
    tried = {(k, v): measure(sets, {k: v}) for k, values in GRID.items() for v in values}
    for left in sets:
        others = [name for name in sets if name != left]
        mean = lambda figures: np.mean([figures[name][0] for name in others])
        constants = {}
        for key, values in GRID.items():
            best = max(values, key=lambda v: mean(tried[key, v]))
            if mean(tried[key, best]) > mean(chosen):
                constants[key] = best
        alone = measure({left: sets[left]}, constants)[left]
        print(f"{left:14} NDCG@10 {alone[0]:.1f} by the others {constants}, {chosen[left][0]:.1f} as it is")


def main():
    workspaces, dumps = Path(sys.argv[1]), Path(sys.argv[2])
    sets = {path.stem: read(workspaces, path) for path in sorted(dumps.glob("*.jsonl"))}
    print("NDCG@10 / R@10 of", ", ".join(sets))
    if "--transfer" in sys.argv:
        return transfer(sets)
    for name, constants in STEPS:
        show(name, measure(sets, constants))


main()
