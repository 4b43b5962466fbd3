"""A layer that forgets its insides gives the same gradients, to the bit, from less memory."""

import copy

import torch
from torch import Tensor

from clearhead.fast import accelerate
from clearhead.models import Transformer, TransformerConfig
from clearhead.training.trainer import checkpoint_layers

SIZES = TransformerConfig(
    19, 19, d_model=12, encoder_layers=3, decoder_layers=2, h=2, d_ff=40, dropout=0.3
)


def two_models() -> tuple[Transformer, Transformer]:
    """The same weights; the second one forgets."""
    keeping = accelerate(Transformer.from_config(SIZES)).train()
    forgetting = copy.deepcopy(keeping)
    checkpoint_layers(forgetting.encoder, forgetting.decoder)
    return keeping, forgetting


def loss_of(model: Transformer) -> Tensor:
    """With dropout, from one seed."""
    torch.manual_seed(3)
    source, target = torch.randint(3, 19, (4, 7)), torch.randint(3, 19, (4, 5))
    return model(source, target, None, None).square().mean()


def test_outputs_and_gradients_are_the_same_bits() -> None:
    keeping, forgetting = two_models()
    losses = [loss_of(model) for model in (keeping, forgetting)]
    assert torch.equal(losses[0], losses[1])
    for loss in losses:
        loss.backward()
    for ours, theirs in zip(forgetting.parameters(), keeping.parameters(), strict=True):
        assert ours.grad is not None and theirs.grad is not None
        assert torch.equal(ours.grad, theirs.grad)


def test_less_is_kept_for_the_backward() -> None:
    kept = []
    for model in two_models():
        weights = {p.data_ptr() for p in model.parameters()}
        sizes: dict[int, int] = {}

        def note(
            tensor: Tensor, sizes: dict[int, int] = sizes, weights: set[int] = weights
        ) -> Tensor:
            if tensor.data_ptr() not in weights:
                sizes[tensor.data_ptr()] = tensor.numel()
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(note, lambda tensor: tensor):
            loss_of(model)
        kept.append(sum(sizes.values()))
    assert kept[1] < 0.5 * kept[0]


def test_names_stay_and_nothing_is_recomputed_without_gradients() -> None:
    keeping, forgetting = two_models()
    assert list(keeping.state_dict()) == list(forgetting.state_dict())
    with torch.inference_mode():
        assert torch.equal(loss_of(forgetting), loss_of(keeping))
