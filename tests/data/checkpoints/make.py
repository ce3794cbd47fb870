"""How the folders beside this file were made: `python make.py` under the torch that their names say (2.4.1, 2.6.0).

Kept because shard files name classes by the module they had in that release; a newer torch writes other names.
"""

import os

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch.distributed._composable.fsdp import fully_shard
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel as Fsdp1
from torch.distributed.fsdp import ShardedStateDictConfig, ShardingStrategy, StateDictType
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module

VERSION = torch.__version__.split("+")[0]
CASES = {"fsdp1-one-rank": 1, "fsdp1": 2, "fsdp2": 2, "hsdp1": 4, "hsdp2": 4, "fsdp2-tp": 4}
MESHES = {"hsdp1": ("ddp", "fsdp"), "hsdp2": ("ddp", "fsdp"), "fsdp2-tp": ("fsdp", "tp")}


def build(case):
    torch.manual_seed(0)
    if case == "fsdp2-tp":
        return torch.nn.Sequential(torch.nn.Linear(6, 8, bias=False), torch.nn.Linear(8, 6, bias=False))
    model = torch.nn.Sequential(torch.nn.Embedding(13, 6), torch.nn.Linear(6, 5), torch.nn.Linear(5, 3, bias=False))
    model.register_buffer("steps", torch.arange(3))
    return model


def work(rank, case, ranks):
    dist.init_process_group("gloo", init_method=f"file:///tmp/{VERSION}-{case}", rank=rank, world_size=ranks)
    names = MESHES.get(case, ("fsdp",))
    mesh = init_device_mesh("cpu", (2, 2) if len(names) == 2 else (ranks,), mesh_dim_names=names)
    model = build(case)
    folder = f"torch-{VERSION}-{case}"
    os.makedirs(folder, exist_ok=True)
    if rank == 0:
        torch.save({name: tensor.clone() for name, tensor in model.state_dict().items()}, f"{folder}/full.pt")
    if "1" in case:
        strategy = ShardingStrategy.HYBRID_SHARD if len(names) == 2 else ShardingStrategy.FULL_SHARD
        model = Fsdp1(model, device_mesh=mesh, device_id=torch.device("cpu"), sharding_strategy=strategy)
        with Fsdp1.state_dict_type(model, StateDictType.SHARDED_STATE_DICT, ShardedStateDictConfig()):
            state = model.state_dict()
    elif case == "fsdp2-tp":
        parallelize_module(model, mesh["tp"], {"0": ColwiseParallel(), "1": RowwiseParallel()})
        fully_shard(model, mesh=mesh["fsdp"])
        state = model.state_dict()
    else:
        fully_shard(model, mesh=mesh)
        state = model.state_dict()
    torch.save(state, f"{folder}/model_world_size_{ranks}_rank_{rank}.pt")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    for case, ranks in CASES.items():
        mp.start_processes(work, (case, ranks), ranks, start_method="fork")
