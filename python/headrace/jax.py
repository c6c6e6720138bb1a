"""``headrace.jax``: batches as global ``jax.Array``s, divided over the devices of a mesh as a sharding says.

from headrace.jax import Loader

mesh = jax.make_mesh((4, 2), ("data", "model"))
for batch in Loader(windows, batch_size=512, shuffle=True, mesh=mesh, spec=P("data", None)):
    ...  # {"tokens": a global jax.Array of shape (512, 1025)}
"""

from __future__ import annotations

from headrace._faces.jax_grain import GrainSource
from headrace._faces.jax_iterator import BatchIterator
from headrace._faces.jax_loader import Loader
from headrace._programs.jax_text import load_text_dataset, load_text_dataset_tf_fallback

__all__ = ["BatchIterator", "GrainSource", "Loader", "load_text_dataset", "load_text_dataset_tf_fallback"]
