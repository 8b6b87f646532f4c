"""Adam with decoupled weight decay, in a few lines.

torch's own optimizers import its compiler when they are made, which takes longer than the whole training here.
"""

from collections.abc import Iterable

import torch
from torch import Tensor


class Adam:
    """Updates parameters from their gradients. The rate is a value per step, so a schedule is the caller's."""

    def __init__(self, parameters: Iterable[Tensor], decay: float = 0.01) -> None:
        self.parameters = list(parameters)
        self.decay = decay
        self.steps = 0
        self.first = [torch.zeros_like(parameter) for parameter in self.parameters]
        self.second = [torch.zeros_like(parameter) for parameter in self.parameters]

    @torch.no_grad()
    def step(self, rate: float, largest_norm: float = 1.0) -> None:
        """One update with gradients clipped to `largest_norm` together, after which they are gone."""
        self.steps += 1
        norm = torch.stack(
            [parameter.grad.norm() for parameter in self.parameters if parameter.grad is not None]
        ).norm()
        scale = (largest_norm / (norm + 1e-6)).clamp(max=1.0)
        for parameter, first, second in zip(self.parameters, self.first, self.second, strict=True):
            if parameter.grad is None:
                continue
            gradient = parameter.grad * scale
            first.lerp_(gradient, 0.1)
            second.lerp_(gradient * gradient, 0.01)
            mean, square = first / (1 - 0.9**self.steps), second / (1 - 0.99**self.steps)
            parameter.mul_(1 - rate * self.decay).sub_(rate * mean / (square.sqrt() + 1e-8))
            parameter.grad = None
