"""Writes trained students in the layout that `cargo xtask convert-model` reads.

    python export.py STUDENTS DOCUMENTS QUESTIONS wordpiece.json FOLDER [HALVED [UNRELATED]]

STUDENTS is what `train.py` left: `word.q4.npz` and a file for each tower, of
which DOCUMENTS and QUESTIONS are the names. No value changes: the 4-bit groups
of the students are the 4-bit groups of the file. HALVED is the layer of the
tower for documents before which neighbouring tokens become one, or `never`;
UNRELATED is the cosine of texts that have nothing to do with one another.
Left out, both are those of the built-in model.
"""
import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np

KINDS = {np.dtype(np.uint8): "U8", np.dtype(np.uint16): "BF16", np.dtype(np.float32): "F32"}


def main(students, documents, questions, tokenizer, folder, halved=None, unrelated=None):
    students = Path(students)
    tensors, layers = dict(np.load(students / "word.q4.npz")), {}
    for tower, name in (("documents", documents), ("questions", questions)):
        saved = np.load(students / f"{name}.q4.npz")
        tensors |= {f"{tower}.{n}": saved[n] for n in saved.files}
        layers[tower] = len(saved["qkv.q4"])
    assets = Path(folder) / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    header, at, body = {}, 0, []
    for name in sorted(tensors):
        value = np.ascontiguousarray(tensors[name])
        data = value.tobytes()
        header[name] = {"dtype": KINDS[value.dtype], "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        body.append(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    file = struct.pack("<Q", len(head)) + head + b"".join(body)
    (assets / "model.safetensors").write_bytes(file)
    words = Path(tokenizer).read_bytes()
    (assets / "tokenizer.json").write_bytes(words)
    (assets / "provenance.json").write_text(json.dumps({
        "bundled_sha256": hashlib.sha256(file).hexdigest(),
        "tokenizer_sha256": hashlib.sha256(words).hexdigest(),
        **layers,
        **({} if halved is None else {"halved_before": False if halved == "never" else int(halved)}),
        **({} if unrelated is None else {"unrelated": float(unrelated)}),
        "license": "Apache-2.0",
    }, indent=2) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
