"""One reward manager for every verl: a compiled formula behind each version's way of asking for rewards.

=============  =============================================  ==================================================
verl           how it asks                                    what this manager gives
=============  =============================================  ==================================================
0.2 to 0.7.0   ``manager(data, return_dict)``, whole batches  token-level tensor, groups by ``uid``
0.7.1 to 0.9   ``await manager.run_single(data)``, one row    one number; the sampler adds groups and placement
=============  =============================================  ==================================================

``run_single`` never raises: in verl 0.9 an exception there silently drops the response and trains on its siblings.
Requests that wait together are scored together. Its extra info has the same numeric keys for every row of a formula:
each name's value, each term's status code and milliseconds, and ``unscored``; the sampler builds the terms' columns
from them again.

Where a response has several turns, the policy's last one that says something is scored. verl up to 0.7 says by its
``response_mask`` which tokens are the policy's. 0.9 says nothing without `trainer_glue.verl.AgentLoopManager`: then the
sampler, which has the mask, scores such rows.
"""

from __future__ import annotations

import inspect
import logging
import traceback
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rewardkit.algebra.operation import RELATIVE
from rewardkit.algebra.term import Cost
from rewardkit.batch import Status
from rewardkit.engine.detokenizer import Decoder
from rewardkit.engine.loading import load_reward, reward_from_config
from rewardkit.engine.program import Program, compile
from rewardkit.engine.scores import Scores
from rewardkit.errors import CompileError, ConfigError
from rewardkit.processes.budget import batch_budget
from rewardkit.processes.cores import share_cores
from rewardkit.terms.asking import share_limits
from trainer_glue.adapters.base import AnyReward
from trainer_glue.adapters.end_tokens import end_token_ids
from trainer_glue.adapters.first_failures import FirstFailures
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, check_unscored, fill_unscored
from trainer_glue.verl.own import scored_mask
from trainer_glue.verl.queue import RequestQueue
from trainer_glue.verl.reward_model import bypass, serve_verls
from trainer_glue.verl.rows import Row, batch_of, row_of, rows_of
from trainer_glue.verl.wire import SECTION, batch_info, costs_of, deferred_info, failed_info, row_info

try:
    from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase as _Base
except ImportError:  # older than 0.7, or no verl at all: the class is then used by its shape
    _Base = object

logger = logging.getLogger("rewardkit")
DEADLINE_S: Final = 300.0
"""Wall time that one call of a user's term may take in the reward loop."""
_WHOSE_IS_UNKNOWN: Final = (
    "a response has several turns, and verl doesn't say which tokens the policy wrote: it is not scored\n"
    "set actor_rollout_ref.rollout.agent.agent_loop_manager_class=trainer_glue.verl.AgentLoopManager"
)


class RewardManager(_Base):  # type: ignore[misc]
    """verl's reward manager for a rewardkit formula.

    Args:
        tokenizer: the policy's tokenizer, to decode responses.
        num_examine: responses of each data source that a batched call prints, with every term's value.
        compute_score: ignored; the formula pays.
        config: verl's config; the formula stands in ``reward.reward_kwargs.rewardkit``.
        reward: a formula or what names one, over the config's.
        unscored_limit: the share of a batched call that may be unscored before it raises.
        deadline: seconds of wall time that one call of a term of yours may take in the reward loop, over the config's
            ``reward.reward_kwargs.rewardkit.deadline``; 300 where neither says.
        reward_router_address: host and port of the router before verl's reward model, which formulas call ``verl``.
        reward_model_tokenizer: that model's.
        kwargs: what other versions of verl pass to every manager; ignored.

    Raises:
        ConfigError: no formula, no tokenizer, or a config with which verl would never ask this manager.
        CompileError: the formula needs whole groups or tokens, and this verl's config has no sampler that gives them.
    """

    def __init__(
        self,
        *args: Any,
        tokenizer: Any = None,
        num_examine: int = 0,
        compute_score: Any = None,
        config: Any = None,
        reward: AnyReward | None = None,
        unscored_limit: float = UNSCORED_LIMIT,
        deadline: float | None = None,
        reward_router_address: str | None = None,
        reward_model_tokenizer: Any = None,
        **kwargs: Any,
    ) -> None:
        config, tokenizer, num_examine = _positional(args, config, tokenizer, num_examine)
        if tokenizer is None:
            raise ConfigError("RewardManager got no tokenizer", hint="RewardManager(tokenizer=..., reward=...)")
        if _Base is not object:
            taken = len(inspect.signature(_Base.__init__).parameters) - 1  # 0.7.0 takes no compute_score
            super().__init__(*(config, tokenizer, compute_score)[:taken])
        self.tokenizer = tokenizer
        self.num_examine = int(num_examine or 0)
        self.unscored_limit = unscored_limit
        self.program = _program(reward, config)
        # Microseconds a row: handing them to a thread would cost more than they do.
        terms = [node.term for node in self.program.reward.walk() if node.term is not None]
        self._cheap = all(term.builtin and term.cost is Cost.CHEAP for term in terms)
        self._decoder = Decoder(tokenizer)
        self._max_response_length = _select(config, "data.max_response_length")
        self._end_tokens = end_token_ids(tokenizer)
        self._queue = RequestQueue(self._scored, in_place=self._cheap)
        self._deadline = _deadline(deadline, config)
        self._grouped = {n for n, node in self.program.terms.items() if node.term and "group" in node.term.needs(node)}
        self._failures = FirstFailures(self._grouped)
        self._check_supported(config)
        workers = int(_select(config, "reward.num_workers") or 1)  # each is an actor with graders of its own
        share_cores(workers)
        share_limits(workers)
        serve_verls(lambda key: _select(config, key), reward_router_address, reward_model_tokenizer)

    # ------------------------------------------------------------------ verl 0.7.1 and later: one row at a time

    async def run_single(self, data: Any) -> dict[str, Any]:
        """Score the last output of one trajectory.

        Returns:
            ``reward_score`` (a float; 0.0 for an unscored row, which the sampler replaces; None where verl 0.9 has no
            token to put it on) and ``reward_extra_info`` with the same keys for every row.
        """
        try:
            row = self._row(data[-1])
            if len(data) > 1 and "turns" in self.program.needs:
                row = row._replace(earlier=tuple(self._row(data[i]) for i in range(len(data) - 1)))
            if row.whose_is_unknown:
                return self._left_to_the_sampler()
        except Exception:
            self._failures.log_once("input", traceback.format_exc())
            return self._failed()
        return await self._queue.ask(row)

    def _row(self, item: Any) -> Row:
        return row_of(item, self._decoder, max_response_length=self._max_response_length, end_tokens=self._end_tokens)

    def _scored(self, rows: list[Row]) -> list[dict[str, Any]]:
        try:
            return self._score_rows(rows)
        except Exception:
            self._failures.log_once("scoring", traceback.format_exc())
            return [self._failed() for _ in rows]

    def _score_rows(self, rows: list[Row]) -> list[dict[str, Any]]:
        results: list[dict[str, Any]] = [{}] * len(rows)
        by_step: dict[int | None, list[int]] = {}
        for i, row in enumerate(rows):
            by_step.setdefault(row.step, []).append(i)
        for step, members in by_step.items():
            batch = batch_of([rows[i] for i in members], self._decoder, step=step, turns="turns" in self.program.needs)
            if self._grouped:
                batch = replace(batch, groups=None)  # a part of a group is none: the sampler asks about the whole
            with batch_budget():
                leaves = self.program.leaves(batch, deadline=None if self._cheap else self._deadline)
            # A lone row is not a group: what is relative to its group comes later, from the sampler.
            groups = list(range(len(members))) if "group" in self.program.needs else None
            scores = self.program.finish(leaves, step=step, groups=groups)
            self._failures.log(scores)
            spent = costs_of(self.program, leaves, len(members))
            for j, i in enumerate(members):
                results[i] = self._result(scores, j, rows[i], spent)
        return results

    def _result(self, scores: Scores, j: int, row: Row, spent: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
        in_v1 = row.step is not None
        score: float | None = 0.0 if scores.unscored[j] else float(scores.total[j])
        if in_v1 and row.is_empty:
            score = None  # verl would write it at index -1 of an empty tensor; the sampler drops the row
        return {"reward_score": score, "reward_extra_info": row_info(scores, j, spent, none_for_nan=in_v1)}

    def _failed(self) -> dict[str, Any]:
        """The answer for a row that could not even be read: unscored, with the keys that every row has."""
        return {"reward_score": 0.0, "reward_extra_info": failed_info(self.program)}

    def _left_to_the_sampler(self) -> dict[str, Any]:
        """The answer for a row of several turns of which nothing says which tokens the policy wrote."""
        if self._has_sampler:
            return {"reward_score": 0.0, "reward_extra_info": deferred_info(self.program)}
        self._failures.log_once("turns", _WHOSE_IS_UNKNOWN)
        return self._failed()

    # ------------------------------------------------------------------ verl 0.2 to 0.7.0: whole batches

    def __call__(self, data: Any, return_dict: bool = False) -> Any:
        """Score a whole batch.

        Args:
            data: a DataProto with ``responses`` (B, T), ``attention_mask`` (B, P + T) and the dataset's columns.
            return_dict: give the terms' values too.

        Returns:
            The token-level reward, float32, shape (B, T), on the device of the responses; with ``return_dict``
            a dict of it (``reward_tensor``) and of one list a name (``reward_extra_info``).

        Raises:
            UnscoredError: more than ``unscored_limit`` of the rows have no score.
        """
        import torch

        if "rm_scores" in data.batch:
            tensor = data.batch["rm_scores"]
            return {"reward_tensor": tensor, "reward_extra_info": {}} if return_dict else tensor
        responses = data.batch["responses"]
        rows = rows_of(data, self._decoder, max_response_length=self._max_response_length, end_tokens=self._end_tokens)
        rows = self._with_prompts(rows, data.batch)
        step = (getattr(data, "meta_info", None) or {}).get("global_steps")
        needs = self.program.needs
        batch = batch_of(rows, self._decoder, step=step, tokens="tokens" in needs, turns="turns" in needs)
        groups = batch.groups if any(g is not None for g in batch.groups or ()) else None
        with batch_budget():
            scores = self.program.finish(self.program.leaves(batch), step=step, groups=groups)
        check_unscored(scores, self.unscored_limit)
        self._failures.log(scores)
        mask = data.batch["attention_mask"][:, -responses.shape[-1] :].cpu().numpy().astype(np.bool_)
        if "response_mask" in data.batch:
            mask &= data.batch["response_mask"].cpu().numpy().astype(np.bool_)
        tensor = scores.token_rewards(
            mask,
            token_ends=lambda i: self._decoder.token_ends(rows[i].tokens),
            fill=fill_unscored(scores, groups),
            scored=scored_mask({i: row.trajectory for i, row in enumerate(rows) if row.trajectory}, mask),
        )
        self._examine(batch.responses, rows, scores)
        reward_tensor = torch.from_numpy(tensor).to(responses.device)
        if not return_dict:
            return reward_tensor
        return {"reward_tensor": reward_tensor, "reward_extra_info": batch_info(self.program, scores)}

    def _with_prompts(self, rows: list[Row], batch: Any) -> list[Row]:
        """The rows with their prompts as text, where somebody reads them: older versions hand over tokens only."""
        wanted = "prompt" in self.program.needs or self.num_examine > 0
        if not wanted or "prompts" not in batch or all(row.prompt is not None for row in rows):
            return rows
        ids = batch["prompts"]
        masks = batch["attention_mask"][:, : ids.shape[-1]].bool()
        texts = self._decoder([line[mask].tolist() for line, mask in zip(ids, masks, strict=True)])
        return [row if row.prompt is not None else row._replace(prompt=t) for row, t in zip(rows, texts, strict=True)]

    def _examine(self, texts: Any, rows: list[Row], scores: Scores) -> None:
        """Print the first responses of each data source, as verl's own managers do."""
        printed: dict[str | None, int] = {}
        for i, row in enumerate(rows):
            if printed.get(row.data_source, 0) >= self.num_examine:
                continue
            printed[row.data_source] = printed.get(row.data_source, 0) + 1
            parts = [f"{n}={v[i]:g} ({Status(int(scores.statuses[n][i])).name})" for n, v in scores.values.items()]
            print(f"[data_source] {row.data_source}\n[prompt] {row.prompt}\n[response] {texts[i]}")
            print(f"[ground_truth] {row.ground_truth}\n[score] {scores.total[i]:g}: {', '.join(parts)}")

    # ------------------------------------------------------------------ both

    def _check_supported(self, config: Any) -> None:
        """Say before the run what this verl can't carry."""
        self._has_sampler = False
        if found := bypass(lambda key: _select(config, key)):
            raise ConfigError(f"{found.key} {found.message}", hint=found.fix)
        if config is None or _Base is object or _select(config, "trainer.v1") is None:
            return
        sampler = _select(config, "trainer.v1.sampler.custom_sampler.name")
        if _select(config, "trainer.use_v1") is not False and sampler in ("ReplayBuffer", "ReplayBufferAsync"):
            self._has_sampler = True
            return
        lacking = not RELATIVE.isdisjoint(self.program.needs)
        if lacking:
            raise CompileError(
                f"{self.program.reward!r} compares responses with each other, and verl hands over one at a time",
                hint="set trainer.v1.sampler.custom_sampler={path: pkg://trainer_glue.verl, name: ReplayBuffer}",
            )
        logger.warning("rewardkit: without its sampler, unscored rows count as 0 and rewards stand on the last token")


def _positional(args: tuple[Any, ...], config: Any, tokenizer: Any, num_examine: int) -> tuple[Any, Any, int]:
    """verl passed (tokenizer, num_examine, compute_score) by position, later (config, tokenizer, compute_score)."""
    if not args:
        return config, tokenizer, num_examine
    if hasattr(args[0], "decode"):
        return config, args[0], args[1] if len(args) > 1 else num_examine
    return args[0], args[1] if len(args) > 1 else tokenizer, num_examine


def _program(reward: AnyReward | None, config: Any) -> Program:
    if isinstance(reward, str):
        return compile(load_reward(reward).reward)
    if reward is not None:
        return compile(reward)
    wired = _select(config, f"reward.reward_kwargs.{SECTION}")
    if not isinstance(wired, Mapping) and not hasattr(wired, "keys"):
        raise ConfigError(
            "RewardManager has no formula",
            hint="RewardManager(reward=\"length(0.1) + ends_with('.?!')\"), or in verl's config "
            f"reward.reward_kwargs.{SECTION}.formula",
        )
    return compile(reward_from_config(dict(wired)))


def _deadline(given: float | None, config: Any) -> float:
    wired = _select(config, f"reward.reward_kwargs.{SECTION}.deadline")
    seconds = given if given is not None else wired if wired is not None else DEADLINE_S
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < float("inf"):
        raise ConfigError(
            f"RewardManager's deadline is {seconds!r}; expected seconds, above 0",
            hint=f"reward.reward_kwargs.{SECTION}.deadline={DEADLINE_S:g}",
        )
    return float(seconds)


def _select(config: Any, key: str) -> Any:
    """A value of a config by its dotted key; None where it, or anything above it, is missing."""
    for part in key.split("."):
        if config is None:
            return None
        config = config.get(part) if hasattr(config, "get") else getattr(config, part, None)
    return config
