"""How a causal model goes on: each next token drawn from its own probabilities."""

import torch

from clearhead.models import Gpt


@torch.inference_mode()
def continued(model: Gpt, prompt: list[int], longest: int, end: int, seed: int) -> list[int]:
    """The prompt and what is drawn after it, up to the end sign or `longest` new tokens.

    A generator of its own draws: the random states of training stay as they are. A few short
    samples need no cache; who generates more uses `clearhead generate`.
    """
    generator = torch.Generator().manual_seed(seed)
    device = model.embed.embedding.weight.device
    ids = list(prompt)
    for _ in range(min(longest, model.config.seq_len - len(prompt))):
        hidden = model(torch.tensor([ids], device=device))[0, -1]
        chances = model.logits(hidden).float().softmax(dim=-1).cpu()
        drawn = int(torch.multinomial(chances, 1, generator=generator))
        if drawn == end:
            break
        ids.append(drawn)
    return ids
