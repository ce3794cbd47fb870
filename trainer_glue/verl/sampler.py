"""verl 0.9's sampler with rewards in it: the one place that sees whole groups, the step, and the training metrics.

verl's reward loop scores one response at a time and lets a reward be one number. Its sampler hands each finished batch
to the trainer, so this is where the formula's second stage runs: the terms' values come back from the reward loop, and
group-relative parts, schedules and placement are worked out here. Terms that read tokens or whole groups run here too;
nothing that ran in the reward loop runs again.

verl stores whose tokens are whose, so that rewards stand on the policy's own tokens only. A response of several turns
that the reward loop was not told this of is scored here; with `trainer_glue.verl.AgentLoopManager` there is none.

Dynamic sampling is judged here too, by the same finished values (`filtering`).

Writes ``reward/...`` into the metrics of every training step: the total's and each name's mean and spread, the share
of each status, each term's milliseconds a row, the requests, tokens and dollars of one that asks other machines, the
share of unscored rows, and the groups that were thrown away.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import torch
import transfer_queue as tq
from tensordict import TensorDict
from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer as _VerlSync
from verl.trainer.ppo.v1.replay_buffer import ReplayBufferAsync as _VerlAsync
from verl.utils.tensordict_utils import list_of_dict_to_tensordict

from rewardkit.algebra.expression import Expression, TokenReward
from rewardkit.algebra.operation import RELATIVE
from rewardkit.algebra.operations.placement import On
from rewardkit.algebra.values import TermColumn
from rewardkit.batch import Batch, Mask
from rewardkit.engine.detokenizer import Decoder
from rewardkit.engine.loading import reward_from_config
from rewardkit.engine.program import Leaves, Program, compile
from rewardkit.engine.scores import Scores
from rewardkit.engine.term_runner import run_term
from rewardkit.errors import CompileError
from rewardkit.processes.budget import batch_budget
from trainer_glue.adapters.unscored import UNSCORED_LIMIT, check_unscored, fill_unscored
from trainer_glue.verl.filtering import GroupFilter, check_metric, counts_of, settings_of
from trainer_glue.verl.own import OWN, Trajectory, scored_mask, trajectory_of
from trainer_glue.verl.rows import Row, batch_of, ground_truth_of, prompt_of, with_extra_fields
from trainer_glue.verl.wire import (
    PREFIX,
    SECTION,
    column_of,
    cost_keys,
    is_deferred,
    mean_costs,
    row_info,
    runs_in_sampler,
)

_LATE: Final = RELATIVE | {"step"}
"""Needs of what the reward loop can't finish."""


class _Rewarding:
    """What both samplers add to verl's: the formula's second stage on every batch that is sampled."""

    filter_groups_metric: str | None  # these are verl's
    train_batch_size: int
    partitions: dict[str, dict[str, dict[str, Any]]]
    finished_keys: dict[str, set[str]]
    _dapo_classification_cache: dict[str, dict[str, float | None]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        options = kwargs.get("sampler_kwargs") or {}
        if options.get("poll_interval") is not None:
            kwargs["poll_interval"] = float(options["poll_interval"])
        settings = settings_of(kwargs.get("refill_fn"))
        most = settings.pop("max_num_gen_batches", 0)
        super().__init__(*args, **{**settings, **kwargs})
        wired = options.get(SECTION)
        if wired is None:
            raise CompileError(
                "rewardkit's sampler got no formula",
                hint="set trainer.v1.sampler.sampler_kwargs.rewardkit as reward.reward_kwargs.rewardkit is set",
            )
        self._program: Program = compile(reward_from_config(dict(wired)))
        self._tokenizer_path = wired.get("tokenizer")
        self._limit = float(wired.get("unscored_limit", options.get("unscored_limit", UNSCORED_LIMIT)))
        _check_dense(self._program)
        self._decoder: Decoder | None = None
        self._filter: GroupFilter | None = None
        self._step = 0
        if self.filter_groups_metric is not None:
            check_metric(self.filter_groups_metric, self._program.names)
            self._filter = GroupFilter(self.filter_groups_metric, self.train_batch_size, most, self._limit)

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> tuple[Any, dict[str, Any]]:
        """A batch as verl samples it, its rewards finished, and the metrics of its terms."""
        batch, metrics = super().sample(global_steps, partition_id, batch_size)  # type: ignore[misc]
        _drop_empty(batch)
        final = _final_outputs(batch.keys)
        if not final:
            return batch, metrics
        rows = _Rows(batch.keys, final, partition_id, self._program)
        scores = self._finish(rows, global_steps)
        if partition_id != "val":
            check_unscored(scores, self._limit, "the log holds the first traceback of each term")
            metrics.update({f"{PREFIX}/{key}": value for key, value in scores.summary().items()})
            metrics.update({f"{PREFIX}/{key}": value for key, value in rows.costs().items()})
            metrics.update(self._filter.metrics(PREFIX) if self._filter is not None else {})
        self._write(rows, scores)
        return batch, metrics

    def _terminal_eviction_reasons(self, global_steps: int, partition_id: str) -> Any:
        """verl's, at a step: a schedule may pay a group that waited otherwise than when it was judged."""
        if global_steps != self._step and "step" in self._program.needs:
            self._dapo_classification_cache.clear()
        self._step = global_steps
        return super()._terminal_eviction_reasons(global_steps, partition_id)  # type: ignore[misc]

    def _dapo_filtered_keys(self, partition_id: str) -> tuple[set[str], Counter[float]]:
        """The finished groups that teach nothing, and how many have which value; verl goes by unfinished rewards."""
        if partition_id == "val" or self._filter is None:
            return set(), Counter()
        finished, known = self.finished_keys[partition_id], self._dapo_classification_cache[partition_id]
        for uid in known.keys() - finished:
            del known[uid]
        new = finished - known.keys()
        if new:
            known.update(dict.fromkeys(new, math.nan))  # a group without a single row teaches nothing either
            known.update(self._judged(partition_id, new))
        thrown = {uid: value for uid, value in known.items() if value is not None}
        return set(thrown), counts_of(thrown)

    def _judged(self, partition_id: str, uids: set[str]) -> dict[str, float | None]:
        assert self._filter is not None
        tags = self.partitions[partition_id]
        keys = [k for k, tag in tags.items() if k.split("_")[0] in uids and tag.get("response_len") != 0]
        final = _final_outputs(keys)
        if not final:
            return {}
        rows = _Rows(keys, final, partition_id, self._program)
        return self._filter.judge(self._finish(rows, self._step), rows.uids)

    def _finish(self, rows: _Rows, step: int) -> Scores:
        """Stage two over the columns that the reward loop sent."""
        columns = {node: rows.column(name) for name, node in self._program.terms.items()}
        self._score_unseen(rows, columns, step)
        if rows.reads_tokens:
            rows.find_scored_turns(self._decode())
        batch = rows.batch(step, self._texts(rows))
        for node in filter(runs_in_sampler, columns):
            columns[node] = run_term(node, batch)
        return self._program.finish(Leaves(batch, columns), step=step, groups=rows.uids)

    def _score_unseen(self, rows: _Rows, columns: Mapping[Expression, TermColumn], step: int) -> None:
        """Stage one for the rows of several turns that the reward loop could not, or did not, take apart."""
        if not rows.unseen:
            return
        unseen = rows.read_unseen(self._decode(), step)
        batch = batch_of(unseen, self._decode(), step=step, turns="turns" in self._program.needs)
        with batch_budget():
            found = self._program.leaves(replace(batch, groups=None)).columns
        for node, column in columns.items():
            column.put(rows.unseen, found[node])

    def _texts(self, rows: _Rows) -> list[str]:
        if not rows.reads_tokens:
            return [""] * len(rows)
        return self._decode()(rows.tokens)

    def _decode(self) -> Decoder:
        if self._decoder is None:
            from verl.utils import hf_tokenizer

            self._decoder = Decoder(hf_tokenizer(self._tokenizer_path, trust_remote_code=True))
        return self._decoder

    def _write(self, rows: _Rows, scores: Scores) -> None:
        """Write back what the reward loop could not: only where something differs from what it wrote."""
        placed = isinstance(self._program.reward, TokenReward) or rows.end_on_others_tokens or bool(rows.unseen)
        grouped = not _LATE.isdisjoint(self._program.needs)
        if not (placed or grouped or scores.unscored.any()):
            return
        lengths = [len(mask) for mask in rows.masks]
        mask = np.zeros((len(rows), max(lengths)), dtype=np.bool_)
        for i, line in enumerate(rows.masks):
            mask[i, : len(line)] = line
        tensor = scores.token_rewards(
            mask,
            token_ends=lambda i: self._decode().token_ends(rows.tokens[i]),
            fill=fill_unscored(scores, rows.uids),
            scored=rows.scored_mask(mask),
        )
        lines = [torch.from_numpy(tensor[i, :n].copy()) for i, n in enumerate(lengths)]
        fields = TensorDict(
            {"rm_scores": torch.nested.as_nested_tensor(lines, layout=torch.jagged)}, batch_size=len(rows)
        )
        tq.kv_batch_put(keys=rows.keys, partition_id=rows.partition, fields=fields)
        rows.write_infos(scores)


def _check_dense(program: Program) -> None:
    """A token-level term runs here, where a response's tokens are all there is to know of it."""
    for name, node in program.terms.items():
        if not isinstance(node, TokenReward) or node.term is None:
            continue
        for need in sorted({"truncated", "turns"} & node.term.needs(node)):
            raise CompileError(
                f"the token-level term {name} needs `{need}`, which verl's sampler doesn't know",
                hint="declare it under reads=, not needs=, or go by the response's tokens",
            )


class ReplayBuffer(_Rewarding, _VerlSync):  # type: ignore[misc]
    """verl's synchronous sampler with a rewardkit formula: ``trainer.v1.trainer_mode=sync``."""


class ReplayBufferAsync(_Rewarding, _VerlAsync):  # type: ignore[misc]
    """verl's asynchronous sampler with a rewardkit formula: the other trainer modes."""


class _Rows:
    """The final output of every session of some trajectories, read from verl's TransferQueue."""

    def __init__(self, keys: Sequence[str], final: Sequence[int], partition: str, program: Program) -> None:
        self.keys = [keys[i] for i in final]
        self.partition = partition
        self._program = program
        dense = any(isinstance(node, TokenReward) for node in program.reward.walk())
        self.reads_tokens = (dense and program.needs & {"tokens"} != set() and _reads_text(program)) or any(
            map(runs_in_sampler, program.terms.values())
        )
        wanted = ["uid", "extra_fields", "response_mask"]
        if self.reads_tokens:
            wanted += ["responses", "reward_model", "raw_prompt"]
        wanted += [need for need in ("data_source", "extra_info") if need in program.needs or self.reads_tokens]
        self._data = tq.kv_batch_get(keys=self.keys, partition_id=partition, select_fields=wanted)
        self.uids = [str(u) for u in self._column("uid")]
        self.masks = [line.numpy().astype(np.bool_) for line in self._data["response_mask"].unbind()]
        self.tokens = [t.tolist() for t in self._data["responses"].unbind()] if self.reads_tokens else []
        self._fields = fields = [_plain(f) for f in self._column("extra_fields")]
        self._infos = [field.get("reward_extra_info") or {} for field in fields]
        self._trajectories: dict[int, Trajectory] = {}
        self.unseen = [
            i
            for i, (field, mask) in enumerate(zip(fields, self.masks, strict=True))
            if is_deferred(self._infos[i], program) or (OWN not in field and not mask.all())
        ]
        """Rows of which the reward loop did not know which tokens are the policy's."""

    def __len__(self) -> int:
        return len(self.keys)

    def _column(self, name: str) -> list[Any]:
        return [getattr(v, "data", v) for v in list(self._data[name])]

    def column(self, name: str) -> TermColumn:
        """A term's column from what ``run_single`` sent."""
        return column_of(self._infos, name)

    def costs(self) -> dict[str, float]:
        """What the terms cost for one row in the reward loop."""
        return mean_costs(self._infos, self._program)

    @property
    def end_on_others_tokens(self) -> bool:
        """Whether a response ends with a token that the policy did not write; verl puts the reward there."""
        return any(len(mask) and not mask[-1] for mask in self.masks)

    def find_scored_turns(self, decoder: Decoder) -> None:
        """Keep of each row's tokens those of the turn that is scored."""
        for i, mask in enumerate(self.masks):
            trajectory = trajectory_of(self.tokens[i], mask, decoder)
            if trajectory is not None:
                self._trajectories[i] = trajectory
                self.tokens[i] = list(trajectory.tokens[trajectory.scored])

    def scored_mask(self, mask: Mask) -> Mask | None:
        """Which tokens were scored, shape (n, T); None where nobody asks, or where all of the policy's were."""
        return scored_mask(self._trajectories, mask) if self.reads_tokens else None

    def read_unseen(self, decoder: Decoder, step: int) -> list[Row]:
        """The rows that the reward loop did not score as they are."""
        needs = self._program.needs | {"ground_truth"}
        wanted = {column: need for need, column in _STORED.items() if need in needs}
        keys = [self.keys[i] for i in self.unseen]
        data = tq.kv_batch_get(keys=keys, partition_id=self.partition, select_fields=["responses", *wanted])
        tokens = [line.tolist() for line in data["responses"].unbind()]
        columns = {name: [getattr(v, "data", v) for v in list(data[name])] for name in wanted}
        rows = []
        for j, i in enumerate(self.unseen):
            trajectory = trajectory_of(tokens[j], self.masks[i], decoder)
            rows.append(
                Row(
                    tokens[j] if trajectory is None else list(trajectory.tokens[trajectory.scored]),
                    truncated=None,
                    ground_truth=ground_truth_of(_plain(columns["reward_model"][j])),
                    prompt=prompt_of(_messages(columns["raw_prompt"][j])) if "raw_prompt" in wanted else None,
                    data_source=str(columns["data_source"][j]) if "data_source" in wanted else None,
                    group=self.uids[i],
                    extra_info=with_extra_fields(
                        _plain(columns["extra_info"][j]) if "extra_info" in wanted else {}, self._fields[i]
                    ),
                    step=step,
                    trajectory=trajectory,
                    chat=_messages(columns["raw_prompt"][j]) if "raw_prompt" in wanted else None,
                )
            )
        return rows

    def write_infos(self, scores: Scores) -> None:
        """Give the rows that were scored here the extra info of the others: verl's validation shows and dumps it."""
        if not self.unseen:
            return
        costs = {name: dict.fromkeys(cost_keys(name, node), 0.0) for name, node in self._program.terms.items()}
        infos = [row_info(scores, i, costs, none_for_nan=True) for i in self.unseen]
        fields = [
            {"extra_fields": {**self._fields[i], "reward_extra_info": info}}
            for i, info in zip(self.unseen, infos, strict=True)
        ]
        keys = [self.keys[i] for i in self.unseen]
        tq.kv_batch_put(keys=keys, partition_id=self.partition, fields=list_of_dict_to_tensordict(fields))

    def batch(self, step: int, texts: list[str]) -> Batch:
        """The columns of the batch that stage two may still read."""
        tokens = self.reads_tokens
        return Batch(
            responses=texts,
            ground_truths=[ground_truth_of(_plain(v)) for v in self._column("reward_model")] if tokens else None,
            prompts=[prompt_of(_messages(v)) for v in self._column("raw_prompt")] if tokens else None,
            data_sources=[str(v) for v in self._column("data_source")] if "data_source" in self._data else None,
            extra_infos=[
                with_extra_fields(_plain(v), f) for v, f in zip(self._column("extra_info"), self._fields, strict=True)
            ]
            if "extra_info" in self._data
            else None,
            groups=self.uids,
            tokens=self.tokens if tokens else None,
            step=step,
        )


_STORED: Final = {
    "ground_truth": "reward_model",
    "prompt": "raw_prompt",
    "data_source": "data_source",
    "extra_info": "extra_info",
}
"""From a need of a formula to the field of verl's TransferQueue that fills it."""


def _reads_text(program: Program) -> bool:
    return any(
        isinstance(n.operation, On) or (n.term is not None and isinstance(n, TokenReward))
        for n in program.reward.walk()
    )


def _plain(value: Any) -> dict[str, Any]:
    return dict(value) if hasattr(value, "keys") else {}


def _messages(value: Any) -> Any:
    return value.tolist() if hasattr(value, "tolist") else value


def _session(key: str) -> tuple[str, int]:
    """The session of a trajectory's key ``{uid}_{session}_{index}``, and its place in it."""
    session, _, index = key.rpartition("_")
    return session, int(index)


def _final_outputs(keys: Sequence[str]) -> list[int]:
    """The last output of every session: verl pays that one, and GRPO reads no other."""
    last: dict[str, tuple[int, int]] = {}
    for i, key in enumerate(keys):
        session, index = _session(key)
        if session not in last or index > last[session][0]:
            last[session] = (index, i)
    return sorted(i for _, i in last.values())


def _drop_empty(batch: Any) -> None:
    """Leave out responses without a single token: there is nothing to reward, and verl can't hold them."""
    empty = {i for i, tag in enumerate(batch.tags) if tag.get("response_len") == 0}
    if not empty:
        return
    tq.kv_clear(partition_id=batch.partition_id, keys=[batch.keys[i] for i in sorted(empty)])
    batch.keys[:] = [k for i, k in enumerate(batch.keys) if i not in empty]
    batch.tags[:] = [t for i, t in enumerate(batch.tags) if i not in empty]


__all__ = ["ReplayBuffer", "ReplayBufferAsync"]
