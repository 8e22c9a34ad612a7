"""The students: towers of layers over one table of word vectors.

A tower reads documents or questions. All towers stand on the same table and
learn the same space, so that a cheap one may read documents and a deep one the
questions. Weights of all layers of a tower lie in one tensor, are rounded once
per step, and run in 16 bits.
"""
import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

GROUP = 32
HIDDEN, HEADS, WIDE, POSITIONS = 384, 12, 1536, 256
MATRICES = ("qkv", "o", "up", "down")


class Round(torch.autograd.Function):
    """What 4 bits do to a weight; the gradient passes through unchanged."""

    @staticmethod
    def forward(ctx, weight):
        groups = weight.reshape(-1, GROUP)
        scale = (groups.abs().amax(1, keepdim=True) / 7).clamp_min(1e-8).to(torch.bfloat16).float()
        return ((groups / scale).round().clamp(-7, 7) * scale).reshape(weight.shape)

    @staticmethod
    def backward(ctx, gradient):
        return gradient


class Rows(torch.autograd.Function):
    """Rows of a table; the gradient is summed in 32 bits."""

    @staticmethod
    def forward(ctx, table, ids):
        ctx.save_for_backward(ids)
        ctx.shape = table.shape
        return table[ids].to(torch.bfloat16)

    @staticmethod
    def backward(ctx, gradient):
        (ids,) = ctx.saved_tensors
        out = torch.zeros(ctx.shape, device=gradient.device)
        return out.index_add_(0, ids.reshape(-1), gradient.reshape(-1, ctx.shape[1]).float()), None


class Tower(nn.Module):
    """`halve`: after so many layers, neighbouring tokens become one (their mean)."""

    def __init__(self, layers, halve=None):
        super().__init__()
        self.count, self.halve = layers, halve
        shape = lambda *s: nn.Parameter(torch.zeros(*s))
        self.position = shape(POSITIONS, HIDDEN)
        self.norm_gain, self.norm_bias = shape(HIDDEN), shape(HIDDEN)
        for name, (rows, columns) in {"qkv": (3 * HIDDEN, HIDDEN), "o": (HIDDEN, HIDDEN), "up": (WIDE, HIDDEN), "down": (HIDDEN, WIDE)}.items():
            self.register_parameter(name, shape(layers, rows, columns))
            self.register_parameter(name + "_bias", shape(layers, rows))
        for name in ("o_norm", "down_norm"):
            self.register_parameter(name + "_gain", shape(layers, HIDDEN))
            self.register_parameter(name + "_bias", shape(layers, HIDDEN))

    def borrow(self, teacher, which):
        """Begins as layers of a teacher."""
        with torch.no_grad():
            self.position.copy_(teacher.position.weight[:POSITIONS] + teacher.kind.weight[0])
            self.norm_gain.copy_(teacher.norm.weight)
            self.norm_bias.copy_(teacher.norm.bias)
            for i, theirs in enumerate(which):
                layer = teacher.layers[theirs]
                self.qkv[i] = torch.cat([layer.q.weight, layer.k.weight, layer.v.weight])
                self.qkv_bias[i] = torch.cat([layer.q.bias, layer.k.bias, layer.v.bias])
                for name in ("o", "up", "down"):
                    getattr(self, name)[i] = getattr(layer, name).weight
                    getattr(self, name + "_bias")[i] = getattr(layer, name).bias
                for name in ("o_norm", "down_norm"):
                    getattr(self, name + "_gain")[i] = getattr(layer, name).weight
                    getattr(self, name + "_bias")[i] = getattr(layer, name).bias
        return self

    def weights(self, rounding):
        """What one step needs, ready for many batches."""
        out = {}
        for name, value in self.named_parameters():
            if rounding and (name in MATRICES or name == "position"):
                value = Round.apply(value)
            out[name] = value.to(torch.bfloat16)
        return out

    def forward(self, w, words, mask):
        """`words`: word vectors, `mask`: which tokens are there."""
        batch, length, _ = words.shape
        norm = lambda x, name, i=None: F.layer_norm(x, (HIDDEN,), w[name + "_gain"] if i is None else w[name + "_gain"][i], w[name + "_bias"] if i is None else w[name + "_bias"][i], 1e-12)
        x = norm(words + w["position"][:length], "norm")
        bias = attention_bias(mask, x.dtype)
        for i in range(self.count):
            if i == self.halve:
                there = mask.view(batch, length // 2, 2, 1)
                x = (x.view(batch, length // 2, 2, HIDDEN) * there).sum(2) / there.sum(2).clamp_min(1)
                length //= 2
                mask = mask.view(batch, length, 2).any(2)
                bias = attention_bias(mask, x.dtype)
            q, k, v = F.linear(x, w["qkv"][i], w["qkv_bias"][i]).view(batch, length, 3, HEADS, HIDDEN // HEADS).permute(2, 0, 3, 1, 4)
            mixed = F.scaled_dot_product_attention(q, k, v, attn_mask=bias.expand(batch, HEADS, length, length))
            mixed = mixed.transpose(1, 2).reshape(batch, length, HIDDEN)
            x = norm(x + F.linear(mixed, w["o"][i], w["o_bias"][i]), "o_norm", i)
            wide = F.gelu(F.linear(x, w["up"][i], w["up_bias"][i]))
            x = norm(x + F.linear(wide, w["down"][i], w["down_bias"][i]), "down_norm", i)
        return F.normalize((x.float() * mask[..., None]).sum(1), dim=-1)


def attention_bias(mask, dtype):
    return torch.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill_(~mask, -1e4)[:, None, None, :]


class Students(nn.Module):
    def __init__(self, towers, words):
        super().__init__()
        self.word = nn.Parameter(words.clone())
        self.towers = nn.ModuleDict(towers)
        self.rounding = False

    def table(self):
        return Round.apply(self.word) if self.rounding else self.word

    @torch.no_grad()
    def vectors(self, name, tokens, budget=262144):
        """One row per text of a `Tokens`, by the tower of that name."""
        tower, table = self.towers[name], self.table()
        weights = tower.weights(self.rounding)
        order = np.argsort(-tokens.lengths, kind="stable")
        out = torch.empty(len(tokens), HIDDEN, device=tokens.device)
        start = 0
        while start < len(order):
            width = min(POSITIONS, int(np.ceil(tokens.lengths[order[start]] / 16) * 16))
            which = order[start : start + max(1, budget // width)]
            ids, mask = tokens.batch(which, width)
            out[torch.as_tensor(which, device=tokens.device)] = tower(weights, Rows.apply(table, ids), mask)
            start += len(which)
        return out


def pack(value):
    """Rows of 4-bit numbers, two to a byte, and their scales (bfloat16 as its 16 bits)."""
    groups = torch.from_numpy(np.ascontiguousarray(value)).float().reshape(-1, GROUP)
    scale = (groups.abs().amax(1, keepdim=True) / 7).clamp_min(1e-8).to(torch.bfloat16)
    q = (groups / scale.float()).round().clamp(-7, 7).to(torch.int16).numpy().reshape(-1) + 8
    q = q.astype(np.uint8)
    packed = (q[0::2] | (q[1::2] << 4)).reshape(*value.shape[:-1], -1)
    return packed, scale.view(torch.int16).numpy().view(np.uint16).reshape(*value.shape[:-1], -1)


def unpack(packed, scales):
    values = np.stack([packed & 15, packed >> 4], -1).reshape(*packed.shape[:-1], -1).astype(np.float32) - 8
    wide = (scales.astype(np.uint32) << 16).view(np.float32)
    return (values.reshape(*scales.shape, GROUP) * wide[..., None]).reshape(values.shape)


def save(students, folder, names):
    """Exactly what the runtime holds: one file for the words, one per tower."""
    def write(path, parameters):
        data = {}
        for name, value in parameters:
            value = value.detach().float().cpu().numpy()
            if value.ndim == 3 or name in ("word", "position"):
                data[name + ".q4"], data[name + ".scales"] = pack(value)
            else:
                data[name] = value
        np.savez(path, **data)

    write(folder / "word.q4.npz", [("word", students.word)])
    for name in names:
        write(folder / f"{name}.q4.npz", students.towers[name].named_parameters())


def load(students, folders):
    """What `save` wrote, to go on from: the mean of several."""
    def read(file):
        parts = [np.load(folder / file) for folder in folders]
        for name in parts[0].files:
            if name.endswith(".q4"):
                scales = name[:-3] + ".scales"
                yield name[:-3], torch.from_numpy(sum(unpack(saved[name], saved[scales]) for saved in parts) / len(parts))
            elif not name.endswith(".scales"):
                yield name, torch.from_numpy(sum(saved[name] for saved in parts) / len(parts))

    students.word.data.copy_(dict(read("word.q4.npz"))["word"])
    for name, tower in students.towers.items():
        tower.load_state_dict(dict(read(f"{name}.q4.npz")))
