"""What vLLM mixes into its worker on the CPU: verl's own extension, in a process with the workarounds applied.

vLLM imports this module in its worker process before it loads the model. Importing it is the point: it refuses
versions that were not tested and patches vLLM. Nothing else may import it.
"""

from __future__ import annotations

from trainer_glue.verl.cpu.vllm import refuse_untested
from trainer_glue.verl.cpu.vllm.workarounds import apply_workarounds

# First of all: on another version the import below may fail with something that tells a user nothing.
refuse_untested()

from verl.workers.rollout.vllm_rollout.utils import vLLMColocateWorkerExtension  # noqa: E402

apply_workarounds()


class Extension(vLLMColocateWorkerExtension):  # type: ignore[misc]
    """verl's end of the weight transfer, as it is."""
