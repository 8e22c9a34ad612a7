"""Fits the weight of vectors beside full text.

Reads what `cargo xtask bench recall <set> --dump <file>` wrote for development
sets: for each question the passages that each side found, with their scores.
Prints NDCG@10 and R@10 of every candidate on every set. The product's formula
is `confidence`: text / best text + weight * confidence * standing out.

    python training/fusion.py cranfield.jsonl cosqa.jsonl ...
"""

import json
import math
import sys
from collections import defaultdict

UNRELATED = 0.62  # Embedder::unrelated of the model that was measured


def best_of_file(hits):
    best = {}
    for file, _, score, _ in hits:
        best[file] = max(best.get(file, -9.0), score)
    return best


def read(path):
    questions = []
    for line in open(path):
        q = json.loads(line)
        near = q["vector"][0][2] if q["vector"] else 0.0
        far = q["vector"][-1][2] if q["vector"] else 0.0
        questions.append(
            {
                "gold": set(q["gold"]),
                "text": best_of_file(q["text"]),
                "vector": best_of_file(q["vector"]),
                "near": near,
                "far": far,
                "covered": max((hit[3] for hit in q["text"]), default=0.0),
            }
        )
    return questions


def ranked(q, scheme, weight):
    scores = defaultdict(float)
    top = max(q["text"].values(), default=1.0) or 1.0
    confidence = max(0.0, (q["near"] - UNRELATED) / (1 - UNRELATED))
    factor = {
        "text": 0.0,
        "constant": weight,
        "confidence": weight * confidence,
        "both": weight * confidence * (2 - q["covered"]),
    }[scheme]
    for file, score in q["text"].items():
        scores[file] += score / top
    for file, score in q["vector"].items():
        stands_out = max(0.0, score - q["far"]) / (q["near"] - q["far"] + 1e-9)
        scores[file] += factor * stands_out
    order = sorted(scores.items(), key=lambda it: (-it[1], it[0]))
    return [file for file, _ in order[:10]]


def figures(questions, scheme, weight):
    ndcg = recall = 0.0
    for q in questions:
        found = ranked(q, scheme, weight)
        gain = sum(1 / math.log2(i + 2) for i, f in enumerate(found) if f in q["gold"])
        ideal = sum(1 / math.log2(i + 2) for i in range(min(10, len(q["gold"]))))
        ndcg += gain / ideal
        recall += len(set(found) & q["gold"]) / len(q["gold"])
    return 100 * ndcg / len(questions), 100 * recall / len(questions)


CANDIDATES = (
    [("text", 0.0)]
    + [("constant", w) for w in (0.4, 0.6, 0.8, 1.0)]
    + [("confidence", w) for w in (0.8, 1.0, 1.2, 1.4, 1.6, 1.8)]
    + [("both", w) for w in (0.6, 0.8, 1.0, 1.2)]
)


def main():
    sets = [read(path) for path in sys.argv[1:]]
    print("NDCG@10 / R@10 on", ", ".join(sys.argv[1:]))
    for scheme, weight in CANDIDATES:
        cells = [figures(questions, scheme, weight) for questions in sets]
        mean = sum(cell[0] for cell in cells) / len(cells)
        line = "  ".join(f"{n:5.1f} / {r:5.1f}" for n, r in cells)
        print(f"{scheme:10} {weight:3.1f}  {line}  mean {mean:.2f}")


main()
