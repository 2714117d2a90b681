"""python matmul.py: a product, its gradient, and the same compiled; needs an NVIDIA GPU."""

import torch
import warpsmith

a = torch.randn(512, 1024, device="cuda", dtype=torch.float16, requires_grad=True)
w = torch.randn(256, 1024, device="cuda", dtype=torch.float16)  # as torch.nn.Linear keeps weights

c = warpsmith.matmul(a, w.T)  # w.T is taken as it lies
torch.testing.assert_close(c, a @ w.T, rtol=1e-2, atol=1e-1)
c.sum().backward()
torch.testing.assert_close(a.grad, w.sum(0).expand_as(a), rtol=1e-2, atol=1e-1)

compiled = torch.compile(lambda x: torch.relu(warpsmith.matmul(x, w.T)))
torch.testing.assert_close(compiled(a), torch.relu(c), rtol=1e-2, atol=1e-1)
print("right:", warpsmith.explain(a, w.T))
