"""Measures an encoder on retrieval sets: vectors alone, and beside BM25.

    python evaluate.py prepare BENCH OUT.json.xz     once, on any machine
    python evaluate.py measure BENCH.json.xz FOLDER DOCUMENTS QUESTIONS OUT.json
                                                     vectors that train.py left in FOLDER

`prepare` cuts documents into passages and ranks them with BM25 over Porter
stems, so that the measurement itself is a few matrix products. The figures
steer choices between students; nothing here is ever trained on.
"""
import gzip
import json
import lzma
import math
import re
import sys
from collections import Counter, defaultdict
from pathlib import Path

import numpy as np

PASSAGE = 150  # words
KEPT = 200  # documents that BM25 passes on, per question


def passages(text):
    words = text.split(" ")
    return [" ".join(words[i : i + PASSAGE]) for i in range(0, max(1, len(words)), PASSAGE)] if len(words) > PASSAGE * 1.4 else [text]


def lines(path):
    return [json.loads(line) for line in gzip.open(path, "rt")]


def sets(bench):
    """name → list of (documents {id: text}, questions [(text, {id: gain})])"""
    out = {}

    def flat(name, docs, queries):
        documents = {d["id"]: d["text"] for d in lines(bench / name / docs)}
        out[name] = [(documents, [(q["question"], q.get("rel") or {g: 1 for g in q["gold"]}) for q in lines(bench / name / queries)])]

    flat("scifact", "docs.jsonl.gz", "queries.jsonl.gz")
    flat("cosqa", "docs.jsonl.gz", "queries_dev.jsonl.gz")
    flat("cranfield", "docs.jsonl.gz", "queries.jsonl.gz")

    def scoped(name, docs, queries, scope, text, gold):
        groups = defaultdict(lambda: ({}, []))
        for d in docs:
            groups[d[scope]][0][d["id"]] = text(d)
        for q in queries:
            if q[gold] and q.get("type") != "abstention":
                groups[q[scope]][1].append((q["question"], {g: 1 for g in q[gold]}))
        out[name] = [g for g in groups.values() if g[1]]

    turn = lambda d: f"{d['speaker']}: {d['text']}" + (f" [{d['caption']}]" if d.get("caption") else "")
    asked = lines(bench / "locomo/dev-queries.jsonl.gz")
    scoped("locomo-turns", lines(bench / "locomo/dev-turns.jsonl.gz"), asked, "conv", turn, "gold_turns")
    scoped("locomo-sessions", lines(bench / "locomo/dev-sessions.jsonl.gz"), asked, "conv", lambda d: d["text"], "gold_sessions")
    scoped("beam", lines(bench / "beam/dev-docs.jsonl.gz"), lines(bench / "beam/dev-queries.jsonl.gz"), "chat", lambda d: d["text"], "gold")
    scoped("qmsum", lines(bench / "qmsum/docs_val.jsonl.gz"), lines(bench / "qmsum/queries_val.jsonl.gz"), "scope", lambda d: d["text"], "gold")
    memory = []
    for q in lines(bench / "longmemeval/dev.jsonl.gz")[::2]:
        if q["question_id"].endswith("_abs"):
            continue
        documents = {i: "\n".join(f"{t['role']}: {t['content']}" for t in s) for i, s in zip(q["haystack_session_ids"], q["haystack_sessions"])}
        memory.append((documents, [(q["question"], {g: 1 for g in q["answer_session_ids"]})]))
    out["longmemeval"] = memory
    return out


def bm25(documents, questions):
    import snowballstemmer

    stemmer = snowballstemmer.stemmer("porter")
    known = {}

    def terms(text):
        out = []
        for word in re.findall(r"[^\W_]+", text.lower()):
            if word not in known:
                known[word] = stemmer.stemWord(word)
            out.append(known[word])
        return out

    counted = [Counter(terms(t)) for t in documents]
    lengths = [sum(c.values()) for c in counted]
    mean = sum(lengths) / len(lengths)
    postings = defaultdict(list)
    for i, c in enumerate(counted):
        for term, n in c.items():
            postings[term].append((i, n))
    for question in questions:
        scores = defaultdict(float)
        for term in set(terms(question)):
            found = postings.get(term, ())
            idf = math.log(1 + (len(documents) - len(found) + 0.5) / (len(found) + 0.5))
            for i, n in found:
                scores[i] += idf * n * 2.2 / (n + 1.2 * (0.25 + 0.75 * lengths[i] / mean))
        yield sorted(scores.items(), key=lambda s: (-s[1], s[0]))[:KEPT]


def prepare(bench, out):
    """{name: [{documents: [[passage numbers]], questions: [{text, gold, bm25}]}]} and the passages."""
    texts, place, data = [], {}, {}
    for name, scopes in sets(Path(bench)).items():
        data[name] = []
        for documents, questions in scopes:
            ids = {d: i for i, d in enumerate(documents)}
            numbers = []
            for text in documents.values():
                row = []
                for passage in passages(text):
                    if passage not in place:
                        place[passage] = len(texts)
                        texts.append(passage)
                    row.append(place[passage])
                numbers.append(row)
            ranked = bm25(list(documents.values()), [q for q, _ in questions])
            data[name].append({
                "documents": numbers,
                "questions": [{"text": q, "gold": {ids[g]: n for g, n in gold.items() if g in ids}, "bm25": [[i, round(s, 3)] for i, s in r]} for (q, gold), r in zip(questions, ranked)],
            })
        print(name, len(data[name]), sum(len(s["documents"]) for s in data[name]), sum(len(s["questions"]) for s in data[name]), file=sys.stderr, flush=True)
    with lzma.open(out, "wt", preset=6) as f:
        json.dump({"texts": texts, "sets": data}, f)


def ndcg(order, gold):
    got = sum(gold.get(int(d), 0) / math.log2(i + 2) for i, d in enumerate(order[:10]))
    best = sum(g / math.log2(i + 2) for i, g in enumerate(sorted(gold.values(), reverse=True)[:10]))
    return got / best if best else 0.0


def recall(order, gold):
    return sum(1 for d in order[:10] if int(d) in gold) / len(gold)


WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0)


class Bench:
    """The prepared sets, with everything that does not depend on the model."""

    def __init__(self, path):
        data = json.load(lzma.open(path, "rt"))
        self.texts, self.sets = data["texts"], data["sets"]
        self.questions = []
        for scopes in self.sets.values():
            for scope in scopes:
                counts = [len(d) for d in scope["documents"]]
                scope["flat"] = np.asarray([p for d in scope["documents"] for p in d])
                scope["starts"] = np.concatenate([[0], np.cumsum(counts)[:-1]])
                scope["first"] = len(self.questions)
                for q in scope["questions"]:
                    q["gold"] = {int(k): v for k, v in q["gold"].items()}
                    self.questions.append(q["text"])

    def measure(self, passages, questions):
        """NDCG@10 and R@10 in percent per set, alone and for every weight of the vectors beside BM25."""
        import torch

        out = {}
        for name, scopes in self.sets.items():
            rows = []
            for scope in scopes:
                ask = questions[scope["first"] : scope["first"] + len(scope["questions"])]
                scores = (ask.float() @ passages[torch.as_tensor(scope["flat"], device=passages.device)].float().T).cpu().numpy()
                scores = np.maximum.reduceat(scores, scope["starts"], axis=1)
                for q, row in zip(scope["questions"], scores):
                    if not q["gold"]:
                        continue
                    words = np.zeros(len(row), np.float32)
                    for i, s in q["bm25"]:
                        words[i] = s
                    words /= max(words.max(), 1e-6)
                    spread = row.max() - row.mean()
                    meaning = np.maximum(0, (row - row.mean()) / max(spread, 1e-6))
                    result = [ndcg(top(row), q["gold"]), recall(top(row), q["gold"])]
                    for w in WEIGHTS:
                        order = top(words + w * meaning)
                        result += [ndcg(order, q["gold"]), recall(order, q["gold"])]
                    rows.append(result)
            mean = 100 * np.mean(rows, axis=0)
            out[name] = {"n": len(rows), "vectors": mean[:2].round(1).tolist(), "fused": {w: mean[2 + 2 * i : 4 + 2 * i].round(1).tolist() for i, w in enumerate(WEIGHTS)}}
        return out


def top(scores):
    some = np.argpartition(-scores, min(10, len(scores) - 1))[:10]
    return some[np.argsort(-scores[some], kind="stable")]


def line(name, figures):
    """One row: NDCG@10 alone / at the best weight that is the same for all sets."""
    best = max(WEIGHTS, key=lambda w: np.mean([f["fused"][w][0] for f in figures.values()]))
    cells = [f"{f['vectors'][0]:5.1f}/{f['fused'][best][0]:5.1f}" for f in figures.values()]
    mean = np.mean([f["vectors"][0] for f in figures.values()]), np.mean([f["fused"][best][0] for f in figures.values()])
    return f"{name:40s} " + " ".join(cells) + f"  mean {mean[0]:.2f}/{mean[1]:.2f} w={best}"


def measure(bench, folder, documents, questions, out):
    import torch

    read = lambda name: torch.from_numpy(np.load(Path(folder) / f"{name}.npy")).float()
    figures = Bench(bench).measure(read(f"{documents}.passages"), read(f"{questions}.questions"))
    Path(out).write_text(json.dumps(figures))
    print(line(f"documents {documents}, questions {questions}", figures), flush=True)


if __name__ == "__main__":
    {"prepare": prepare, "measure": measure}[sys.argv[1]](*sys.argv[2:])
