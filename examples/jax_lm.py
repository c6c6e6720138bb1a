"""A small transformer in plain JAX, trained on token files over all devices, stopped and resumed.

jax_lm.py [FILES ...] [--vocabulary 24] [--context 32] [--batch-size 32] [--steps 200] [--checkpoint FILE]

FILES are what hr.open_tokens takes; without any, a made language is written first. Rows are divided over one axis of
the mesh, the wide matrices over the other. A checkpoint that exists is gone on from, with any number of devices.
"""

import argparse
import json
import tempfile
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, NamedSharding
from jax.sharding import PartitionSpec as P

import headrace as hr
from headrace.jax import Loader

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files", nargs="*")
parser.add_argument("--checkpoint", type=Path)
for name, number in (("vocabulary", 24), ("context", 32), ("batch-size", 32), ("steps", 200), ("layers", 1)):
    parser.add_argument(f"--{name}", type=int, default=number)
for name, number in (("width", 64), ("heads", 4)):
    parser.add_argument(f"--{name}", type=int, default=number)
words = parser.parse_args()


def write_made_language(folder: str, kinds: int, number: int = 60_000) -> str:
    """Each token is followed by one of two others: about ln 2 nats are left to a model that has learnt which."""
    random = np.random.default_rng(1)
    followers, sides = random.integers(0, kinds, (kinds, 2)), random.integers(0, 2, number)
    tokens = [0]
    for side in sides[1:]:
        tokens.append(int(followers[tokens[-1], side]))
    with hr.tokens.Writer(f"{folder}/corpus", vocab_size=kinds) as writer:
        writer.write(tokens)
    return f"{folder}/corpus"


def new_parameters(key: jax.Array) -> dict:
    """Small random matrices."""
    width, vocabulary = words.width, words.vocabulary
    shapes = {"token": (vocabulary, width), "place": (words.context, width), "head": (width, vocabulary)}
    for layer in range(words.layers):
        shapes |= {f"qkv{layer}": (width, 3 * width), f"out{layer}": (width, width)}
        shapes |= {f"up{layer}": (width, 4 * width), f"down{layer}": (4 * width, width)}
    keys = jax.random.split(key, len(shapes))
    return {name: 0.05 * jax.random.normal(keys[i], shape) for i, (name, shape) in enumerate(shapes.items())}


def place(mesh: jax.sharding.Mesh, tree: dict) -> dict:
    """Divide the matrices of the MLPs, or what the optimiser keeps of each, over the mesh's axis "model"."""
    specs = {"up": P(None, "model"), "down": P("model", None)}
    return {
        name: jax.device_put(array, NamedSharding(mesh, specs.get(name.rstrip("0123456789"), P())))
        for name, array in tree.items()
    }


def norm(x: jax.Array) -> jax.Array:
    return x * jax.lax.rsqrt((x * x).mean(-1, keepdims=True) + 1e-6)


def loss_of(parameters: dict, window: jax.Array) -> jax.Array:
    x, y = window[:, :-1].astype("int32"), window[:, 1:].astype("int32")  # the lookahead: each token's successor
    h = parameters["token"][x] + parameters["place"]
    for layer in range(words.layers):
        q, k, v = jnp.split((norm(h) @ parameters[f"qkv{layer}"]).reshape(*x.shape, words.heads, -1), 3, axis=-1)
        seen = jax.nn.dot_product_attention(q, k, v, is_causal=True)
        h = h + seen.reshape(h.shape) @ parameters[f"out{layer}"]
        h = h + jax.nn.gelu(norm(h) @ parameters[f"up{layer}"]) @ parameters[f"down{layer}"]
    chances = jax.nn.log_softmax(norm(h) @ parameters["head"])
    return -jnp.take_along_axis(chances, y[..., None], -1).mean()


@jax.jit
def train(state: dict, window: jax.Array) -> tuple[dict, jax.Array]:
    """One step of Adam."""
    loss, gradients = jax.value_and_grad(loss_of)(state["parameters"], window)
    step = state["step"] + 1
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], gradients)
    square = jax.tree.map(lambda s, g: 0.98 * s + 0.02 * g * g, state["square"], gradients)
    rate = 3e-3 * jnp.sqrt(1 - 0.98**step) / (1 - 0.9**step)
    parameters = jax.tree.map(lambda p, m, s: p - rate * m / (jnp.sqrt(s) + 1e-8), state["parameters"], mean, square)
    return {"parameters": parameters, "mean": mean, "square": square, "step": step}, loss


def save(path: Path, state: dict, batches: object) -> None:
    arrays = {f"{part}/{name}": x for part in ("parameters", "mean", "square") for name, x in state[part].items()}
    told = json.dumps({"step": int(state["step"]), "loader": batches.get_state()})
    with path.open("wb") as file:
        np.savez(file, told=told, **{name: np.asarray(x) for name, x in arrays.items()})


devices = jax.device_count()
axis = 2 if devices % 2 == 0 else 1
mesh = jax.make_mesh((devices // axis, axis), ("data", "model"), axis_types=(AxisType.Auto,) * 2)
made = tempfile.TemporaryDirectory()
tokens = hr.open_tokens(words.files or write_made_language(made.name, words.vocabulary), vocab_size=words.vocabulary)
windows = tokens.windows(words.context, lookahead=1)
loader = Loader(windows, words.batch_size, shuffle=True, num_epochs=None, mesh=mesh, spec=P("data"))
batches = iter(loader)
print(f"{len(windows):,} windows of {words.context} tokens, {loader.steps_per_epoch} steps an epoch, {devices} devices")

state = {"parameters": new_parameters(jax.random.key(0)), "step": 0}
state |= {part: jax.tree.map(jnp.zeros_like, state["parameters"]) for part in ("mean", "square")}
if words.checkpoint and words.checkpoint.exists():
    with np.load(words.checkpoint) as saved:
        told = json.loads(str(saved["told"]))
        for part in ("parameters", "mean", "square"):
            state[part] = {name: saved[f"{part}/{name}"] for name in state[part]}
    state["step"] = told["step"]
    batches.set_state(told["loader"])  # the next batch is the one that would have come
    print(f"step {told['step']}: resumed after {told['loader']['samples']} samples of epoch {told['loader']['epoch']}")
for part in ("parameters", "mean", "square"):
    state[part] = place(mesh, state[part])

for step in range(state["step"] + 1, words.steps + 1):
    state, loss = train(state, next(batches)["tokens"])
    if step in (1, words.steps) or step % 50 == 0:
        print(f"step {step}: loss {loss:.3f}")
if words.checkpoint:
    save(words.checkpoint, state, batches)
loader.close()
made.cleanup()
