"""A formula behind HTTP, for trainers in other processes: `rewardkit serve FORMULA`.

`app` answers requests; `serving` holds the port and restarts what answers without dropping a request. Needs fastapi and
uvicorn, nothing of a trainer.
"""

from __future__ import annotations

from trainer_glue.server.app import MAX_BYTES, MAX_ROWS, make_app

__all__ = ["MAX_BYTES", "MAX_ROWS", "make_app"]
