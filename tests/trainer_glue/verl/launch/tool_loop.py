"""An agent loop of verl in which a tool answers between two turns of the policy. verl's workers import it by its name.

The tool's tokens are in the response, as verl's own tool loop puts them there, and the mask is 0 on them. The
environment scores each of the policy's turns by its number of tokens, so that a test can tell from the tokens what it
was.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop

TOOL = " Done. Is it so? 42!"
FIRST = 8
"""The most tokens of the policy's first turn; the tool has as many, and the second turn what is left."""


def turn_score(tokens: int) -> float:
    """The environment's score of one turn."""
    return 0.25 if tokens % 2 else 0.5


def register(folder: Path) -> list[str]:
    """Write the file that names the loop, and give the arguments of a run that uses it."""
    path = folder / "loops.yaml"
    path.write_text(f"- name: tool\n  _target_: {__name__}.ToolLoop\n")
    agent = "actor_rollout_ref.rollout.agent"
    return [f"{agent}.agent_loop_config_path={path}", f"{agent}.default_agent_loop=tool"]


class ToolLoop(SingleTurnAgentLoop):
    """A turn of the policy, a tool's answer, and another turn of the policy."""

    async def run(self, sampling_params: dict[str, Any], **kwargs: Any) -> Any:
        """One trajectory: its second turn continues the tokens of the first and of the tool."""
        output = await super().run(sampling_params, **kwargs)
        first = output.response_ids[:FIRST]
        tool = self.tokenizer.encode(TOOL, add_special_tokens=False)[:FIRST]
        answer = await self.server_manager.generate(
            request_id="tool", prompt_ids=output.prompt_ids + first + tool, sampling_params=sampling_params
        )
        second = list(answer.token_ids)[: self.response_length - len(first) - len(tool)]
        output.response_ids = first + tool + second
        output.response_mask = [1] * len(first) + [0] * len(tool) + [1] * len(second)
        if output.response_logprobs is not None:
            after = list(answer.log_probs)[: len(second)]
            output.response_logprobs = output.response_logprobs[:FIRST] + [0.0] * len(tool) + after
        output.num_turns = 4
        output.extra_fields["turn_scores"] = [turn_score(len(first)), turn_score(len(second))]
        return output
