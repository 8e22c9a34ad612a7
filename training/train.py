"""Trains students from the teachers' vectors, on one GPU.

    python train.py prepare WORK FILE...             what the teachers say of every text and of the bench
    python train.py students WORK PLAN OUT [UNTIL]   trains and measures the students of every step of the plan

WORK holds the teachers' files, `bench.json.xz` and the named `texts*.jsonl.xz`;
`prepare` waits for those that are still on their way, and leaves `state.pt`.
PLAN is a JSON list; see `DEFAULTS` for what a step can say. UNTIL is a moment
(seconds since 1970) at which the last step of the plan is to be done. Seeds are
fixed; two runs of as many steps on the same kind of GPU agree up to the order
of its sums.
"""
import json
import lzma
import math
import multiprocessing
import random
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch
import torch.nn.functional as F

from common import QUERY_PREFIX, Tokens, load_teacher, vectors
from evaluate import Bench
from towers import Rows, Students, Tower, load, save

DEVICE = torch.device("cuda" if torch.cuda.is_available() else "cpu")
LIMIT = 256
TEACHERS = {
    # how much it counts, file, pooling, first position, tokenizer, padding, words before a question
    "gte": (1.0, "gte.npz", "mean", 0, "wordpiece.json", 0, ""),
    "arctic": (2.0, "arctic.npz", "cls", 0, "wordpiece.json", 0, QUERY_PREFIX),
    "granite": (1.0, "granite.npz", "cls", 2, "granite.json", 1, ""),
}
DEFAULTS = {
    "name": "students",
    # Documents are read by any of these, questions by all of them: which of
    # arctic's layers a tower begins with, and after how many tokens are halved.
    "documents": {"f3": {"layers": [0, 5, 11], "halve": 1}},
    "questions": {"q6": {"layers": [0, 2, 4, 6, 8, 11]}},
    # Weights of the losses.
    "vector": 5.0,  # each text by itself
    "scores": 1.0,  # our questions over our passages
    "halves": 0.5,  # the teachers' questions over our passages, and our questions over theirs
    "neighbours": 0.5,  # our passages over one another
    "pairs": 0.4,
    "temperature": 0.03,
    "rate": 1e-3,
    "warm": 300,  # steps
    "seconds": 60,
    "steps": None,
    "scale": 1.0,  # of the number of texts in a batch
    "round_from": 0.4,  # the share of the way after which weights are rounded to 4 bits
    "measure": [],  # shares of the way after which it is measured, beside the end
    "seed": 1,
    "resume": [],  # folders in WORK with students to go on from: their mean
    "mean": 0.0,  # how much of the running mean of the weights a step keeps; that mean is what is measured and saved
}
# How wide passages are in a batch, how many pairs and single texts it holds,
# and how often it is chosen. Questions are no wider than ASKED; most fit into BRIEF.
ASKED, BRIEF = 32, 16
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


def read_file(path):
    """(source, what the students read, what the teachers read, whether it asks, questions) for each record."""
    rng, found = random.Random(path.name), []
    with lzma.open(path, "rt") as file:
        for line in file:
            record = json.loads(line)
            if record[0] == "x":
                found.append(("x", record[2], record[3], record[4] == "q", None))
                continue
            asked = [record[2]] if record[0] == "p" else []
            found.append((record[1], record[-1], record[-1], False, (record[0] == "p", asked + list(derived(record[-1], rng)))))
    return found


class Texts:
    """Every text once per role, what the teachers read for it, and which belong together."""

    def __init__(self, files):
        self.texts, asks, target = [], [], []
        self.english = []  # what only the teachers read
        teacher_rows, teacher_asks = [], []  # below zero: in `english`, from its end
        pairs, singles, place, teacher_place = [], [], {}, {}

        def add(text, english, ask):
            key = (text, ask)
            row = place.get(key)
            if row is None:
                row = place[key] = len(self.texts)
                self.texts.append(text)
                asks.append(ask)
                other = (english, ask)
                theirs = teacher_place.get(other)
                if theirs is None:
                    theirs = teacher_place[other] = len(teacher_rows)
                    if english == text:
                        teacher_rows.append(row)
                    else:
                        self.english.append(english)
                        teacher_rows.append(-len(self.english))
                    teacher_asks.append(ask)
                target.append(theirs)
            return row

        for records in files:
            for source, text, english, ask, more in records:
                row = add(text, english, ask)
                if more is None:
                    singles.append(row)
                    continue
                paired, questions = more
                if not paired:
                    singles.append(row)
                for question in questions:
                    pairs.append((add(question, question, True), row))
        self.pairs, self.singles = np.asarray(pairs), np.unique(singles)
        self.asks, self.target = np.asarray(asks), np.asarray(target)
        rows = np.asarray(teacher_rows)
        self.teacher_rows = np.where(rows < 0, len(self.texts) - 1 - rows, rows)
        self.teacher_asks = np.asarray(teacher_asks)
        log(f"{len(self.texts)} texts, {len(self.teacher_rows)} for the teachers, {len(self.pairs)} pairs, {len(self.singles)} alone")


def arrived(path):
    while not path.exists():
        time.sleep(0.2)
    return path


def prepare(work, files):
    start = time.time()
    # Forked before anything else is here, so that it is cheap.
    pool = multiprocessing.get_context("fork").Pool(15)
    parsed = [pool.apply_async(read_file, (arrived(work / name),)) for name in files]
    parsed = [p.get() for p in parsed]
    log(f"read after {time.time() - start:.0f} s")
    texts = Texts(parsed)
    del parsed
    bench = Bench(arrived(work / "bench.json.xz"))
    # The bench's texts ride along.
    every = texts.texts + texts.english + bench.texts + bench.questions
    first = len(texts.texts) + len(texts.english)
    rows = np.concatenate([texts.teacher_rows, np.arange(first, len(every))])
    asks = np.concatenate([texts.teacher_asks, np.zeros(len(bench.texts), bool), np.ones(len(bench.questions), bool)])
    tokens = {"wordpiece.json": Tokens(arrived(work / "wordpiece.json"), every, LIMIT, pool=pool)}
    log(f"{len(tokens['wordpiece.json'].flat) / 1e6:.1f} million tokens after {time.time() - start:.0f} s")

    def others():
        tokens["granite.json"] = Tokens(arrived(work / "granite.json"), every, LIMIT, 1, pool=pool)

    beside = threading.Thread(target=others)
    beside.start()
    found = {}
    for name, (_, file, pooling, first_position, tokenizer, pad, prefix) in TEACHERS.items():
        began = time.time()
        if tokenizer not in tokens:
            beside.join()
        model = load_teacher(arrived(work / file), pooling, first_position).to(DEVICE).eval()
        if DEVICE.type == "cuda":
            model = model.half()
        there = tokens[tokenizer].rows(rows)
        if prefix:
            there = there.prefixed(Tokens(work / tokenizer, [prefix], LIMIT).flat[1:-1], asks, LIMIT)
        got = vectors(model, there.to(DEVICE), budget=524288)
        assert bool(got.isfinite().all())
        found[name] = got.half()
        del model, there, got
        log(f"{name}: {len(rows)} texts in {time.time() - began:.0f} s")
    pool.close()
    count = len(texts.teacher_rows)
    theirs = together({n: v[:count] for n, v in found.items()}, {n: v[count:] for n, v in found.items()}, 384)
    mine, read = tokens["wordpiece.json"].rows(np.arange(len(texts.texts))), tokens["wordpiece.json"]
    keep = {k: getattr(texts, k) for k in ("pairs", "singles", "asks", "target")}
    torch.save({**keep, "tokens": mine, "bench": [read.rows(np.arange(first, first + len(bench.texts))), read.rows(np.arange(first + len(bench.texts), len(every)))],
                "theirs": theirs[0].cpu(), "bench_theirs": [theirs[1][: len(bench.texts)].cpu(), theirs[1][len(bench.texts) :].cpu()]}, work / "state.part")
    (work / "state.part").rename(work / "state.pt")
    log(f"prepared in {time.time() - start:.0f} s")


def together(texts, bench, dimensions):
    """Several teachers as one: their vectors side by side, each scaled so that
    its scores spread alike, then turned into as few dimensions as the student has."""
    sample = torch.randperm(len(next(iter(texts.values()))), generator=torch.Generator().manual_seed(0))[:4096].to(DEVICE)
    scale = {}
    for name, part in texts.items():
        some = part[sample].float()
        half = len(some) // 2
        spread = (some[:half] @ some[half:].T).std()
        scale[name] = math.sqrt(TEACHERS[name][0] / float(spread))
    total = math.sqrt(sum(s * s for s in scale.values()))
    scale = {n: s / total for n, s in scale.items()}
    wide = torch.cat([p * scale[n] for n, p in texts.items()], 1)
    some = wide[torch.randperm(len(wide), generator=torch.Generator().manual_seed(1))[:100000].to(DEVICE)].float()
    _, values, basis = torch.linalg.svd(some.T @ some)
    basis = basis[:dimensions].T.contiguous()
    log("teachers", {n: round(s * s, 3) for n, s in scale.items()}, f"{float(values[:dimensions].sum() / values.sum()):.4f} of the length kept in {dimensions} dimensions")
    turn = lambda wide: torch.cat([F.normalize(part.float() @ basis, dim=1).half() for part in wide.split(100000)])
    return turn(wide), turn(torch.cat([p * scale[n] for n, p in bench.items()], 1))


class Batches:
    """Pairs of like length. Half of the batches hold neighbours, by what the
    teachers make of the passages, so that telling them apart is worth something."""

    def __init__(self, state, tokens, target, scale, seed):
        texts = SimpleNamespace(**state)
        self.lengths = tokens.lengths
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
            pairs = pool["ready"].pop()
            # Brief questions first; how many, in quarters, so that there are few shapes.
            length = self.lengths[pairs[:, 0]]
            pairs = pairs[np.argsort(length, kind="stable")]
            brief = int((length <= BRIEF).sum()) * 4 // len(pairs) * len(pairs) // 4
            yield (width, brief), pairs, self.rng.choice(pool["single"], pool["alone"])


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

    def __init__(self, students, spec, where, tokens, target):
        self.students, self.spec, self.tokens, self.target = students, spec, tokens, target
        self.where = torch.as_tensor(where, device=DEVICE)
        self.forget()
        for p in students.parameters():
            p.grad = torch.zeros_like(p)

    def forget(self):
        self.graphs, self.pool = {}, torch.cuda.graph_pool_handle() if DEVICE.type == "cuda" else None

    def read(self, rows, width):
        """Ids and mask, cut at `width`."""
        columns = torch.arange(width, device=DEVICE)
        mask = columns[None] < self.tokens.lengths_there[rows][:, None]
        at = torch.where(mask, self.tokens.starts_there[rows][:, None] + columns, len(self.tokens.flat))
        return self.tokens.flat_there[at].long(), mask

    def losses(self, shape, asked, passages, alone):
        (width, brief), spec, students = shape, self.spec, self.students
        temperature = spec["temperature"]
        table = students.table()
        rows = torch.cat([passages, alone])
        ids, mask = self.read(rows, width)
        words = Rows.apply(table, ids)
        asks = [(Rows.apply(table, ids), mask) for ids, mask in (self.read(part, to) for part, to in ((asked[:brief], BRIEF), (asked[brief:], ASKED)) if len(part))]
        want, want_asked = self.target[self.where[rows]].float(), self.target[self.where[asked]].float()
        theirs = want_asked @ want.T / temperature
        own = torch.arange(len(asked), device=DEVICE)
        # A passage that the teachers like as well as the right one is no wrong answer.
        wrong = theirs >= theirs.diagonal()[:, None] - 0.02 / temperature
        wrong = wrong.fill_diagonal_(False)
        spread = F.log_softmax(theirs, 1)
        same = lambda questions, documents: F.kl_div(F.log_softmax(questions @ documents.T / temperature, 1), spread, log_target=True, reduction="batchmean")
        itself = torch.eye(len(rows), dtype=torch.bool, device=DEVICE)
        around = lambda v: F.log_softmax((v @ v.T / temperature).masked_fill(itself, -1e4), 1)
        their_around = around(want)
        totals = torch.zeros(3, device=DEVICE)
        loss = torch.zeros((), device=DEVICE)
        asking = []
        some = slice(0, len(alone) // 2)
        for name in spec["questions"]:
            tower = students.towers[name]
            weights = tower.weights(students.rounding)
            got = torch.cat([tower(weights, *part) for part in asks])
            asking.append(got)
            vector = (1 - (got * want_asked).sum(1)).mean()
            # Long questions exist: it learns passages too.
            also = tower(weights, words[len(passages) :][some], mask[len(passages) :][some])
            vector = vector + 0.5 * (1 - (also * want[len(passages) :][some]).sum(1)).mean()
            loss = loss + spec["vector"] * vector + spec["halves"] * same(got, want)
        for name in spec["documents"]:
            tower = students.towers[name]
            got = tower(tower.weights(students.rounding), words, mask)
            vector = (1 - (got * want).sum(1)).mean()
            scores = sum(same(questions, got) for questions in asking) / len(asking)
            near = sum(F.cross_entropy((questions @ got.T / temperature).masked_fill(wrong, -1e4), own) for questions in asking) / len(asking)
            neighbours = F.kl_div(around(got), their_around, log_target=True, reduction="batchmean")
            loss = loss + spec["vector"] * vector + spec["scores"] * scores + spec["halves"] * same(want_asked, got) + spec["neighbours"] * neighbours + spec["pairs"] * near
            totals = totals + torch.stack([vector, scores, near]).detach()
        return loss, totals / len(spec["documents"])

    def go(self, shape, *rows):
        for p in self.students.parameters():
            p.grad.zero_()
        loss, totals = self.losses(shape, *rows)
        loss.backward()
        return totals

    def __call__(self, shape, pair, alone):
        rows = [torch.from_numpy(np.ascontiguousarray(r)) for r in (pair[:, 0], pair[:, 1], alone)]
        if DEVICE.type != "cuda":
            return self.go(shape, *rows)
        if shape not in self.graphs:
            held = [r.to(DEVICE) for r in rows]
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    self.go(shape, *held)
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph, pool=self.pool):
                totals = self.go(shape, *held)
            self.graphs[shape] = (graph, held, totals)
        graph, held, totals = self.graphs[shape]
        for to, r in zip(held, rows):
            to.copy_(r.pin_memory(), non_blocking=True)
        graph.replay()
        return totals


def rotation(target, student):
    """The turn of the target's space that is nearest to where the student stands."""
    u, _, v = torch.linalg.svd(target.float().T @ student.float())
    return u @ v


def train(work, spec, state, target, tokens, out, measured):
    torch.manual_seed(spec["seed"])
    towers = {**spec["documents"], **spec["questions"]}
    _, file, pooling, first, *_ = TEACHERS["arctic"]
    teacher = load_teacher(work / file, pooling, first)
    students = Students({n: Tower(len(t["layers"]), t.get("halve")).borrow(teacher, t["layers"]) for n, t in towers.items()}, teacher.word.weight.detach())
    if spec["resume"]:
        load(students, [work / name for name in spec["resume"]])
    students.to(DEVICE)
    # The target's space is turned to where the first tower stands.
    passages = np.flatnonzero(~state["asks"])
    sample = np.random.default_rng(0).choice(passages, min(20000, len(passages)), replace=False)
    stands = students.vectors(list(towers)[0], tokens.rows(sample).to(DEVICE))
    turn = rotation(target[torch.as_tensor(state["target"][sample], device=DEVICE)], stands)
    target = torch.cat([(part.float() @ turn).half() for part in target.split(100000)])
    matrices = [p for n, p in students.named_parameters() if p.ndim == 3]
    rest = [p for n, p in students.named_parameters() if p.ndim != 3]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.01}, {"params": rest, "weight_decay": 0.0}], lr=spec["rate"], betas=(0.9, 0.98), eps=1e-6, fused=DEVICE.type == "cuda")
    batches = iter(Batches(state, tokens, target, spec["scale"], spec["seed"]))
    step_of = Step(students, spec, state["target"], tokens, target)
    history, measure, saved_at = [], sorted(spec["measure"]), time.time()
    own = list(students.parameters())
    slow = [p.detach().clone() for p in own] if spec["mean"] else []

    def swap():
        """The running mean in the place of the weights, and back."""
        for mean, p in zip(slow, own):
            held = p.detach().clone()
            p.data.copy_(mean)
            mean.copy_(held)

    step, start = 0, time.time()
    while True:
        progress = step / spec["steps"] if spec["steps"] else (time.time() - start) / spec["seconds"]
        if progress >= 1:
            break
        if progress >= spec["round_from"] and not students.rounding:
            students.rounding = True
            step_of.forget()
        if measure and progress >= measure[0]:
            swap()
            measured(students, turn, f"{spec['name']}-{100 * measure.pop(0):.0f}")
            save(students, out, towers)
            swap()
        rate = spec["rate"] * min(1, (step + 1) / spec["warm"]) * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * progress)))
        for group in optimizer.param_groups:
            group["lr"] = rate
        totals = step_of(*next(batches))
        torch.nn.utils.clip_grad_norm_(students.parameters(), 1.0)
        optimizer.step()
        if slow:
            torch._foreach_lerp_(slow, [p.detach() for p in own], 1 - min(spec["mean"], step / (step + 10)))
        if step % 50 == 0:
            history.append([step, *totals.tolist()])
            if step % 500 == 0 or step == 50:
                some = np.mean(history[-10:], axis=0)
                log(spec["name"], f"step {step} {time.time() - start:.0f} s vector {some[1]:.4f} scores {some[2]:.4f} pairs {some[3]:.4f}")
                if time.time() - saved_at > 100:
                    swap()
                    save(students, out, towers)
                    swap()
                    saved_at = time.time()
        step += 1
    log(spec["name"], f"{step} steps in {time.time() - start:.0f} s")
    swap()
    students.rounding = True
    save(students, out, towers)
    (work / spec["name"]).mkdir(exist_ok=True)
    save(students, work / spec["name"], towers)
    (out / f"{spec['name']}.losses.json").write_text(json.dumps({"spec": {**spec, "steps": step}, "history": history}))
    return students, turn


def students(work, plan, out, until=None):
    plan = [{**DEFAULTS, **spec} for spec in json.loads(Path(plan).read_text())]
    torch.backends.cuda.matmul.allow_tf32 = True
    state = torch.load(arrived(work / "state.pt"), weights_only=False)
    tokens, (passages, questions) = state["tokens"].to(DEVICE), [t.to(DEVICE) for t in state["bench"]]
    target, theirs = state["theirs"].to(DEVICE), [t.to(DEVICE) for t in state["bench_theirs"]]
    log("ready")
    jobs = []
    for spec in plan:
        def measured(students, turn, label):
            """On the other cores, while training goes on."""
            rounding, students.rounding = students.rounding, True
            read = {"teachers": [t.float() @ turn for t in theirs]}
            for name in [*spec["questions"], *spec["documents"]]:
                read[name] = [students.vectors(name, passages), students.vectors(name, questions)]
            students.rounding = rounding
            folder = work / f"{label}.vectors"
            folder.mkdir(exist_ok=True)
            for name, (p, q) in read.items():
                np.save(folder / f"{name}.passages.npy", p.half().cpu().numpy())
                np.save(folder / f"{name}.questions.npy", q.half().cpu().numpy())
            both = [(d, q) for d in spec["documents"] for q in [*spec["questions"], "teachers"]]
            both += [("teachers", q) for q in spec["questions"]] + [(q, q) for q in spec["questions"]]
            for d, q in both:
                job = [sys.executable, Path(__file__).with_name("evaluate.py"), "measure", work / "bench.json.xz", folder, d, q, out / f"{label}.{d}.{q}.json"]
                jobs.append((label, subprocess.Popen(job, env={"OMP_NUM_THREADS": "1", "PATH": "/usr/bin:/bin"})))

        if until:
            spec["seconds"] = until - time.time()
        trained, turn = train(work, spec, state, target, tokens, out, measured)
        measured(trained, turn, spec["name"])
    for label in dict(jobs):
        for job in [j for name, j in jobs if name == label]:
            job.wait()
        gather(out, label)


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
    if command == "prepare":
        prepare(work, rest)
    else:
        Path(rest[1]).mkdir(parents=True, exist_ok=True)
        students(work, rest[0], Path(rest[1]), float(rest[2]) if len(rest) > 2 else None)
