"""A model that answers batches of prompts: Hugging Face ``generate``, one response for each request.

No Ray and no verl in here, so that it can be held against the model itself in a test. The weights come from outside
(:meth:`Engine.load`); until they have, there is nothing to generate with.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from transformers import AutoModelForCausalLM, GenerationConfig, LogitsProcessorList, StoppingCriteriaList

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.sampling import LOGPROBS_MODES, Chooser, Sampling, stream
from trainer_glue.verl.cpu.stopping import StopReason, StopRules


@dataclass(frozen=True, slots=True)
class Request:
    """One prompt to answer.

    Attributes:
        prompt: token ids.
        sampling: its parameters.
        seed: of its stream of random numbers.
    """

    prompt: tuple[int, ...]
    sampling: Sampling
    seed: int


@dataclass(frozen=True, slots=True)
class Completion:
    """One response.

    Attributes:
        tokens: token ids, with what ended it.
        log_probs: of each token.
        reason: why it ended.
    """

    tokens: list[int]
    log_probs: list[float]
    reason: StopReason


class Engine:
    """A causal language model on the CPU, without weights at first.

    Args:
        config: a Hugging Face model config.
        tokenizer: its tokenizer: ids that it can't decode are never drawn.
        eos: ids that end a response, besides the tokenizer's own.
        dtype: of the weights.
        mode: ``rollout.logprobs_mode``.
        trust_remote_code: whether the model's own code may run.

    Raises:
        ConfigError: an unknown mode, or a tokenizer none of whose ids the model knows.
    """

    def __init__(
        self,
        config: Any,
        tokenizer: Any,
        *,
        eos: Iterable[int] = (),
        dtype: torch.dtype = torch.float32,
        mode: str = LOGPROBS_MODES[0],
        trust_remote_code: bool = False,
    ) -> None:
        if mode not in LOGPROBS_MODES:
            raise ConfigError(f"rollout.logprobs_mode is {mode!r}; expected one of {', '.join(LOGPROBS_MODES)}")
        self.model = AutoModelForCausalLM.from_config(
            config, dtype=dtype, attn_implementation="sdpa", trust_remote_code=trust_remote_code
        ).eval()
        self.model.requires_grad_(False)
        # A checkpoint's own generation defaults (temperature, top_p) must not mix with the request's.
        self.model.generation_config = GenerationConfig()
        self.dtype = dtype
        self.abort = threading.Event()
        self.loaded = False
        self._tokenizer = tokenizer
        self._mode = mode
        self._eos = frozenset(eos) | ({tokenizer.eos_token_id} - {None})
        self._pad = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
        self.vocabulary = self.model.get_output_embeddings().weight.shape[0]
        decodable = [index for index in tokenizer.get_vocab().values() if index < self.vocabulary]
        if not decodable:
            raise ConfigError(f"none of the tokenizer's ids is below the model's vocabulary of {self.vocabulary}")
        self._unusable = torch.ones(self.vocabulary, dtype=torch.bool)
        self._unusable[decodable] = False
        self._fresh: set[int] = set()

    @torch.no_grad()  # type: ignore[untyped-decorator]
    def load(self, weights: Iterable[tuple[str, torch.Tensor]], *, last: bool) -> None:
        """Take a part of the weights, in place.

        Args:
            weights: names as in the model's state dict, and tensors.
            last: whether this completes them.

        Raises:
            ValueError: a name or shape that the model does not have, or, with `last`, parameters that no part held.
        """
        own = self.model.state_dict(keep_vars=True)
        for name, tensor in weights:
            target = own.get(name)
            if target is None or target.shape != tensor.shape:
                actual = "no such parameter" if target is None else f"shape {tuple(target.shape)}"
                raise ValueError(
                    f"the trainer sent {name} with shape {tuple(tensor.shape)}; the rollout's model "
                    f"({type(self.model).__name__}) has {actual}"
                )
            target.copy_(tensor)
            self._fresh.add(target.data_ptr())
        if last:
            # Tied names share storage, so one of them is enough.
            missing = [name for name, target in own.items() if target.data_ptr() not in self._fresh]
            self._fresh.clear()
            if missing:
                raise ValueError(f"the trainer sent no weights for {', '.join(missing[:5])} ({len(missing)} in all)")
            self.loaded = True

    @torch.inference_mode()  # type: ignore[untyped-decorator]
    def generate(self, requests: Sequence[Request]) -> list[Completion]:
        """Answer requests that share :attr:`Sampling.filters`, as one batch.

        Raises:
            RuntimeError: no weights yet.
        """
        if not self.loaded:
            raise RuntimeError("asked to generate before the trainer has sent its weights")
        width = max(len(request.prompt) for request in requests)
        longest = max(request.sampling.max_tokens for request in requests)
        padding = [width - len(request.prompt) for request in requests]
        ids = torch.tensor([[self._pad] * pad + list(r.prompt) for pad, r in zip(padding, requests, strict=True)])
        mask = torch.tensor([[0] * pad + [1] * (width - pad) for pad in padding])
        sampling = [request.sampling for request in requests]
        chooser = Chooser(
            sampling,
            torch.stack([stream(request.seed, longest) for request in requests]),
            self._unusable,
            mask,
            self._mode,
        )
        stop_rules = StopRules(sampling, width, self._eos, self._decode, self.abort)
        self.model.generate(
            input_ids=ids,
            attention_mask=mask,
            generation_config=GenerationConfig(do_sample=False, max_new_tokens=longest, pad_token_id=self._pad),
            logits_processor=LogitsProcessorList([chooser]),
            stopping_criteria=StoppingCriteriaList([stop_rules]),
        )
        tokens, log_probs = chooser.tokens.tolist(), chooser.log_probs.tolist()
        return [
            Completion(tokens[row][:length], log_probs[row][:length], reason)
            for row, (length, reason) in enumerate(zip(stop_rules.lengths, stop_rules.reasons, strict=True))
        ]

    def _decode(self, tokens: list[int]) -> str:
        return str(self._tokenizer.decode(tokens, skip_special_tokens=True))
