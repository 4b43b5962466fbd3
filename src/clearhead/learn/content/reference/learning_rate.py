"""The schedule of the learning rate (paper, equation 3)."""


def learning_rate(step: int, d_model: int, warmup: int) -> float:
    r"""The learning rate of step 1, 2, …: it rises linearly, then falls with the root.

    .. math:: d_{model}^{-0.5} \min(step^{-0.5}, step \cdot warmup^{-1.5})
    """
    return d_model**-0.5 * min(step**-0.5, step * warmup**-1.5)
