"""What the faces for other libraries (headrace.torch, .lightning, .accelerate) are made of, and share."""
