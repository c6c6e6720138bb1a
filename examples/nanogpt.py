"""A small GPT in plain PyTorch, trained on windows of token files.

nanogpt.py 'corpus_*.npy' [--vocabulary 50304] [--context 64] [--batch-size 32] [--steps 300] [--layers 2] [--width 64]

The files hold token numbers, one after the other: nanoGPT's `train.bin`, `.npy` arrays, files of Megatron or datatrove,
or a column of HDF5 files (--field).
"""

import argparse
import itertools

import torch
from torch.nn import functional as F

import headrace as hr

parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
parser.add_argument("files")
parser.add_argument("--field", help="the column of HDF5 files that has the tokens")
parser.add_argument("--vocabulary", type=int, default=50_304, help="kinds of tokens; default: GPT-2's, rounded up")
for name, number in (("context", 64), ("batch-size", 32), ("steps", 300), ("layers", 2), ("width", 64), ("heads", 4)):
    parser.add_argument(f"--{name}", type=int, default=number)
words = parser.parse_args()


class Block(torch.nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = torch.nn.LayerNorm(width), torch.nn.LayerNorm(width)
        self.qkv, self.out = torch.nn.Linear(width, 3 * width), torch.nn.Linear(width, width)
        self.mlp = torch.nn.Sequential(
            torch.nn.Linear(width, 4 * width), torch.nn.GELU(), torch.nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = (t.unflatten(-1, (self.heads, -1)).transpose(1, 2) for t in self.qkv(self.before(x)).chunk(3, dim=-1))
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).flatten(2))
        return x + self.mlp(self.between(x))


class GPT(torch.nn.Module):
    def __init__(self, vocabulary: int, context: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.token, self.place = torch.nn.Embedding(vocabulary, width), torch.nn.Embedding(context, width)
        self.blocks = torch.nn.Sequential(*(Block(width, heads) for _ in range(layers)), torch.nn.LayerNorm(width))
        self.head = torch.nn.Linear(width, vocabulary, bias=False)

    def loss(self, window: torch.Tensor) -> torch.Tensor:
        x, y = window[:, :-1], window[:, 1:]  # the lookahead: each token's successor is in the window
        h = self.token(x) + self.place(torch.arange(x.shape[1]))
        return F.cross_entropy(self.head(self.blocks(h)).flatten(0, 1), y.flatten())


torch.manual_seed(0)
field = words.field or "tokens"
tokens = hr.open(words.files, [field]) if words.field else hr.open_tokens(words.files, vocab_size=words.vocabulary)
windows = tokens.windows(words.context, lookahead=1).map(hr.transforms.Cast(field, dtype="int64"))  # for an Embedding
parts = windows.split({"train": 0.9, "val": 0.1}, seed=0)  # runs of windows that share no token
train, val = (hr.Loader(part, words.batch_size, shuffle=True, framework="torch") for part in parts.values())
model = GPT(words.vocabulary, words.context, words.width, words.heads, words.layers)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)


def validation_loss() -> float:
    with torch.inference_mode():
        losses = [(len(batch[field]), model.loss(batch[field]).item()) for batch in val]
    return sum(n * loss for n, loss in losses) / sum(n for n, _ in losses)


print(f"{len(parts['train']):,} windows of {words.context} tokens; {len(parts['val']):,} held out")
print(f"step 0: validation loss {validation_loss():.3f}")
epochs = itertools.chain.from_iterable(iter(train) for _ in itertools.count())  # each in an order of its own
for batch in itertools.islice(epochs, words.steps):
    loss = model.loss(batch[field])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(f"step {words.steps}: training loss {loss.item():.3f}, validation loss {validation_loss():.3f}")
