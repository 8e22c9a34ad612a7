"""Writes a trained student in the layout that `cargo xtask convert-model` reads.

    python export.py STUDENT.q4.npz wordpiece.json FOLDER

No value changes: the 4-bit groups of the student are the 4-bit groups of the
file. FOLDER/student.f16.npz has the same weights expanded, for other tools.
"""
import hashlib
import json
import struct
import sys
from pathlib import Path

import numpy as np

PARTS = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "o": "attention.output.dense",
    "o_norm": "attention.output.LayerNorm",
    "up": "intermediate.dense",
    "down": "output.dense",
    "down_norm": "output.LayerNorm",
}
TABLES = {"word": "word_embeddings", "position": "position_embeddings", "kind": "token_type_embeddings"}
TOKENS = 256


def name_of(ours):
    parts = ours.split(".")
    if parts[0] == "layers":
        return ".".join([f"encoder.layer.{parts[1]}", PARTS[parts[2]], *parts[3:]])
    if parts[0] == "norm":
        return f"embeddings.LayerNorm.{parts[1]}"
    return ".".join(["embeddings." + TABLES[parts[0]], *parts[1:]])


def main(student, tokenizer, folder):
    saved = np.load(student)
    tensors = {name_of(n): np.ascontiguousarray(saved[n]) for n in sorted(saved.files)}
    layers = 1 + max(int(n.split(".")[1]) for n in saved.files if n.startswith("layers."))
    assets = Path(folder) / "assets"
    assets.mkdir(parents=True, exist_ok=True)
    kinds = {np.dtype(np.uint8): "U8", np.dtype(np.float16): "F16", np.dtype(np.float32): "F32"}
    header, at, body = {}, 0, []
    for name, value in tensors.items():
        data = value.tobytes()
        header[name] = {"dtype": kinds[value.dtype], "shape": list(value.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        body.append(data)
    head = json.dumps(header, separators=(",", ":")).encode()
    head += b" " * (-len(head) % 8)
    file = struct.pack("<Q", len(head)) + head + b"".join(body)
    (assets / "model.safetensors").write_bytes(file)
    words = Path(tokenizer).read_bytes()
    (assets / "tokenizer.json").write_bytes(words)
    (assets / "provenance.json").write_text(json.dumps({
        "student": Path(student).name.split(".")[0],
        "bundled_sha256": hashlib.sha256(file).hexdigest(),
        "tokenizer_sha256": hashlib.sha256(words).hexdigest(),
        "dimensions": int(saved["norm.weight"].shape[0]),
        "layers": layers,
        "max_tokens": TOKENS,
        "license": "Apache-2.0",
    }, indent=2) + "\n")
    expanded = {}
    for name in saved.files:
        if name.endswith(".q4"):
            packed, scales = saved[name], saved[name[:-3] + ".scales"].astype(np.float32)
            values = np.stack([packed & 15, packed >> 4], 2).reshape(len(packed), -1).astype(np.float32) - 8
            expanded[name[:-3]] = (values.reshape(*scales.shape, 32) * scales[..., None]).reshape(values.shape).astype(np.float16)
        elif not name.endswith(".scales"):
            expanded[name] = saved[name]
    np.savez(Path(folder) / "student.f16.npz", **expanded)


if __name__ == "__main__":
    main(*sys.argv[1:])
