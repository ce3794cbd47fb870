"""Files that older releases of torch wrote, under the class names of their time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch

from trainer_glue.checkpoint.shards import open_rank
from trainer_glue.checkpoint.tensors import Buffer, assemble

DATA = Path(__file__).parents[2] / "data" / "checkpoints"


@pytest.mark.parametrize("folder", sorted(path.name for path in DATA.glob("torch-*")))
def test_old_files_give_the_unsharded_model(folder: str) -> None:
    ranks = {int(re.findall(r"\d+", path.stem)[-1]): path for path in (DATA / folder).glob("model_*.pt")}
    files = {rank: open_rank(path, rank) for rank, path in sorted(ranks.items())}
    full = torch.load(DATA / folder / "full.pt", weights_only=True)
    assert files[0].pieces.keys() == full.keys()
    for name, tensor in full.items():
        whole = assemble(name, files)
        blocks = [block.clone().reshape(-1) for block in Buffer().blocks(whole, whole.dtype)]
        assert torch.equal(torch.cat(blocks).reshape(whole.shape), tensor), name
        whole.check_replicas()
