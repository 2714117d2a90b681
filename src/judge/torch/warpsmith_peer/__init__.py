"""The PyTorch end of the judge's peer protocol: references and baselines, in their own process."""
