import torch


def reference(x, weight, bias):
    return torch.nn.functional.batch_norm(x, None, None, weight, bias, training=True, eps=1e-5)
