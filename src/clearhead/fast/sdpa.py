"""Attention through `F.scaled_dot_product_attention`: on a GPU one kernel, no weights in memory.

The kernel (FlashAttention, Dao et al. 2022, or a relative that takes masks) walks over
the keys in blocks that fit the chip's own memory and keeps a running softmax. On a CPU
its backward takes several times as long as the formula's at the length of a sentence:
`clearhead.fast.attention` is for there.
"""

from typing import Self

import torch.nn.functional as F
from torch import Tensor

from clearhead.blocks.attention import MultiHeadAttentionBlock, check_agreement
from clearhead.blocks.masks import as_boolean, check_mask
from clearhead.fast.twin import same_insides


class SdpaMultiHeadAttentionBlock(MultiHeadAttentionBlock):
    """`MultiHeadAttentionBlock` whose weights never exist, unless somebody watches them."""

    @classmethod
    def twin(cls, block: MultiHeadAttentionBlock) -> Self:
        """One with the other's projections and dropout."""
        return same_insides(cls, block)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
        """Project, attend in every head, join the heads, project."""
        if self.keep_attention_scores:
            return super().forward(q, k, v, mask)
        check_agreement(q, k, v)
        check_mask(mask, (q.shape[0], self.h, q.shape[1], k.shape[1]))
        self.attention_scores = None
        query = self.split_heads(self.w_q(q))
        key = self.split_heads(self.w_k(k))
        value = self.split_heads(self.w_v(v))
        allowed = None if mask is None else as_boolean(mask)
        rate = float(self.dropout.p) if self.dropout.training else 0.0
        x = F.scaled_dot_product_attention(query, key, value, allowed, rate)
        if allowed is not None:
            # Kernels differ in what a row that may look at nothing gets; ours gets nothing.
            x = x.masked_fill(~allowed.any(-1, keepdim=True), 0.0)
        return self.w_o(self.join_heads(x))
