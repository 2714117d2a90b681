import torch


def reference(a, b, bias):
    return torch.relu(torch.addmm(bias, a, b))
