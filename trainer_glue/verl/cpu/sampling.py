"""How one response is drawn: a request's sampling parameters, and the choice of the next token.

The parameters bear vLLM's names and meanings, which verl's agent loops speak. The choice is by inverse transform: one
uniform number for each token from the request's own stream, looked up in the cumulated probabilities. So what a
request draws depends on its seed and its logits alone, not on who shares its batch.

Nothing here knows Ray, verl or how a model is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Final

import torch
from transformers import LogitsProcessor, LogitsProcessorList
from transformers.generation.logits_process import (
    MinPLogitsWarper,
    TemperatureLogitsWarper,
    TopKLogitsWarper,
    TopPLogitsWarper,
)

from rewardkit.errors import ConfigError, did_you_mean

LOGPROBS_MODES: Final = ("processed_logprobs", "raw_logprobs")
"""``rollout.logprobs_mode``: of the distribution that was drawn from (verl's default), or of the model's own.

verl compares them with the trainer's, which divides the logits by ``rollout.temperature`` and knows of nothing else
(verl/trainer/ppo/v1/trainer_base.py, _compute_old_log_prob). So the first agree with it to rounding for any
temperature; top_k, top_p, min_p, a penalty and ids kept from being drawn show in ``training/rollout_probs_diff_*``, as
they do with vLLM, whose modes these are.
"""


@dataclass(frozen=True, slots=True)
class Sampling:
    """Parameters of one request.

    Attributes:
        temperature: 0 takes the most probable token.
        top_k: how many of the most probable tokens may be drawn; -1 or 0 for all.
        top_p: smallest share of the probability that the drawn tokens must cover.
        min_p: smallest probability, relative to the most probable token's.
        repetition_penalty: divides the logits of tokens seen in prompt and response (multiplies negative ones).
        max_tokens: the longest response, in tokens.
        min_tokens: no end before this many tokens.
        ignore_eos: end-of-sequence tokens don't end the response.
        stop: texts that end it; their tokens stay.
        stop_token_ids: tokens that end it, besides the model's own; they stay.
        seed: of this request; None for one derived from the run's.
        logprobs: whether the log-probabilities are wanted.
    """

    temperature: float = 1.0
    top_k: int = -1
    top_p: float = 1.0
    min_p: float = 0.0
    repetition_penalty: float = 1.0
    max_tokens: int = 16
    min_tokens: int = 0
    ignore_eos: bool = False
    stop: tuple[str, ...] = ()
    stop_token_ids: tuple[int, ...] = ()
    seed: int | None = None
    logprobs: bool = False

    def __post_init__(self) -> None:
        checks = {
            "temperature": (self.temperature >= 0, "0 or more"),
            "top_k": (self.top_k >= -1, "-1 (all) or more"),
            "top_p": (0 < self.top_p <= 1, "in (0, 1]"),
            "min_p": (0 <= self.min_p <= 1, "in [0, 1]"),
            "repetition_penalty": (self.repetition_penalty > 0, "more than 0"),
            "max_tokens": (self.max_tokens >= 1, "1 or more"),
        }
        for name, (holds, expected) in checks.items():
            if not holds:
                raise ConfigError(f"sampling parameter {name} is {getattr(self, name)!r}; expected {expected}")

    @classmethod
    def read(cls, params: Mapping[str, Any], *, max_tokens: int, ignore_eos: bool) -> Sampling:
        """Parameters as an agent loop hands them over.

        Args:
            params: by vLLM's names; ``max_new_tokens`` is taken for ``max_tokens``. None is the default.
            max_tokens: what fits; a larger wish is cut to it.
            ignore_eos: the run's default.

        Raises:
            ConfigError: a parameter that is unknown here or out of range.
        """
        given = {name: value for name, value in params.items() if value is not None}
        wish = given.pop("max_new_tokens", None)
        given.setdefault("max_tokens", max_tokens if wish is None else wish)
        known = {field.name for field in fields(cls)}
        for name in given:
            if name not in known:
                raise ConfigError(
                    f"sampling parameter {name!r} is not supported by the CPU rollout; supported: "
                    f"{', '.join(sorted(known))}",
                    hint=did_you_mean(name, known),
                )
        given["max_tokens"] = min(int(given["max_tokens"]), max_tokens)
        given.setdefault("ignore_eos", ignore_eos)
        stop = given.get("stop", ())
        given["stop"] = (stop,) if isinstance(stop, str) else tuple(stop)
        given["stop_token_ids"] = tuple(given.get("stop_token_ids", ()))
        return cls(**given)

    @property
    def filters(self) -> tuple[float, int, float, float, float]:
        """What rows of one batch must share; the rest is kept row by row."""
        return self.temperature, self.top_k, self.top_p, self.min_p, self.repetition_penalty


def derive_seed(run: int, step: int, prompt: Sequence[int], occurrence: int, replica: int) -> int:
    """The seed of a request that brings none: the same for the same request in another run.

    Args:
        run: the run's seed (``rollout.seed``).
        step: of the weights.
        prompt: token ids.
        occurrence: how many requests with this prompt came before, with these weights, at this replica.
        replica: which replica; two that serve the same group must not draw the same.
    """
    text = f"{run}/{step}/{replica}/{occurrence}/{','.join(map(str, prompt))}"
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=7).digest(), "big")


def stream(seed: int, length: int) -> torch.Tensor:
    """`length` uniform numbers in [0, 1), float64."""
    return torch.rand(length, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


class Chooser(LogitsProcessor):  # type: ignore[misc]
    """Chooses each row's next token, and leaves only that one standing.

    The last logits processor of a ``generate`` that then takes the maximum. Keeps the chosen tokens and their
    log-probabilities: one number a token, where ``output_scores`` would keep a vocabulary's worth.

    Args:
        sampling: one for each row; they share :attr:`Sampling.filters`.
        uniforms: shape (rows, longest response), from :func:`stream`.
        unusable: shape (vocabulary,), true where an id must not be drawn.
        attention_mask: shape (rows, prompt width); 0 at the padding.
        mode: one of :data:`LOGPROBS_MODES`.
    """

    def __init__(
        self,
        sampling: Sequence[Sampling],
        uniforms: torch.Tensor,
        unusable: torch.Tensor,
        attention_mask: torch.Tensor,
        mode: str,
    ) -> None:
        temperature, top_k, top_p, min_p, self._penalty = sampling[0].filters
        self._greedy = temperature == 0
        self._uniforms = uniforms
        self._unusable = unusable
        self._padding = attention_mask == 0
        self._raw = mode == "raw_logprobs"
        self._warpers = LogitsProcessorList()
        if not self._greedy:
            if temperature != 1:
                self._warpers.append(TemperatureLogitsWarper(float(temperature)))
            if top_k > 0:
                self._warpers.append(TopKLogitsWarper(top_k))
            if top_p < 1:
                self._warpers.append(TopPLogitsWarper(float(top_p)))
            if min_p > 0:
                self._warpers.append(MinPLogitsWarper(float(min_p)))
        self._tokens: list[torch.Tensor] = []
        self._log_probs: list[torch.Tensor] = []

    def __call__(self, input_ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
        """Choose.

        Args:
            input_ids: shape (rows, width so far).
            scores: logits, shape (rows, vocabulary).

        Returns:
            Minus infinity everywhere but at the chosen tokens.
        """
        logits = scores.float().masked_fill(self._unusable, -torch.inf)
        raw = logits.log_softmax(-1) if self._raw else None
        if self._penalty != 1:
            logits = self._penalise(input_ids, logits)
        log_probs = self._warpers(input_ids, logits).log_softmax(-1)
        if self._greedy:
            chosen = log_probs.argmax(-1, keepdim=True)
        else:
            cumulated = log_probs.double().exp().cumsum(-1)
            total = cumulated[:, -1:]
            target = self._uniforms[:, len(self._tokens), None] * total
            chosen = torch.searchsorted(cumulated, target, right=True)
            # A product that rounds up to the total would point behind the last token of any probability.
            chosen = torch.minimum(chosen, (cumulated < total).sum(-1, keepdim=True))
        self._tokens.append(chosen)
        self._log_probs.append((log_probs if raw is None else raw).gather(-1, chosen))
        return torch.full_like(log_probs, -torch.inf).scatter(-1, chosen, 0.0)

    def _penalise(self, input_ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        # transformers' own processor would count the padding as seen.
        seen = torch.zeros_like(logits)
        unpadded = torch.ones_like(input_ids, dtype=logits.dtype)
        unpadded[:, : self._padding.shape[1]].masked_fill_(self._padding, 0.0)
        seen.scatter_add_(-1, input_ids, unpadded)
        penalised = torch.where(logits > 0, logits / self._penalty, logits * self._penalty)
        return torch.where(seen > 0, penalised, logits)

    @property
    def tokens(self) -> torch.Tensor:
        """Chosen so far, shape (rows, tokens)."""
        return torch.cat(self._tokens, dim=-1)

    @property
    def log_probs(self) -> torch.Tensor:
        """Of the chosen tokens, shape (rows, tokens)."""
        return torch.cat(self._log_probs, dim=-1)
