"""Computes what `crates/forge-embed/src/tests.rs` holds the runtime against.

    python reference.py MODEL.bin reference.json tokens.json [STUDENTS DOCUMENTS QUESTIONS]

The texts of both files stay; token ids and vectors are made anew. It shares no
code with the runtime or with training: the container is read by its
description in `xtask/src/convert_model.rs`, text is cut by the `tokenizers`
library with the container's vocabulary, and the encoder is written out in
numpy with 64-bit floats. Weights are the 4-bit ones; unlike the runtime it
does not round activations. With what `export.py` read it first makes sure that
every weight of the container equals the students'.
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


def widened(section):
    """The upper halves of 32-bit floats."""
    return (np.frombuffer(section, "<u2").astype("<u4") << 16).view("<f4").astype(np.float64)


def rows(file, name):
    packed = np.frombuffer(file[f"{name}.q4"], np.uint8).reshape(-1, HIDDEN // 2)
    scales = widened(file[f"{name}.scales"])
    values = np.stack([packed & 15, packed >> 4], 2).astype(np.float64) - 8
    return (values.reshape(-1, GROUP) * scales[:, None]).reshape(-1, HIDDEN)


def linear(file, name):
    """Weights, outputs × inputs, and the bias."""
    bias = floats(file[f"{name}.bias"])
    blocks = np.frombuffer(file[f"{name}.blocks"], np.uint8).reshape(len(bias) // BLOCK, -1, BLOCK * GROUP // 2)
    scales = widened(file[f"{name}.scales"]).reshape(*blocks.shape[:2], BLOCK)
    packed = blocks.reshape(*blocks.shape[:2], 4, BLOCK, 4)
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


class Tower:
    """`halve`: before this layer, neighbouring tokens become one."""

    def __init__(self, file, name, halve=None):
        self.halve = halve
        self.word, self.position = rows(file, "word"), rows(file, f"{name}.position")
        self.norm = norm(file, f"{name}.norm")
        self.layers = []
        while f"{name}.{len(self.layers)}.qkv.bias" in file:
            at = f"{name}.{len(self.layers)}"
            matrices = [linear(file, f"{at}.{part}") for part in ("qkv", "mix", "up", "down")]
            self.layers.append((*matrices, norm(file, f"{at}.mix.norm"), norm(file, f"{at}.down.norm")))

    def vector(self, ids):
        x = self.norm(self.word[ids] + self.position[: len(ids)])
        for i, (qkv, mix, up, down, mix_norm, down_norm) in enumerate(self.layers):
            if i == self.halve:
                x = np.stack([x[at : at + 2].mean(0) for at in range(0, len(x), 2)])
            go = lambda x, part: x @ part[0].T + part[1]
            q, k, v = go(x, qkv).reshape(len(x), 3, HEADS, -1).transpose(1, 2, 0, 3)
            scores = q @ k.transpose(0, 2, 1) / math.sqrt(HIDDEN // HEADS)
            share = np.exp(scores - scores.max(2, keepdims=True))
            share /= share.sum(2, keepdims=True)
            x = mix_norm(x + go((share @ v).transpose(1, 0, 2).reshape(len(x), HIDDEN), mix))
            wide = go(x, up)
            x = down_norm(x + go(wide * 0.5 * (1 + erf(wide / math.sqrt(2))), down))
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def towers(file):
    return {"vector": Tower(file, "d", halve=1), "question": Tower(file, "q")}


def tokenizer(file):
    ends = np.cumsum(np.frombuffer(file["vocab.lengths"], np.uint8), dtype=np.int64)
    assert [0, *ends[15:-1:16]] == list(np.frombuffer(file["vocab.starts"], "<u4"))
    text = file["vocab.text"]
    words = [text[a:b].decode() for a, b in zip([0, *ends[:-1]], ends)]
    vocabulary = {word: i for i, word in enumerate(words)}
    cut = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]", max_input_chars_per_word=100))
    cut.normalizer = normalizers.BertNormalizer(lowercase=True)
    cut.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    cut.post_processor = processors.BertProcessing(("[SEP]", vocabulary["[SEP]"]), ("[CLS]", vocabulary["[CLS]"]))
    cut.enable_truncation(LIMIT)
    return cut


def compare(file, students, documents, questions):
    """Every weight of the container against the students."""
    def expanded(saved, name):
        packed, scales = saved[f"{name}.q4"], saved[f"{name}.scales"]
        values = np.stack([packed & 15, packed >> 4], -1).reshape(*scales.shape, GROUP).astype(np.float64) - 8
        return (values * widened(scales.tobytes()).reshape(scales.shape)[..., None]).reshape(*scales.shape[:-1], -1)

    same = lambda what, ours, theirs: np.testing.assert_array_equal(ours, theirs, err_msg=what)
    words = expanded(np.load(f"{students}/word.q4.npz"), "word")
    same("words", rows(file, "word"), np.concatenate([words[100:103], words[999:]]))
    for short, name in (("d", documents), ("q", questions)):
        saved = np.load(f"{students}/{name}.q4.npz")
        same("positions", rows(file, f"{short}.position"), expanded(saved, "position"))
        norms = {f"{short}.norm": [saved["norm_gain"], saved["norm_bias"]]}
        matrices = {part: expanded(saved, part) for part in ("qkv", "o", "up", "down")}
        for i in range(len(saved["qkv.q4"])):
            for ours, theirs in (("qkv", "qkv"), ("mix", "o"), ("up", "up"), ("down", "down")):
                weight, bias = linear(file, f"{short}.{i}.{ours}")
                same(ours, weight, matrices[theirs][i])
                same(ours, bias, saved[f"{theirs}_bias"][i])
            norms |= {f"{short}.{i}.{a}.norm": [saved[f"{b}_norm_{k}"][i] for k in ("gain", "bias")] for a, b in (("mix", "o"), ("down", "down"))}
        for ours, (gain, bias) in norms.items():
            same(ours, floats(file[f"{ours}.gain"]), gain)
            same(ours, floats(file[f"{ours}.bias"]), bias)
    print("the container holds the students' weights")


def main(model, references, tokens, *students):
    file = sections(model)
    if students:
        compare(file, *students)
    cut, readers = tokenizer(file), towers(file)
    for path in (references, tokens):
        records = json.load(open(path, encoding="utf-8"))
        for record in records:
            record["ids"] = cut.encode(record["text"]).ids
            if path == references:
                for name, tower in readers.items():
                    record[name] = [round(x * 100_000) for x in tower.vector(record["ids"])]
        lines = (json.dumps(r, ensure_ascii=False, separators=(",", ":"), sort_keys=True) for r in records)
        with open(path, "w", encoding="utf-8", newline="\n") as out:
            out.write("[\n" + ",\n".join(lines) + "\n]\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
