"""What the faces for other libraries (headrace.torch, .lightning, .accelerate, .jax) are made of, and share."""
