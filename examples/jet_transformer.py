"""A small network in the manner of Particle Transformer: attention between particles, biased by features of pairs.

jet_transformer.py        (prints how many weights it has)
"""

import torch
from torch import Tensor, nn


class Block(nn.Module):
    """Attention with a bias for each pair, then a layer for each particle."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.query_key_value, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """(jets, particles, width), (jets, heads, particles, particles) → (jets, particles, width)."""
        jets, particles, width = x.shape
        split = self.query_key_value(self.before(x)).reshape(jets, particles, 3, self.heads, width // self.heads)
        query, key, value = split.permute(2, 0, 3, 1, 4)
        mixed = nn.functional.scaled_dot_product_attention(query, key, value, attn_mask=bias.to(query.dtype))
        x = x + self.out(mixed.transpose(1, 2).reshape(jets, particles, width))
        return x + self.feed(self.between(x))


class JetTransformer(nn.Module):
    """Tells classes of jets apart.

    Args:
        features: Features of a particle.
        classes: Classes of jets.
        particles: Particles that are looked at, the first ones of a jet: cost grows with their square.
    """

    def __init__(
        self, features: int, classes: int = 10, *, particles: int = 48, width: int = 32, heads: int = 4, blocks: int = 2
    ) -> None:
        super().__init__()
        self.particles = particles
        self.embed = nn.Sequential(nn.LayerNorm(features), nn.Linear(features, width), nn.GELU())
        self.pair_bias = nn.Sequential(nn.Linear(1, 8), nn.GELU(), nn.Linear(8, heads))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.classify = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, classes))

    def forward(self, nodes: Tensor, pairs: Tensor, count: Tensor) -> Tensor:
        """Give scores (jets, classes) for features, symmetric matrices of pairs, and numbers of particles."""
        nodes, pairs = nodes[:, : self.particles], pairs[:, : self.particles, : self.particles]
        there = torch.arange(nodes.shape[1], device=nodes.device) < count[:, None].clamp(min=1)
        bias = self.pair_bias(pairs[..., None]).permute(0, 3, 1, 2)
        bias = bias.masked_fill(~there[:, None, None, :], float("-inf"))
        x = self.embed(nodes)
        for block in self.blocks:
            x = block(x, bias)
        mean = (x * there[..., None]).sum(1) / there.sum(1, keepdim=True)
        return self.classify(mean)


if __name__ == "__main__":
    weights = sum(weight.numel() for weight in JetTransformer(features=16).parameters())
    print(f"{weights:,} weights")
