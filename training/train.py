"""Trains students from the teachers' vectors, on one GPU.

    python train.py vectors WORK TEACHER...     what the teachers say of every text and of the bench
    python train.py students WORK PLAN OUT      trains and measures every student of the plan

WORK holds `texts*.jsonl.xz`, `bench.json.xz`, the teachers' files and, after the
first step, their vectors. PLAN is a JSON list; see `DEFAULTS` for what a
student can say. Seeds are fixed; two runs on the same kind of GPU agree up to
the order of its sums.
"""
import json
import lzma
import math
import pickle
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from common import QUERY_PREFIX, Encoder, Static, Tokens, load_teacher, vectors
from evaluate import Bench, line

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LIMIT = 256
TEACHERS = {
    # file, pooling, first position, tokenizer, padding, words before a question
    "arctic": ("arctic.npz", "cls", 0, "wordpiece.json", 0, QUERY_PREFIX),
    "gte": ("gte.npz", "mean", 0, "wordpiece.json", 0, ""),
    "granite": ("granite.npz", "cls", 2, "granite.json", 1, ""),
    "minilm3": ("minilm3.npz", "mean", 0, "wordpiece.json", 0, ""),
}
DEFAULTS = {
    "name": "student",
    "from": "arctic",  # whose weights it begins with; null: only its word vectors
    "layers": [0, 5, 11],  # which layers it takes, or how many it has
    "hidden": 384,
    "static": False,
    "teachers": {"arctic": 1.0, "gte": 1.0, "granite": 1.0},
    "kind": False,  # whether questions are marked (token type 1)
    "vector": 5.0,  # weights of the losses
    "scores": 1.0,
    "pairs": 0.0,
    "temperature": 0.03,
    "rate": 5e-4,
    "seconds": 60,
    "steps": None,
    "batch": 1024,
    "round_from": 0.5,  # the share of steps after which weights are rounded to 4 bits
    "seed": 1,
    "resume": None,  # a saved student in WORK that it goes on from
    "keep": None,  # which of that student's layers it keeps
    "save": None,  # "q4" or "f16"
}


def log(*words):
    print(f"[{time.strftime('%H:%M:%S')}]", *words, flush=True)


class Texts:
    """Every text once per role, what the teachers read for it, and which belong together."""

    def __init__(self, work):
        self.texts, self.asks, self.target, self.source = [], [], [], []
        self.teacher_texts, self.teacher_asks = [], []
        pairs, singles = [], []
        place, teacher_place, sources = {}, {}, {}

        def add(text, english, ask, source):
            key = (text, ask)
            if key not in place:
                other = (english, ask)
                if other not in teacher_place:
                    teacher_place[other] = len(self.teacher_texts)
                    self.teacher_texts.append(english)
                    self.teacher_asks.append(ask)
                place[key] = len(self.texts)
                self.texts.append(text)
                self.asks.append(ask)
                self.target.append(teacher_place[other])
                self.source.append(sources.setdefault(source, len(sources)))
            return place[key]

        for path in sorted(work.glob("texts*.jsonl.xz")):
            for text in lzma.open(path, "rt"):
                record = json.loads(text)
                source = record[1]
                if record[0] == "p":
                    q, p = record[2:4]
                    pairs.append((add(q, q, True, source), add(p, p, False, source)))
                elif record[0] == "s":
                    singles.append(add(record[2], record[2], False, source))
                else:
                    singles.append(add(record[2], record[3], record[4] == "q", "x"))
        self.pairs, self.singles = np.asarray(pairs), np.unique(singles)
        self.asks, self.target, self.source = (np.asarray(x) for x in (self.asks, self.target, self.source))
        self.teacher_asks = np.asarray(self.teacher_asks)
        log(f"{len(self.texts)} texts, {len(self.teacher_texts)} for the teachers, {len(pairs)} pairs, {len(self.singles)} alone")


def kept(path, make):
    """What takes long to make is made once."""
    if path.exists():
        return pickle.loads(path.read_bytes())
    made = make()
    path.write_bytes(pickle.dumps(made, protocol=5))
    return made


def encode(work, name, texts, asks):
    file, pooling, first, tokenizer, pad, prefix = TEACHERS[name]
    model = load_teacher(work / file, pooling, first).to(DEVICE).eval()
    tokens = Tokens(work / tokenizer, [prefix + t if a and prefix else t for t, a in zip(texts, asks)], LIMIT, pad).to(DEVICE)
    return vectors(model, tokens)


def make_vectors(work, names):
    texts = kept(work / "texts.pickle", lambda: Texts(work))
    bench = Bench(work / "bench.json.xz") if (work / "bench.json.xz").exists() else None
    for name in names:
        if bench:
            start = time.time()
            passages = encode(work, name, bench.texts, [False] * len(bench.texts))
            questions = encode(work, name, bench.questions, [True] * len(bench.questions))
            torch.save((passages.half().cpu(), questions.half().cpu()), work / f"{name}.bench.pt")
            figures = bench.measure(passages, questions)
            log(line(name, figures), f"{time.time() - start:.0f} s")
        if texts.texts and name != "minilm3":
            start = time.time()
            file = work / f"{name}.texts.pt"
            # Files of text that come later only add to what is known.
            old = torch.load(file) if file.exists() else torch.empty(0, 384).half()
            new = encode(work, name, texts.teacher_texts[len(old) :], texts.teacher_asks[len(old) :])
            torch.save(torch.cat([old, new.half().cpu()]), file)
            log(f"{name}: {len(texts.teacher_texts)} texts in {time.time() - start:.0f} s")


class Ensemble:
    """Several teachers as one: their vectors side by side, each scaled so that
    its scores spread alike, then turned into as few dimensions as the student has."""

    def __init__(self, work, weights, dimensions):
        self.weights = weights
        parts = [torch.load(work / f"{n}.texts.pt").to(DEVICE) for n in weights]
        sample = torch.randperm(len(parts[0]), generator=torch.Generator().manual_seed(0))[:4096].to(DEVICE)
        self.scale = {}
        for (name, weight), part in zip(weights.items(), parts):
            some = part[sample].float()
            half = len(some) // 2
            spread = (some[:half] @ some[half:].T).std()
            self.scale[name] = math.sqrt(weight / float(spread))
        total = math.sqrt(sum(s * s for s in self.scale.values()))
        self.scale = {n: s / total for n, s in self.scale.items()}
        wide = torch.cat([p * self.scale[n] for n, p in zip(weights, parts)], 1)
        some = wide[torch.randperm(len(wide), generator=torch.Generator().manual_seed(1))[:100000].to(DEVICE)].float()
        _, values, basis = torch.linalg.svd(some.T @ some)
        self.basis = basis[:dimensions].T.contiguous()
        self.kept = float(values[:dimensions].sum() / values.sum())
        self.texts = self.turn(wide)
        self.bench = None
        log("teachers", {n: round(s * s, 3) for n, s in self.scale.items()}, f"{self.kept:.4f} of the length kept in {dimensions} dimensions")

    def turn(self, wide):
        return torch.cat([F.normalize(part.float() @ self.basis, dim=1).half() for part in wide.split(100000)])

    def of_bench(self, work):
        both = [torch.load(work / f"{n}.bench.pt") for n in self.weights]
        return [self.turn(torch.cat([b[i].to(DEVICE) * self.scale[n] for n, b in zip(self.weights, both)], 1)) for i in (0, 1)]


def begin(work, spec, teacher):
    """A student with the first weights it can borrow."""
    torch.manual_seed(spec["seed"])
    hidden = spec["hidden"]
    if spec["static"]:
        model = Static(hidden=hidden)
        # Every token begins as the teacher's vector for a text of that token.
        ids = torch.tensor([[101, i, 102] for i in range(30522)], device=DEVICE)
        with torch.no_grad():
            reader = teacher.to(DEVICE)
            words = torch.cat([reader(part, torch.ones_like(part, dtype=torch.bool)) for part in ids.split(4096)]).cpu()
            teacher.cpu()
        words = words - words.mean(0)
        model.word.weight.data.copy_(narrow(words, hidden))
        model.gain.weight.data.zero_()
        return model
    chosen = spec["layers"]
    count = chosen if isinstance(chosen, int) else len(chosen)
    model = Encoder(count, hidden=hidden, heads=hidden // 32, wide=4 * hidden)
    for module in model.modules():
        if isinstance(module, torch.nn.Linear):
            torch.nn.init.normal_(module.weight, std=0.02 if hidden == 384 else 0.03)
            torch.nn.init.zeros_(module.bias)
    for table in ("word", "position", "kind"):
        getattr(model, table).weight.data.copy_(narrow(getattr(teacher, table).weight.detach().float(), hidden, teacher.word.weight.detach().float()))
    if hidden == 384:
        model.norm.load_state_dict(teacher.norm.state_dict())
        if not isinstance(chosen, int):
            for mine, theirs in zip(model.layers, chosen):
                mine.load_state_dict(teacher.layers[theirs].state_dict())
    # A question begins as a passage does.
    model.kind.weight.data[1] = model.kind.weight.data[0]
    return model


def narrow(table, hidden, by=None):
    if table.shape[1] == hidden:
        return table
    by = table if by is None else by
    _, _, basis = torch.linalg.svd((by - by.mean(0)).T @ (by - by.mean(0)))
    return table @ basis[:hidden].T * math.sqrt(table.shape[1] / hidden) ** 0.5


class Batches:
    """Pairs of one source and of like length together: little padding, and
    neighbours that are worth telling apart."""

    def __init__(self, texts, tokens, size, seed):
        self.rng = np.random.default_rng(seed)
        self.texts, self.tokens, self.size = texts, tokens, size

    def epoch(self):
        source = self.texts.source[self.texts.pairs[:, 1]]
        length = self.tokens.lengths[self.texts.pairs[:, 1]] + self.rng.normal(0, 5, len(source))
        # Three quarters of the batches hold one source, the rest are mixed.
        mixed = self.rng.random(len(source)) < 0.25
        order = np.lexsort((length, np.where(mixed, -1, source)))
        pairs = self.texts.pairs[order]
        pairs = [pairs[i : i + self.size] for i in range(0, len(pairs), self.size)]
        alone = self.texts.singles
        alone = alone[np.argsort(self.tokens.lengths[alone] + self.rng.normal(0, 4, len(alone)))]
        step = max(1, math.ceil(len(alone) / len(pairs)))
        alone = [alone[i : i + step] for i in range(0, len(alone), step)]
        self.rng.shuffle(pairs)
        self.rng.shuffle(alone)
        for i, pair in enumerate(pairs):
            if len(pair) >= self.size // 8:
                yield pair, alone[i % len(alone)]

    def __iter__(self):
        while True:
            yield from self.epoch()


def rotation(target, student):
    """The turn of the target's space that is nearest to where the student stands."""
    u, _, v = torch.linalg.svd(target.float().T @ student.float())
    return u @ v


def train(work, spec, texts, tokens, ensemble, teacher, out):
    model = begin(work, spec, teacher).to(DEVICE)
    if spec["resume"]:
        saved = np.load(work / spec["resume"])
        state = state_of(saved)
        if spec["keep"]:
            place = {old: new for new, old in enumerate(spec["keep"])}
            moved = {n: n.split(".", 2) for n in state}
            state = {(f"layers.{place[int(p[1])]}.{p[2]}" if p[0] == "layers" else n): state[n] for n, p in moved.items() if p[0] != "layers" or int(p[1]) in place}
        model.load_state_dict(state)
    sample = np.random.default_rng(0).choice(len(texts.texts), min(20000, len(texts.texts)), replace=False)
    some = Subset(tokens, sample)
    where = torch.as_tensor(texts.target, device=DEVICE)
    turn = rotation(ensemble.texts[where[torch.as_tensor(sample, device=DEVICE)]], vectors(model, some))
    target = torch.cat([(part.float() @ turn).half() for part in ensemble.texts.split(100000)])
    asks = torch.as_tensor(texts.asks, device=DEVICE).long()

    decay = [p for n, p in model.named_parameters() if p.ndim > 1 and not n.startswith(("word", "position", "kind", "gain"))]
    rest = [p for n, p in model.named_parameters() if not any(p is d for d in decay)]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=spec["rate"], betas=(0.9, 0.98), eps=1e-6, fused=DEVICE.type == "cuda")
    total, warm = spec["steps"], 100
    probe = 30
    began = None
    sums, history = np.zeros(4), []
    temperature = spec["temperature"]
    for step, (pair, alone) in enumerate(Batches(texts, tokens, spec["batch"], spec["seed"])):
        if step == probe and total is None:
            torch.cuda.synchronize() if DEVICE.type == "cuda" else None
            total = probe + int(spec["seconds"] / ((time.time() - began) / (probe - 10)))
            log(spec["name"], f"{total} steps")
        if step == 300 and spec["steps"] is None:
            torch.cuda.synchronize() if DEVICE.type == "cuda" else None
            passed = time.time() - began
            total = 300 + int((spec["seconds"] - passed) / (passed / 290))
            log(spec["name"], f"{total} steps")
        if step == 10:
            torch.cuda.synchronize() if DEVICE.type == "cuda" else None
            began = time.time()
        progress = step / total if total else 0
        if total and step >= total:
            break
        if progress >= spec["round_from"]:
            model.set_bits(4)
        for group in optimizer.param_groups:
            group["lr"] = spec["rate"] * min(1, (step + 1) / warm) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1, progress))))
        # A question once per batch, and a passage too.
        parts = [pair[:, 0], pair[:, 1], alone]
        got, want = [], []
        for part in parts:
            rows = torch.as_tensor(part, device=DEVICE)
            got.append(read(model, tokens, part, asks if spec["kind"] else None))
            want.append(target[where[rows]].float())
        everything, wanted = torch.cat(got), torch.cat(want)
        vector = (1 - (everything * wanted).sum(1)).mean()
        # What the teachers score is kept, for questions over all passages of the
        # batch and for passages over each other.
        passages, wanted_passages = torch.cat(got[1:]), torch.cat(want[1:])
        theirs = want[0] @ wanted_passages.T / temperature
        ours = got[0] @ passages.T / temperature
        scores = F.kl_div(F.log_softmax(ours, 1), F.log_softmax(theirs, 1), log_target=True, reduction="batchmean")
        loss = spec["vector"] * vector + spec["scores"] * scores
        near = torch.zeros((), device=DEVICE)
        if spec["pairs"]:
            own = torch.arange(len(pair), device=DEVICE)
            # A passage that the teachers like as well as the right one is no wrong answer.
            limit = theirs[own, own][:, None] - 0.02 / temperature
            allowed = theirs < limit
            allowed[own, own] = True
            near = F.cross_entropy(ours.masked_fill(~allowed, -1e4), own)
            loss = loss + spec["pairs"] * near
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            sums = np.array([step, vector.item(), scores.item(), near.item()])
            history.append(sums.tolist())
            if step % 200 == 0:
                log(spec["name"], f"step {step} vector {sums[1]:.4f} scores {sums[2]:.4f} pairs {sums[3]:.4f}")
    (out / f"{spec['name']}.losses.json").write_text(json.dumps({"spec": spec, "steps": step, "history": history}))
    spec["steps"] = step
    return model.eval()


def read(model, tokens, part, asks):
    """Vectors of a batch, in three goes by length so that short texts stay short."""
    order = np.argsort(tokens.lengths[part], kind="stable")
    found = []
    for some in np.array_split(order, 3):
        if len(some):
            which = part[some]
            ids, mask = tokens.batch(which)
            kind = None if asks is None else asks[torch.as_tensor(which, device=DEVICE)]
            with torch.autocast(DEVICE.type, torch.bfloat16, enabled=DEVICE.type == "cuda"):
                found.append(model(ids, mask, kind).float())
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    return torch.cat(found)[torch.as_tensor(back, device=DEVICE)]


class Subset:
    """Some of the texts, so that `vectors` can read them."""

    def __init__(self, tokens, which):
        self.tokens, self.which, self.device = tokens, np.asarray(which), tokens.device
        self.lengths = tokens.lengths[self.which]

    def batch(self, which, width=None):
        return self.tokens.batch(self.which[which], width)

    def __len__(self):
        return len(self.which)


def save(model, path, bits):
    """`q4`: exactly what the runtime will hold. `f16`: before rounding."""
    data = {}
    for name, value in model.state_dict().items():
        value = value.detach().float().cpu().numpy()
        if bits == "q4" and value.ndim == 2 and value.shape[1] % 32 == 0:
            groups = value.reshape(-1, 32)
            scale = np.abs(groups).max(1, keepdims=True) / 7
            scale[scale == 0] = 1
            scale = scale.astype(np.float16)
            q = np.clip(np.rint(groups / scale.astype(np.float32)), -7, 7).astype(np.int8) + 8
            q = q.reshape(-1).astype(np.uint8)
            data[name + ".q4"] = (q[0::2] | (q[1::2] << 4)).reshape(value.shape[0], -1)
            data[name + ".scales"] = scale.reshape(value.shape[0], -1)
        else:
            data[name] = value.astype(np.float32 if value.ndim == 1 else np.float16)
    np.savez(path, **data)


def state_of(saved):
    """Either form that `save` writes, as tensors."""
    out = {}
    for name in saved.files:
        if name.endswith(".q4"):
            packed, scales = saved[name], saved[name[:-3] + ".scales"].astype(np.float32)
            values = np.stack([packed & 15, packed >> 4], 2).reshape(len(packed), -1).astype(np.float32) - 8
            out[name[:-3]] = torch.from_numpy((values.reshape(*scales.shape, 32) * scales[..., None]).reshape(values.shape))
        elif not name.endswith(".scales"):
            out[name] = torch.from_numpy(saved[name].astype(np.float32))
    return out


def students(work, plan, out):
    plan = [{**DEFAULTS, **spec} for spec in json.loads(Path(plan).read_text())]
    torch.backends.cuda.matmul.allow_tf32 = True
    bench = Bench(work / "bench.json.xz")
    texts = kept(work / "texts.pickle", lambda: Texts(work))
    tokenizer = work / "wordpiece.json"
    tokens = kept(work / "tokens.pickle", lambda: Tokens(tokenizer, texts.texts, LIMIT)).to(DEVICE)
    log(f"{len(tokens.flat) / 1e6:.1f} million tokens")
    bench_passages = Tokens(tokenizer, bench.texts, LIMIT).to(DEVICE)
    bench_questions = Tokens(tokenizer, bench.questions, LIMIT).to(DEVICE)
    ensembles, teachers, table, results = {}, {}, [], {}
    for spec in plan:
        key = (json.dumps(spec["teachers"]), spec["hidden"])
        if key not in ensembles:
            ensembles.clear()
            ensembles[key] = Ensemble(work, spec["teachers"], spec["hidden"])
            if all((work / f"{n}.bench.pt").exists() for n in spec["teachers"]):
                figures = bench.measure(*ensembles[key].of_bench(work))
                table.append(line("+".join(spec["teachers"]) + f" {spec['hidden']}", figures))
                results["teachers " + "+".join(spec["teachers"]) + f" {spec['hidden']}"] = figures
                log(table[-1])
        base = spec["from"] or "arctic"
        if base not in teachers:
            file, pooling, first, *_ = TEACHERS[base]
            teachers[base] = load_teacher(work / file, pooling, first)
        start = time.time()
        model = train(work, spec, texts, tokens, ensembles[key], teachers[base], out)
        trained = time.time() - start
        for bits in (None, 8, 4):
            if bits == 8 and not spec["save"]:
                continue
            model.set_bits(bits)
            figures = bench.measure(vectors(model, bench_passages), vectors(model, bench_questions, kind=1 if spec["kind"] else None))
            name = f"{spec['name']} {'f32' if bits is None else f'q{bits}'}"
            results[name] = figures
            table.append(line(name, figures))
            log(table[-1])
        log(f"{spec['name']}: {spec['steps']} steps in {trained:.0f} s")
        if spec["save"]:
            save(model, out / f"{spec['name']}.q4.npz", "q4")
            save(model, work / f"{spec['name']}.q4.npz", "q4")
            if spec["save"] == "f16":
                save(model, out / f"{spec['name']}.f16.npz", "f16")
        (out / "results.json").write_text(json.dumps(results))
        del model
    print("\n".join(table))


if __name__ == "__main__":
    command, work, *rest = sys.argv[1:]
    work = Path(work)
    if command == "vectors":
        make_vectors(work, rest)
    else:
        Path(rest[1]).mkdir(parents=True, exist_ok=True)
        students(work, rest[0], Path(rest[1]))
