"""The teachers' encoder, and how text becomes vectors."""
import math
import os

import numpy as np
import torch
import torch.nn.functional as F
from tokenizers import Tokenizer
from torch import nn

QUERY_PREFIX = "Represent this sentence for searching relevant passages: "


class Layer(nn.Module):
    def __init__(self, hidden, heads, wide):
        super().__init__()
        self.heads = heads
        self.q, self.k, self.v, self.o = (nn.Linear(hidden, hidden) for _ in range(4))
        self.o_norm = nn.LayerNorm(hidden, eps=1e-12)
        self.up, self.down = nn.Linear(hidden, wide), nn.Linear(wide, hidden)
        self.down_norm = nn.LayerNorm(hidden, eps=1e-12)

    def forward(self, x, mask):
        batch, length, hidden = x.shape
        split = lambda t: t.view(batch, length, self.heads, -1).transpose(1, 2)
        mixed = F.scaled_dot_product_attention(split(self.q(x)), split(self.k(x)), split(self.v(x)), attn_mask=mask)
        x = self.o_norm(x + self.o(mixed.transpose(1, 2).reshape(batch, length, hidden)))
        return self.down_norm(x + self.down(F.gelu(self.up(x))))


class Encoder(nn.Module):
    """BERT without a head. `pooling` is `cls` or `mean`; vectors have length one."""

    def __init__(self, layers, hidden=384, heads=12, wide=1536, vocabulary=30522, positions=512, pooling="mean", first_position=0):
        super().__init__()
        self.word = nn.Embedding(vocabulary, hidden)
        self.position = nn.Embedding(positions, hidden)
        self.kind = nn.Embedding(2, hidden)
        self.norm = nn.LayerNorm(hidden, eps=1e-12)
        self.layers = nn.ModuleList(Layer(hidden, heads, wide) for _ in range(layers))
        self.pooling, self.first_position = pooling, first_position

    def forward(self, ids, mask):
        at = torch.arange(ids.shape[1], device=ids.device) + self.first_position
        x = self.word(ids) + self.position(at) + self.kind.weight[0]
        x = self.norm(x)
        attend = mask[:, None, None, :].bool()
        for layer in self.layers:
            x = layer(x, attend)
        x = x.float()
        if self.pooling == "cls":
            return F.normalize(x[:, 0], dim=-1)
        weight = mask[..., None].float()
        return F.normalize((x * weight).sum(1), dim=-1)


def load_teacher(path, pooling, first_position=0):
    """An encoder from a file that `teachers.py` wrote."""
    data = np.load(path)
    get = lambda name: torch.from_numpy(expand(data, name))
    layers = 1 + max(int(n.split(".")[0]) for n in data.files if n[0].isdigit())
    word, position = get("word"), get("position")
    model = Encoder(layers, vocabulary=word.shape[0], positions=position.shape[0], pooling=pooling, first_position=first_position)
    state = {"word.weight": word, "position.weight": position, "kind.weight": get("kind"), "norm.weight": get("norm.weight"), "norm.bias": get("norm.bias")}
    for i in range(layers):
        for part in ("q", "k", "v", "o", "up", "down"):
            state[f"layers.{i}.{part}.weight"] = get(f"{i}.{part}")
            state[f"layers.{i}.{part}.bias"] = get(f"{i}.{part}.b")
        for part in ("o", "down"):
            for kind in ("weight", "bias"):
                state[f"layers.{i}.{part}_norm.{kind}"] = get(f"{i}.{part}.norm.{kind}")
    model.load_state_dict(state)
    return model


def expand(data, name):
    if name in data.files:
        return data[name].astype(np.float32)
    values, scale = data[name + ".i8"].astype(np.float32), data[name + ".scale"].astype(np.float32)
    return (values.reshape(*scale.shape, -1) * scale[..., None]).reshape(values.shape)


def _ids(job):
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    path, limit, texts = job
    tokenizer = Tokenizer.from_file(path)
    tokenizer.no_padding()
    tokenizer.enable_truncation(limit)
    kind = np.uint16 if tokenizer.get_vocab_size() < 65536 else np.int32
    rows = [e.ids for start in range(0, len(texts), 5000) for e in tokenizer.encode_batch(texts[start : start + 5000])]
    return np.concatenate([np.asarray(r, kind) for r in rows]), np.asarray([len(r) for r in rows])


class Tokens:
    """Token ids of many texts in one array, so that batches are slices."""

    def __init__(self, path, texts, limit, pad=0, pool=None):
        share = 20000
        jobs = [(str(path), limit, texts[i : i + share]) for i in range(0, len(texts), share)]
        parts = list(pool.imap(_ids, jobs)) if pool else [_ids(job) for job in jobs]
        self.hold(np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts]), pad)

    def hold(self, flat, lengths, pad):
        self.flat, self.pad = flat, pad
        self.lengths = lengths.astype(np.int64)
        self.starts = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        return self

    def rows(self, which):
        """Some of the texts."""
        lengths = self.lengths[which]
        ends = np.cumsum(lengths)
        at = np.arange(ends[-1]) + np.repeat(self.starts[which] - ends + lengths, lengths)
        return Tokens.__new__(Tokens).hold(self.flat[at], lengths, self.pad)

    def prefixed(self, ids, which, limit):
        """With ids after the first token of the texts that `which` marks; the end is cut where it gets too long."""
        more = np.where(which, len(ids), 0)
        lengths = self.lengths + more
        ends = np.cumsum(lengths)
        flat = np.empty(ends[-1], self.flat.dtype)
        own = np.ones(ends[-1], bool)
        for i in range(len(ids)):
            at = (ends - lengths)[which] + 1 + i
            flat[at], own[at] = ids[i], False
        flat[own] = self.flat
        out = Tokens.__new__(Tokens).hold(flat, lengths, self.pad)
        out.lengths = np.minimum(lengths, limit)
        return out

    def to(self, device):
        self.device = device
        self.flat_there = torch.from_numpy(np.concatenate([self.flat.astype(np.int32), [self.pad]])).to(device)
        self.starts_there = torch.from_numpy(self.starts).to(device)
        self.lengths_there = torch.from_numpy(self.lengths).to(device)
        return self

    def batch(self, which, width=None):
        """Ids and mask of the texts `which` (numpy indices), padded to a multiple of 16."""
        width = width or min(math.ceil(int(self.lengths[which].max()) / 16) * 16, 512)
        rows = torch.as_tensor(which, device=self.device)
        columns = torch.arange(width, device=self.device)
        mask = columns[None] < self.lengths_there[rows][:, None]
        at = torch.where(mask, self.starts_there[rows][:, None] + columns, len(self.flat))
        return self.flat_there[at].long(), mask

    def __len__(self):
        return len(self.lengths)


@torch.no_grad()
def vectors(model, tokens, budget=131072):
    """One row per text. Sorted by length so that little is wasted on padding."""
    order = np.argsort(-tokens.lengths, kind="stable")
    out = None
    start = 0
    while start < len(order):
        count = max(1, budget // max(16, int(math.ceil(tokens.lengths[order[start]] / 16) * 16)))
        which = order[start : start + count]
        got = model(*tokens.batch(which)).float()
        if out is None:
            out = torch.empty(len(tokens), got.shape[1], device=tokens.device)
        out[torch.as_tensor(which, device=tokens.device)] = got
        start += count
    return out
