"""CPU time of a model with the shape of MiniLM-L6 in onnxruntime.

Prints milliseconds of CPU time per passage and passages per CPU second, for
weights of 32 bits and of 8 bits, in batches of several sizes. The weights are
random: the time does not depend on their values, and none have to be fetched.
Compare with `cargo xtask bench embed` on the same machine.

    python -m venv venv && venv/bin/pip install onnxruntime==1.22.1 onnx==1.18.0 numpy
    venv/bin/python training/minilm_speed.py
"""

import pathlib
import sys
import tempfile
import time

import numpy as np
import onnx
import onnxruntime as ort
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.quantization import QuantType, quantize_dynamic

LAYERS, WIDTH, HEADS, FEED_FORWARD, WORDS, POSITIONS = 6, 384, 12, 1536, 30_522, 512
HEAD_WIDTH = WIDTH // HEADS
TOKENS = int(sys.argv[1]) if len(sys.argv) > 1 else 202
random = np.random.default_rng(1)


def build(path: pathlib.Path) -> None:
    """Writes the graph: embeddings, layers of BERT, the mean over all tokens."""
    nodes, weights = [], []

    def weight(name, *shape):
        values = (random.standard_normal(shape) * 0.02).astype(np.float32)
        weights.append(numpy_helper.from_array(values, name))
        return name

    def constant(name, values, kind=np.int64):
        weights.append(numpy_helper.from_array(np.array(values, kind), name))
        return name

    def node(kind, inputs, output, **attributes):
        nodes.append(helper.make_node(kind, inputs, [output], **attributes))
        return output

    def linear(x, name, inputs, outputs):
        product = node("MatMul", [x, weight(f"{name}.w", inputs, outputs)], f"{name}.p")
        return node("Add", [product, weight(f"{name}.b", outputs)], name)

    def norm(x, name):
        scale, bias = weight(f"{name}.s", WIDTH), weight(f"{name}.o", WIDTH)
        return node("LayerNormalization", [x, scale, bias], name, axis=-1)

    split = constant("split", [0, 0, HEADS, HEAD_WIDTH])
    joined = constant("joined", [0, 0, WIDTH])
    scale = constant("scale", HEAD_WIDTH**-0.5, np.float32)
    root = constant("root", 2**0.5, np.float32)
    half, one = constant("half", 0.5, np.float32), constant("one", 1, np.float32)

    words = node("Gather", [weight("words", WORDS, WIDTH), "ids"], "word")
    places = node("Gather", [weight("positions", POSITIONS, WIDTH), "places"], "place")
    x = norm(node("Add", [words, places], "embedded"), "first")
    for n in range(LAYERS):
        heads = {}
        for part in "qkv":
            flat = linear(x, f"{n}.{part}", WIDTH, WIDTH)
            shaped = node("Reshape", [flat, split], f"{n}.{part}.r")
            turn = [0, 2, 3, 1] if part == "k" else [0, 2, 1, 3]
            heads[part] = node("Transpose", [shaped], f"{n}.{part}.t", perm=turn)
        scores = node("MatMul", [heads["q"], heads["k"]], f"{n}.scores")
        scaled = node("Mul", [scores, scale], f"{n}.scaled")
        shares = node("Softmax", [scaled], f"{n}.shares", axis=-1)
        mixed = node("MatMul", [shares, heads["v"]], f"{n}.mixed")
        turned = node("Transpose", [mixed], f"{n}.turned", perm=[0, 2, 1, 3])
        flat = node("Reshape", [turned, joined], f"{n}.flat")
        out = linear(flat, f"{n}.out", WIDTH, WIDTH)
        x = norm(node("Add", [x, out], f"{n}.sum"), f"{n}.norm")
        up = linear(x, f"{n}.up", WIDTH, FEED_FORWARD)
        inner = node("Erf", [node("Div", [up, root], f"{n}.d")], f"{n}.erf")
        gate = node("Mul", [node("Add", [inner, one], f"{n}.a"), half], f"{n}.gate")
        down = linear(node("Mul", [up, gate], f"{n}.gelu"), f"{n}.down", FEED_FORWARD, WIDTH)
        x = norm(node("Add", [x, down], f"{n}.sum2"), f"{n}.norm2")
    node("ReduceMean", [x, constant("axis", [1])], "vector", keepdims=0)
    ids = helper.make_tensor_value_info("ids", TensorProto.INT64, ["batch", "tokens"])
    places = helper.make_tensor_value_info("places", TensorProto.INT64, ["tokens"])
    vector = helper.make_tensor_value_info("vector", TensorProto.FLOAT, ["batch", WIDTH])
    graph = helper.make_graph(nodes, "minilm", [ids, places], [vector], weights)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    model.ir_version = 10
    onnx.checker.check_model(model)
    onnx.save(model, path)


def measure(path: pathlib.Path, batch: int) -> float:
    """Returns the median CPU time of a passage in milliseconds, on one core."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = ort.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    feed = {
        "ids": random.integers(0, WORDS, (batch, TOKENS)),
        "places": np.arange(TOKENS),
    }
    times = []
    for _ in range(max(4, 64 // batch)):
        begin = time.process_time()
        session.run(None, feed)
        times.append((time.process_time() - begin) / batch * 1000)
    return float(np.median(times[1:]))


with tempfile.TemporaryDirectory() as folder:
    plain = pathlib.Path(folder) / "plain.onnx"
    small = pathlib.Path(folder) / "small.onnx"
    build(plain)
    quantize_dynamic(plain, small, weight_type=QuantType.QInt8)
    print(f"MiniLM-L6 in onnxruntime {ort.__version__}, one thread, {TOKENS} tokens a passage")
    for name, path in [("32 bits", plain), ("8 bits", small)]:
        for batch in [1, 8, 32]:
            each = measure(path, batch)
            print(f"{name}, batch of {batch}: {each:.1f} ms, {1000 / each:.0f} passages per CPU second")
