"""Computes what `crates/forge/src/embed/tests.rs` holds the runtime against.

    python reference.py MODEL.bin reference.json tokens.json [FOLDER]

The texts of both files stay; token ids and vectors are made anew. It shares no
code with the runtime or with training: the container is read by its
description in `xtask/src/convert_model.rs`, text is cut by the `tokenizers`
library with the container's vocabulary, and the encoder is written out in
numpy with 64-bit floats. Weights are the 4-bit ones; unlike the runtime it
does not round activations. With FOLDER, which `export.py` wrote, it first
makes sure that every weight of the container equals the student's.
"""
import json
import math
import struct
import sys

import numpy as np
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

HIDDEN, HEADS, GROUP, BLOCK, LIMIT = 384, 12, 32, 16, 256
erf = np.vectorize(math.erf)


def sections(path):
    data = open(path, "rb").read()
    assert data[:8] == b"MFEMBED1"
    found = {}
    for i in range(struct.unpack_from("<I", data, 8)[0]):
        name, offset, length = struct.unpack_from("<24sII", data, 16 + 32 * i)
        found[name.rstrip(b"\0").decode()] = data[offset : offset + length]
    return found


def floats(section):
    return np.frombuffer(section, "<f4").astype(np.float64)


def rows(file, name):
    packed = np.frombuffer(file[f"{name}.q4"], np.uint8).reshape(-1, HIDDEN // 2)
    scales = np.frombuffer(file[f"{name}.scales"], "<f2").astype(np.float64)
    values = np.stack([packed & 15, packed >> 4], 2).astype(np.float64) - 8
    return (values.reshape(-1, GROUP) * scales[:, None]).reshape(-1, HIDDEN)


def linear(file, name):
    """Weights, outputs × inputs, and the bias."""
    bias = floats(file[f"{name}.bias"])
    size = BLOCK * 4 + BLOCK * GROUP // 2
    blocks = np.frombuffer(file[f"{name}.blocks"], np.uint8).reshape(len(bias) // BLOCK, -1, size)
    scales = blocks[..., : BLOCK * 4].copy().view("<f4").astype(np.float64)
    packed = blocks[..., BLOCK * 4 :].reshape(*blocks.shape[:2], 4, BLOCK, 4)
    # block, group, half, quad, output, i: an input is 16·half + 4·quad + i.
    values = np.stack([packed & 15, packed >> 4], 2).astype(np.float64) - 8
    values = values.transpose(0, 4, 1, 2, 3, 5).reshape(len(blocks), BLOCK, -1, GROUP)
    weights = values * scales.transpose(0, 2, 1)[..., None]
    return weights.reshape(len(bias), -1), bias


def norm(file, name):
    gain, bias = floats(file[f"{name}.gain"]), floats(file[f"{name}.bias"])

    def apply(x):
        x = x - x.mean(1, keepdims=True)
        return x / np.sqrt((x * x).mean(1, keepdims=True) + 1e-12) * gain + bias

    return apply


class Encoder:
    def __init__(self, file):
        self.word, self.position, self.kind = (rows(file, n) for n in ("word", "position", "kind"))
        self.norm = norm(file, "norm")
        self.layers = []
        while f"{len(self.layers)}.qkv.bias" in file:
            i = len(self.layers)
            matrices = [linear(file, f"{i}.{part}") for part in ("qkv", "mix", "up", "down")]
            self.layers.append((*matrices, norm(file, f"{i}.mix.norm"), norm(file, f"{i}.down.norm")))

    def vector(self, ids):
        x = self.norm(self.word[ids] + self.position[: len(ids)] + self.kind[0])
        for qkv, mix, up, down, mix_norm, down_norm in self.layers:
            go = lambda x, part: x @ part[0].T + part[1]
            # The query already carries 1/√32.
            q, k, v = go(x, qkv).reshape(len(ids), 3, HEADS, -1).transpose(1, 2, 0, 3)
            scores = q @ k.transpose(0, 2, 1)
            share = np.exp(scores - scores.max(2, keepdims=True))
            share /= share.sum(2, keepdims=True)
            x = mix_norm(x + go((share @ v).transpose(1, 0, 2).reshape(len(ids), HIDDEN), mix))
            wide = go(x, up)
            x = down_norm(x + go(wide * 0.5 * (1 + erf(wide / math.sqrt(2))), down))
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def tokenizer(file):
    ends = np.frombuffer(file["vocab.ends"], "<u4")
    text = file["vocab.text"]
    words = [text[a:b].decode() for a, b in zip([0, *ends[:-1]], ends)]
    vocabulary = {word: i for i, word in enumerate(words)}
    cut = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    cut.normalizer = normalizers.BertNormalizer(lowercase=True)
    cut.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cut.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    cut.enable_truncation(LIMIT)
    return cut


def compare(file, folder):
    """Every weight of the container against the expanded student."""
    student = np.load(f"{folder}/student.f16.npz")
    get = lambda name: student[name].astype(np.float64)
    same = lambda what, ours, theirs: np.testing.assert_allclose(ours, theirs, rtol=1e-3, atol=1e-7, err_msg=what)
    for table in ("word", "position", "kind"):
        ours = rows(file, table)
        same(table, ours, get(f"{table}.weight")[: len(ours)])
    norms = {"norm": "norm"}
    for i in range(1 + max(int(n.split(".")[1]) for n in student.files if n.startswith("layers."))):
        norms |= {f"{i}.mix.norm": f"layers.{i}.o_norm", f"{i}.down.norm": f"layers.{i}.down_norm"}
        for ours, theirs in (("qkv", "qkv"), ("mix", "o"), ("up", ["up"]), ("down", ["down"])):
            parts = [f"layers.{i}.{p}" for p in theirs]
            factor = [1 / math.sqrt(HIDDEN // HEADS) if p.endswith(".q") else 1 for p in parts]
            weight, bias = linear(file, f"{i}.{ours}")
            same(ours, weight, np.concatenate([get(f"{p}.weight") * f for p, f in zip(parts, factor)]))
            same(ours, bias, np.concatenate([get(f"{p}.bias") * f for p, f in zip(parts, factor)]))
    for ours, theirs in norms.items():
        same(ours, floats(file[f"{ours}.gain"]), get(f"{theirs}.weight"))
        same(ours, floats(file[f"{ours}.bias"]), get(f"{theirs}.bias"))
    print("the container holds the student's weights")


def main(model, references, tokens, folder=None):
    file = sections(model)
    if folder:
        compare(file, folder)
    cut, encoder = tokenizer(file), Encoder(file)
    for path in (references, tokens):
        records = json.load(open(path, encoding="utf-8"))
        for record in records:
            record["ids"] = cut.encode(record["text"]).ids
            if path == references:
                record["vector"] = [round(x * 100_000) for x in encoder.vector(record["ids"])]
        lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for r in records)
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            out.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
