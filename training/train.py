"""Trains students from the teachers' vectors, on one GPU.

    python train.py vectors WORK TEACHER...     what the teachers say of every text and of the bench
    python train.py tokens WORK                 the students' tokens, where time is to be saved beside
    python train.py students WORK PLAN OUT      trains and measures the students of every step of the plan

WORK holds `texts*.jsonl.xz`, `bench.json.xz`, the teachers' files and, after the
first step, their vectors. PLAN is a JSON list; see `DEFAULTS` for what a step
can say. Seeds are fixed; two runs on the same kind of GPU agree up to the
order of its sums.
"""
import json
import lzma
import math
import pickle
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F

from common import QUERY_PREFIX, Tokens, load_teacher, vectors
from evaluate import Bench
from towers import Rows, Students, Tower, save

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LIMIT = 256
TEACHERS = {
    # file, pooling, first position, tokenizer, padding, words before a question
    "arctic": ("arctic.npz", "cls", 0, "wordpiece.json", 0, QUERY_PREFIX),
    "gte": ("gte.npz", "mean", 0, "wordpiece.json", 0, ""),
    "granite": ("granite.npz", "cls", 2, "granite.json", 1, ""),
}
DEFAULTS = {
    "name": "students",
    # Documents are read by any of these, questions by all of them: which of
    # arctic's layers a tower begins with, and after how many tokens are halved.
    "documents": {"d3": {"layers": [0, 5, 11]}},
    "questions": {"q6": {"layers": [0, 2, 4, 6, 8, 11]}},
    "both": True,  # whether the towers of documents learn questions too
    "teachers": {"arctic": 2.0, "gte": 1.0, "granite": 1.0},
    "vector": 5.0,  # weights of the losses
    "scores": 1.0,
    "pairs": 0.7,
    "temperature": 0.03,
    "rate": 1e-3,
    "seconds": 60,
    "steps": None,
    "scale": 1.0,  # of the number of texts in a batch
    "round_from": 0.4,  # the share of steps after which weights are rounded to 4 bits
    "seed": 1,
    "resume": None,  # a step of the plan whose students it goes on from
}
# How wide passages are in a batch, how many pairs and single texts it holds,
# and how often it is chosen. Questions are no wider than ASKED.
ASKED = 32
SHAPES = {32: (2048, 768, 0.14), 64: (1280, 512, 0.22), 128: (768, 256, 0.26), 192: (512, 192, 0.22), 256: (384, 128, 0.16)}


def log(*words):
    print(f"[{time.strftime('%H:%M:%S')}]", *words, flush=True)


STOP = set("""about above after again against also another because been before being below between both cannot could does doing down during each from further
have having here into itself just more most must only other over same should some such than that their them then there these they this those through
under until very were what when where which while will with would your yours using used uses example following""".split())


def derived(passage, rng):
    """Short texts that someone may look for a passage with: some of its words, or a sentence."""
    if len(passage) < 250:
        return
    if rng.random() < 0.4:
        words = [w for w in re.findall(r"[A-Za-z][A-Za-z-]{3,}", passage) if w.lower() not in STOP]
        if len(words) > 12:
            at = rng.randrange(max(1, len(words) - 40))
            some = sorted(rng.sample(range(at, min(len(words), at + 40)), rng.randrange(2, 6)))
            yield " ".join(dict.fromkeys(words[i].lower() for i in some))
    if rng.random() < 0.4:
        whole = [s for s in re.split(r"(?<=[.!?])\s+|\n", passage) if 30 < len(s) < 150]
        if len(whole) > 1:
            said = rng.choice(whole)
            yield said if rng.random() < 0.5 else re.sub(r"[^\w\s'-]", "", said.lower())


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
            rng = random.Random(path.name)
            for text in lzma.open(path, "rt"):
                record = json.loads(text)
                source = record[1]
                if record[0] == "x":
                    singles.append(add(record[2], record[3], record[4] == "q", "x"))
                    continue
                passage = add(record[-1], record[-1], False, source)
                if record[0] == "p":
                    pairs.append((add(record[2], record[2], True, source), passage))
                else:
                    singles.append(passage)
                for question in derived(record[-1], rng):
                    pairs.append((add(question, question, True, source), passage))
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
    if DEVICE.type == "cuda":
        model = model.half()
    tokens = Tokens(work / tokenizer, [prefix + t if a and prefix else t for t, a in zip(texts, asks)], LIMIT, pad).to(DEVICE)
    found = vectors(model, tokens, budget=524288)
    assert bool(found.isfinite().all())
    return found


def make_vectors(work, names):
    texts = kept(work / "texts.pickle", lambda: Texts(work))
    bench = Bench(work / "bench.json.xz")
    for name in names:
        start = time.time()
        # The bench's texts ride along.
        every = texts.teacher_texts + bench.texts + bench.questions
        asks = list(texts.teacher_asks) + [False] * len(bench.texts) + [True] * len(bench.questions)
        found = encode(work, name, every, asks)
        count = len(texts.teacher_texts)
        torch.save(found[:count].half().cpu(), work / f"{name}.texts.pt")
        torch.save((found[count : count + len(bench.texts)].half().cpu(), found[count + len(bench.texts) :].half().cpu()), work / f"{name}.bench.pt")
        log(f"{name}: {len(every)} texts in {time.time() - start:.0f} s")


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


class Batches:
    """Pairs of like length. Half of the batches hold neighbours, by what the
    teachers make of the passages, so that telling them apart is worth something."""

    def __init__(self, texts, tokens, target, scale, seed):
        self.rng = np.random.default_rng(seed)
        length, asked = tokens.lengths, tokens.lengths[texts.pairs[:, 0]]
        fits = asked <= ASKED
        # A question too long to be one is a passage like others.
        singles = np.unique(np.concatenate([texts.singles, texts.pairs[~fits].reshape(-1)]))
        pairs = texts.pairs[fits]
        near = clusters(target, texts.target[pairs[:, 1]])
        self.pools, self.weights, low = {}, [], 0
        for width, (many, alone, weight) in SHAPES.items():
            chosen = (length[pairs[:, 1]] > low) & (length[pairs[:, 1]] <= width)
            single = singles[(length[singles] > low) & (length[singles] <= width)]
            low = width
            if chosen.any():
                self.pools[width] = dict(pairs=pairs[chosen], near=near[chosen], many=int(many * scale), single=single if len(single) else pairs[chosen][:, 1], alone=int(alone * scale), ready=[])
                self.weights.append(weight)
        self.weights = np.asarray(self.weights) / sum(self.weights)
        log("pairs", {w: len(p["pairs"]) for w, p in self.pools.items()}, "alone", {w: len(p["single"]) for w, p in self.pools.items()})

    def chunks(self, pool):
        count, size = len(pool["pairs"]), pool["many"]
        if count < 2 * size:
            return [pool["pairs"][self.rng.choice(count, size)]]
        order = self.rng.permutation(count)
        mixed, sorted_ = order[: count // 2], order[count // 2 :]
        rank = self.rng.permutation(int(pool["near"].max()) + 1)
        sorted_ = sorted_[np.argsort(rank[pool["near"][sorted_]], kind="stable")]
        found = [pool["pairs"][part[i : i + size]] for part in (mixed, sorted_) for i in range(0, len(part) - size + 1, size)]
        self.rng.shuffle(found)
        return found

    def __iter__(self):
        widths = list(self.pools)
        while True:
            width = widths[self.rng.choice(len(widths), p=self.weights)]
            pool = self.pools[width]
            if not pool["ready"]:
                pool["ready"] = self.chunks(pool)
            yield width, pool["ready"].pop(), self.rng.choice(pool["single"], pool["alone"])


def clusters(target, rows, count=4096, goes=6):
    """The nearest of some middles, for every row."""
    points = target[torch.as_tensor(rows, device=DEVICE)]
    count = min(count, max(2, len(points) // 20))
    middles = points[torch.randperm(len(points), generator=torch.Generator().manual_seed(2))[:count].to(DEVICE)].float()
    for last in range(goes):
        found = torch.cat([(part.float() @ middles.T).argmax(1) for part in points.split(65536)])
        sums = torch.zeros_like(middles).index_add_(0, found, points.float())
        middles = F.normalize(torch.where(sums.norm(dim=1, keepdim=True) > 0, sums, middles), dim=1)
    return found.cpu().numpy()


class Step:
    """One forward and backward pass; on a GPU one graph for every shape."""

    def __init__(self, students, spec, texts, tokens, target):
        self.students, self.spec, self.tokens, self.target = students, spec, tokens, target
        self.where = torch.as_tensor(texts.target, device=DEVICE)
        self.graphs = {}
        for p in students.parameters():
            p.grad = torch.zeros_like(p)

    def read(self, rows, width):
        """Ids and mask, cut at `width`."""
        columns = torch.arange(width, device=DEVICE)
        mask = columns[None] < self.tokens.lengths_there[rows][:, None]
        at = torch.where(mask, self.tokens.starts_there[rows][:, None] + columns, len(self.tokens.flat))
        return self.tokens.flat_there[at].long(), mask

    def losses(self, width, asked, passages, alone):
        spec, students = self.spec, self.students
        temperature = spec["temperature"]
        table = students.table()
        rows = torch.cat([passages, alone])
        ids, mask = self.read(rows, width)
        ask_ids, ask_mask = self.read(asked, ASKED)
        words, ask_words = Rows.apply(table, ids), Rows.apply(table, ask_ids)
        want, want_asked = self.target[self.where[rows]].float(), self.target[self.where[asked]].float()
        theirs = want_asked @ want.T / temperature
        own = torch.arange(len(asked), device=DEVICE)
        # A passage that the teachers like as well as the right one is no wrong answer.
        wrong = theirs >= theirs.diagonal()[:, None] - 0.02 / temperature
        wrong = wrong.fill_diagonal_(False)
        spread = F.log_softmax(theirs, 1)
        totals = torch.zeros(3, device=DEVICE)

        def compare(questions, documents):
            ours = questions @ documents.T / temperature
            scores = F.kl_div(F.log_softmax(ours, 1), spread, log_target=True, reduction="batchmean")
            return scores, F.cross_entropy(ours.masked_fill(wrong, -1e4), own)

        loss = torch.zeros((), device=DEVICE)
        asking = []
        some = slice(0, len(alone) // 2)
        for name in spec["questions"]:
            tower = students.towers[name]
            weights = tower.weights(students.rounding)
            got = tower(weights, ask_words, ask_mask)
            asking.append(got)
            vector = (1 - (got * want_asked).sum(1)).mean()
            # Long questions exist: it learns passages too.
            also = tower(weights, words[len(passages) :][some], mask[len(passages) :][some])
            vector = vector + 0.5 * (1 - (also * want[len(passages) :][some]).sum(1)).mean()
            loss = loss + spec["vector"] * vector
        for name in spec["documents"]:
            tower = students.towers[name]
            weights = tower.weights(students.rounding)
            got = tower(weights, words, mask)
            vector = (1 - (got * want).sum(1)).mean()
            with_whom = list(asking)
            if spec["both"] or not asking:
                mine = tower(weights, ask_words, ask_mask)
                loss = loss + spec["vector"] * (1 - (mine * want_asked).sum(1)).mean()
                with_whom.append(mine)
            found = [compare(questions, got) for questions in with_whom]
            scores, near = (sum(f[i] for f in found) / len(found) for i in (0, 1))
            loss = loss + spec["vector"] * vector + spec["scores"] * scores + spec["pairs"] * near
            totals = totals + torch.stack([vector, scores, near]).detach()
        return loss, totals / len(spec["documents"])

    def go(self, width, *rows):
        for p in self.students.parameters():
            p.grad.zero_()
        loss, totals = self.losses(width, *rows)
        loss.backward()
        return totals

    def __call__(self, width, pair, alone):
        rows = [torch.from_numpy(np.ascontiguousarray(r)) for r in (pair[:, 0], pair[:, 1], alone)]
        if DEVICE.type != "cuda":
            return self.go(width, *rows)
        if width not in self.graphs:
            held = [r.to(DEVICE) for r in rows]
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    self.go(width, *held)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                totals = self.go(width, *held)
            self.graphs[width] = (graph, held, totals)
        graph, held, totals = self.graphs[width]
        for to, r in zip(held, rows):
            to.copy_(r.pin_memory(), non_blocking=True)
        graph.replay()
        return totals


def rotation(target, student):
    """The turn of the target's space that is nearest to where the student stands."""
    u, _, v = torch.linalg.svd(target.float().T @ student.float())
    return u @ v


def train(work, spec, texts, tokens, ensemble, out):
    torch.manual_seed(spec["seed"])
    towers = {**spec["questions"], **spec["documents"]}
    file, pooling, first, *_ = TEACHERS["arctic"]
    teacher = load_teacher(work / file, pooling, first)
    students = Students({n: Tower(len(t["layers"]), t.get("halve")).borrow(teacher, t["layers"]) for n, t in towers.items()}, teacher.word.weight.detach()).to(DEVICE)
    turn = None
    if spec["resume"]:
        saved = torch.load(work / f"{spec['resume']}.pt", map_location=DEVICE)
        missing = students.load_state_dict(saved["students"], strict=False).missing_keys
        assert not missing, missing
        turn = saved["turn"]
    if turn is None:
        sample = np.random.default_rng(0).choice(len(texts.texts), min(20000, len(texts.texts)), replace=False)
        stands = students.vectors(list(towers)[0], Subset(tokens, sample))
        turn = rotation(ensemble.texts[torch.as_tensor(texts.target[sample], device=DEVICE)], stands)
    target = torch.cat([(part.float() @ turn).half() for part in ensemble.texts.split(100000)])
    matrices = [p for n, p in students.named_parameters() if p.ndim == 3]
    rest = [p for n, p in students.named_parameters() if p.ndim != 3]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=spec["rate"], betas=(0.9, 0.98), eps=1e-6, fused=DEVICE.type == "cuda")
    batches = iter(Batches(texts, tokens, target, spec["scale"], spec["seed"]))
    step_of = Step(students, spec, texts, tokens, target)
    total, warm, history, began, saved_at = spec["steps"], 200, [], None, time.time()
    wait = lambda: torch.cuda.synchronize() if DEVICE.type == "cuda" else None
    step = 0
    start = time.time()
    while total is None or step < total:
        if spec["steps"] is None and step in (100, 400):
            wait()
            if step == 100:
                began, since = time.time(), step
                total = 10**9
            else:
                each = (time.time() - began) / (step - since)
                total = step + max(1, int((spec["seconds"] - (time.time() - start)) / each))
                log(spec["name"], f"{total} steps of {1000 * each:.1f} ms")
        progress = step / total if total and total < 10**9 else 0.0
        if progress >= spec["round_from"] and not students.rounding:
            students.rounding = True
            step_of.graphs.clear()
        rate = spec["rate"] * min(1, (step + 1) / warm) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1, progress))))
        for group in optimizer.param_groups:
            group["lr"] = rate
        totals = step_of(*next(batches))
        torch.nn.utils.clip_grad_norm_(students.parameters(), 1.0)
        optimizer.step()
        if step % 50 == 0:
            history.append([step, *totals.tolist()])
            if step % 500 == 0 or step == 50:
                log(spec["name"], f"step {step} {time.time() - start:.0f} s vector {history[-1][1]:.4f} scores {history[-1][2]:.4f} pairs {history[-1][3]:.4f}")
                if time.time() - saved_at > 100:
                    save(students, out, towers)
                    saved_at = time.time()
        step += 1
    log(spec["name"], f"{step} steps in {time.time() - start:.0f} s")
    students.rounding = True
    torch.save({"students": students.state_dict(), "turn": turn}, work / f"{spec['name']}.pt")
    save(students, out, towers)
    (out / f"{spec['name']}.losses.json").write_text(json.dumps({"spec": {**spec, "steps": step}, "history": history}))
    return students, turn


class Subset:
    """Some of the texts, so that `vectors` can read them."""

    def __init__(self, tokens, which):
        self.tokens, self.which, self.device = tokens, np.asarray(which), tokens.device
        self.lengths = tokens.lengths[self.which]

    def batch(self, which, width=None):
        return self.tokens.batch(self.which[which], width)

    def __len__(self):
        return len(self.which)


def read_tokens(work):
    texts = kept(work / "texts.pickle", lambda: Texts(work))
    tokenizer = work / "wordpiece.json"
    tokens = kept(work / "tokens.pickle", lambda: Tokens(tokenizer, texts.texts, LIMIT))
    log(f"{len(tokens.flat) / 1e6:.1f} million tokens")

    def measured():
        bench = Bench(work / "bench.json.xz")
        return [Tokens(tokenizer, t, LIMIT) for t in (bench.texts, bench.questions)]

    return texts, tokens, kept(work / "bench.pickle", measured)


def students(work, plan, out):
    plan = [{**DEFAULTS, **spec} for spec in json.loads(Path(plan).read_text())]
    torch.backends.cuda.matmul.allow_tf32 = True
    texts, tokens, bench_tokens = read_tokens(work)
    tokens.to(DEVICE)
    passages, questions = (t.to(DEVICE) for t in bench_tokens)
    ensembles = {}
    for spec in plan:
        key = json.dumps(spec["teachers"])
        if key not in ensembles:
            ensembles.clear()
            ensembles[key] = Ensemble(work, spec["teachers"], 384)
        theirs = ensembles[key].of_bench(work)
        trained, turn = train(work, spec, texts, tokens, ensembles[key], out)
        read = {"teachers": [t.float() @ turn for t in theirs]}
        for name in [*spec["questions"], *spec["documents"]]:
            read[name] = [trained.vectors(name, passages), trained.vectors(name, questions)]
        folder = work / f"{spec['name']}.vectors"
        folder.mkdir(exist_ok=True)
        for name, (p, q) in read.items():
            np.save(folder / f"{name}.passages.npy", p.half().cpu().numpy())
            np.save(folder / f"{name}.questions.npy", q.half().cpu().numpy())
        both = [(d, q) for d in spec["documents"] for q in [*spec["questions"], *([d] if spec["both"] or not spec["questions"] else []), "teachers"]]
        both += [("teachers", q) for q in ["teachers", *spec["questions"]]] + [(q, q) for q in spec["questions"]]
        # Measured on the other cores while the next students learn.
        jobs = [subprocess.Popen([sys.executable, Path(__file__).with_name("evaluate.py"), "measure", work / "bench.json.xz", folder, d, q, out / f"{spec['name']}.{d}.{q}.json"], env={"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"}) for d, q in both]
        for job in jobs:
            job.wait()
        del trained
        gather(out, spec["name"])


def gather(out, name):
    """One file of figures instead of many."""
    found = {}
    for path in sorted(out.glob(f"{name}.*.*.json")):
        found[path.name[len(name) + 1 : -5]] = json.loads(path.read_text())
        path.unlink()
    (out / f"{name}.results.json").write_text(json.dumps(found))


if __name__ == "__main__":
    command, work, *rest = sys.argv[1:]
    work = Path(work)
    if command == "vectors":
        make_vectors(work, rest)
    elif command == "tokens":
        read_tokens(work)
    else:
        Path(rest[1]).mkdir(parents=True, exist_ok=True)
        students(work, rest[0], Path(rest[1]))
