"""What verl starts for each replica of the rollout: one server, as a Ray actor beside the trainer's ranks.

The actor is not detached, so it ends with the run that made it.
"""

from __future__ import annotations

from typing import Any

import ray
import torch
from verl.utils.config import omega_conf_to_dataclass
from verl.utils.torch_dtypes import PrecisionType
from verl.workers.config import HFModelConfig
from verl.workers.rollout.replica import RolloutMode, RolloutReplica

from rewardkit.errors import ConfigError
from trainer_glue.verl.cpu.cores import share_of_cores
from trainer_glue.verl.cpu.engine import Engine
from trainer_glue.verl.cpu.reward_server import RewardServer
from trainer_glue.verl.cpu.server import CpuServer


def server_name(replica_rank: int) -> str:
    """The actor's name, by which the trainer's rank finds it."""
    return f"rewardkit_cpu_rollout_{replica_rank}"


class CpuServerActor(CpuServer):
    """The server, built in its own process from verl's configs.

    Args:
        rollout: verl's rollout config.
        model: verl's model config.
        replica_rank: which replica this is.
        replicas: how many share the machine.
    """

    def __init__(self, rollout: Any, model: Any, replica_rank: int, replicas: int) -> None:
        torch.set_num_threads(share_of_cores(replicas))
        hf: HFModelConfig = omega_conf_to_dataclass(model, dataclass_type=HFModelConfig)
        eos = getattr(hf.generation_config, "eos_token_id", None)
        engine = Engine(
            hf.hf_config,
            hf.tokenizer,
            eos=() if eos is None else [eos] if isinstance(eos, int) else eos,
            dtype=PrecisionType.to_dtype(rollout.dtype),
            mode=rollout.logprobs_mode,
            trust_remote_code=hf.trust_remote_code,
        )
        super().__init__(engine, rollout, replica_rank)


class CpuReplica(RolloutReplica):  # type: ignore[misc]
    """A replica of ``rollout.name=hf_cpu``."""

    async def init_colocated(self, resource_pool: Any) -> None:
        """Start a reward model's server; no worker beside it holds an engine, as verl's other rollouts need."""
        if not self.is_reward_model:
            await super().init_colocated(resource_pool)
            return
        self.rollout_mode, self.resource_pool = RolloutMode.COLOCATED, resource_pool
        await self.launch_servers()

    async def launch_servers(self) -> None:
        """Start the server and wait until it is up.

        Raises:
            ConfigError: a use other than as the policy's rollout beside its trainer or as a reward model, or a replica
                of several ranks.
        """
        if (self.rollout_mode is not RolloutMode.HYBRID and not self.is_reward_model) or self.is_teacher_model:
            raise ConfigError(
                "rollout.name=hf_cpu serves the policy beside its trainer, and reward models: no teacher, no rollout "
                "on resources of its own",
                hint="set trainer.v1.trainer_mode=sync",
            )
        if self.world_size != 1:
            raise ConfigError(
                f"a replica of {self.world_size} ranks was asked for; rollout.name=hf_cpu runs a server for each rank",
                hint="set rollout.tensor_model_parallel_size, data_parallel_size and pipeline_model_parallel_size to 1",
            )
        if self.is_reward_model:
            await self._launch_reward_server()
            return
        name = server_name(self.replica_rank)
        server = (
            ray.remote(CpuServerActor)
            # No CPU is reserved: generation and training take turns on the same cores.
            .options(name=name, num_cpus=0, max_concurrency=self.max_concurrency)
            .remote(self.config, self.model_config, self.replica_rank, self.gpus_per_node)
        )
        await server.ready.remote()
        self.servers, self._server_handle, self._server_address = [server], server, name

    async def _launch_reward_server(self) -> None:
        server = (
            ray.remote(RewardServer)
            .options(name=f"rewardkit_cpu_reward_{self.replica_rank}", num_cpus=0, max_concurrency=self.max_concurrency)
            .remote(self.model_config.local_path, self.gpus_per_node)
        )
        address = await server.start.remote(ray.util.get_node_ip_address().strip("[]"))
        self.servers, self._server_handle, self._server_address = [server], server, address
