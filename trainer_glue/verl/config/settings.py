"""What users set: each key with what it means, and which of its values make sense.

Types and defaults are verl's own, read from the installed package (`schema`, `comments`); here stands what verl's files
don't say. A choice that verl itself makes only once its workers are up is listed, so that a slip is found before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from trainer_glue.verl.chat_templates import CHAT_TEMPLATES

_MODEL, _ACTOR, _REF, _ROLLOUT = (f"actor_rollout_ref.{part}" for part in ("model", "actor", "ref", "rollout"))
KL: Final = ("kl", "k1", "abs", "mse", "k2", "low_var_kl", "k3", "full")
"""verl/trainer/ppo/core_algos.py, `kl_penalty`; a `+` behind one of them is allowed."""


@dataclass(frozen=True, slots=True)
class Setting:
    """A key that users set.

    Attributes:
        key: the dotted key.
        about: what it means.
        choices: the values that there are; empty where others are possible.
        low: the least value that makes sense.
        high: the greatest.
        above: whether the least value itself is left out.
        plugged: whether code of the user's can add choices to verl.
        default: of a key of rewardkit's own.
    """

    key: str
    about: str
    choices: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None
    above: bool = False
    plugged: bool = False
    default: object = None

    @property
    def expected(self) -> str:
        """The values that make sense, in words; empty where all of a type do."""
        if self.choices:
            return f"one of {', '.join(self.choices)}"
        if self.low is None and self.high is None:
            return ""
        least = "" if self.low is None else f"{'more than' if self.above else 'at least'} {self.low:g}"
        return " and ".join(part for part in (least, "" if self.high is None else f"at most {self.high:g}") if part)


_OWN: Final = (
    Setting("rewardkit.reward", "What pays the run: a formula, FILE.py[:NAME], or the name of a ready-made reward."),
    Setting(
        "rewardkit.chat_template",
        "A chat template for a tokenizer that brings none; one that brings its own keeps it.",
        tuple(CHAT_TEMPLATES),
    ),
    Setting("rewardkit.assets", "Make a tiny model and word problems before the run.", ("tiny",)),
)
_DATA: Final = (
    Setting("data.train_files", "Parquet or JSON files to train on; `rewardkit data` writes such."),
    Setting("data.val_files", "Files to validate on; the training files where left out."),
    Setting("data.prompt_key", "The column with the chat messages of the prompt."),
    Setting("data.train_batch_size", "Prompts a step. Each gets rollout.n responses.", low=1),
    Setting("data.max_prompt_length", "Tokens of a prompt, at most.", low=1),
    Setting("data.max_response_length", "Tokens of a response, at most; a longer one is cut off.", low=1),
    Setting("data.filter_overlong_prompts", "Leave out prompts that are too long, before training."),
    Setting(
        "data.truncation",
        "What happens to a prompt that is too long and was not left out.",
        ("error", "left", "right", "middle"),
    ),
    Setting("data.shuffle", "Shuffle the rows of every epoch."),
    Setting("data.seed", "Of the order of the rows."),
    Setting("data.train_max_samples", "Use so many training rows; -1 for all."),
)
_MODELS: Final = (
    Setting(f"{_MODEL}.path", "The model that is trained: a folder in Hugging Face format, or a hub id."),
    Setting(f"{_MODEL}.tokenizer_path", "A tokenizer from elsewhere than the model's folder."),
    Setting(f"{_MODEL}.trust_remote_code", "Run code that comes with the model."),
    Setting(f"{_MODEL}.enable_gradient_checkpointing", "Compute activations twice in place of storing them."),
    Setting(f"{_MODEL}.use_remove_padding", "Train on packed rows without padding; needs flash-attn."),
    Setting(f"{_MODEL}.lora_rank", "Rank of LoRA adapters; 0 trains all weights.", low=0),
    Setting(f"{_MODEL}.lora_alpha", "Scale of LoRA adapters, over their rank.", low=0, above=True),
    Setting(f"{_MODEL}.target_modules", "The modules that get LoRA adapters."),
    Setting(f"{_MODEL}.custom_chat_template", "A chat template as Jinja text, over the tokenizer's own."),
)
_ACTORS: Final = (
    Setting(
        f"{_ACTOR}.strategy",
        "How training is spread over the GPUs. Beside fsdp, choose the engine by model_engine=NAME too.",
        ("fsdp", "fsdp2", "fsdp_turbo", "megatron", "veomni", "torchtitan"),
        plugged=True,
    ),
    Setting(f"{_ACTOR}.ppo_mini_batch_size", "Prompts an update; at most data.train_batch_size.", low=1),
    Setting(f"{_ACTOR}.ppo_micro_batch_size_per_gpu", "Responses that a GPU holds at once while it trains.", low=1),
    Setting(f"{_ACTOR}.use_dynamic_bsz", "Fill micro batches by tokens, not by responses."),
    Setting(f"{_ACTOR}.ppo_max_token_len_per_gpu", "Tokens of a micro batch, with use_dynamic_bsz.", low=1),
    Setting(f"{_ACTOR}.ppo_epochs", "Passes over a step's responses.", low=1),
    Setting(f"{_ACTOR}.grad_clip", "Largest norm of the gradient.", low=0, above=True),
    Setting(f"{_ACTOR}.clip_ratio", "How far a token's probability may move in a step before it is clipped.", low=0),
    Setting(f"{_ACTOR}.entropy_coeff", "Weight of an entropy bonus.", low=0),
    Setting(f"{_ACTOR}.use_kl_loss", "Hold the policy near the reference model by a KL loss, as GRPO does."),
    Setting(f"{_ACTOR}.kl_loss_coef", "Weight of the KL loss.", low=0),
    Setting(f"{_ACTOR}.kl_loss_type", "Estimator of the KL loss; low_var_kl is GRPO's.", KL),
    Setting(
        f"{_ACTOR}.loss_agg_mode",
        "How losses of tokens become one.",
        ("token-mean", "token-sum", "seq-mean-token-sum", "seq-mean-token-mean", "seq-mean-token-sum-norm"),
    ),
    Setting(f"{_ACTOR}.optim.lr", "Learning rate.", low=0, above=True),
    Setting(f"{_ACTOR}.optim.lr_warmup_steps_ratio", "Share of the steps in which the rate rises.", low=0, high=1),
    Setting(f"{_ACTOR}.optim.lr_scheduler_type", "How the rate falls after that.", ("constant", "cosine")),
    Setting(f"{_ACTOR}.optim.weight_decay", "Weight decay.", low=0),
    Setting(f"{_ACTOR}.fsdp_config.param_offload", "Keep weights in the host's memory while they are not used."),
    Setting(f"{_ACTOR}.fsdp_config.optimizer_offload", "Keep the optimizer's state there too."),
    Setting(f"{_ACTOR}.fsdp_config.dtype", "Number format of the computation.", ("bfloat16", "float16", "float32")),
    Setting(f"{_ACTOR}.checkpoint.save_contents", "Parts of a checkpoint: model, optimizer, extra, hf_model."),
    Setting(f"{_REF}.fsdp_config.param_offload", "Keep the reference model in the host's memory between uses."),
    Setting(f"{_REF}.log_prob_micro_batch_size_per_gpu", "Responses a GPU holds for the reference model.", low=1),
)
_ROLLOUTS: Final = (
    Setting(
        f"{_ROLLOUT}.name",
        "What generates; hf_cpu is rewardkit's, without a GPU.",
        ("vllm", "sglang", "trtllm", "hf_cpu"),
        plugged=True,
    ),
    Setting(f"{_ROLLOUT}.n", "Responses to each prompt: the group that GRPO compares.", low=1),
    Setting(f"{_ROLLOUT}.temperature", "Of sampling; the trainer's log-probabilities are divided by it too.", low=0),
    Setting(f"{_ROLLOUT}.top_p", "Below 1 it biases the gradient: the trainer doesn't know of it.", (), 0, 1, True),
    Setting(f"{_ROLLOUT}.top_k", "The same; -1 for all tokens.", low=-1),
    Setting(f"{_ROLLOUT}.dtype", "Number format of the weights.", ("bfloat16", "float16", "float32", "auto", "half")),
    Setting(f"{_ROLLOUT}.gpu_memory_utilization", "Share of a GPU that the engine takes.", low=0, high=1, above=True),
    Setting(f"{_ROLLOUT}.tensor_model_parallel_size", "GPUs that one engine is spread over.", low=1),
    Setting(f"{_ROLLOUT}.max_model_len", "Tokens of prompt and response together; from the data's lengths.", low=1),
    Setting(f"{_ROLLOUT}.max_num_batched_tokens", "Tokens that the engine works on at once.", low=1),
    Setting(f"{_ROLLOUT}.max_num_seqs", "Responses that the engine works on at once.", low=1),
    Setting(f"{_ROLLOUT}.enforce_eager", "Leave out CUDA graphs: less memory, slower."),
    Setting(f"{_ROLLOUT}.free_cache_engine", "Free the engine's memory while training."),
    Setting(f"{_ROLLOUT}.load_format", "Where the engine's first weights come from; dummy: from the trainer.", ()),
    Setting(f"{_ROLLOUT}.log_prob_micro_batch_size_per_gpu", "Responses a GPU holds for log-probabilities.", low=1),
    Setting(f"{_ROLLOUT}.val_kwargs.do_sample", "Sample in validation; false takes the likeliest token."),
    Setting(f"{_ROLLOUT}.val_kwargs.temperature", "Of validation.", low=0),
    Setting(f"{_ROLLOUT}.val_kwargs.n", "Responses to each prompt in validation.", low=1),
)
_ALGORITHMS: Final = (
    Setting(
        "algorithm.adv_estimator",
        "How rewards become advantages. gae trains a critic; grpo compares the responses to one prompt.",
        (
            "gae", "grpo", "grpo_vectorized", "grpo_passk", "gdpo", "reinforce_plus_plus",
            "reinforce_plus_plus_baseline", "remax", "rloo", "rloo_vectorized", "opo", "gpg", "optimal_token_baseline",
            "tir_optimal_token_baseline",
        ),
        plugged=True,
    ),
    Setting("algorithm.norm_adv_by_std_in_grpo", "Divide a group's advantages by their spread; false is Dr. GRPO."),
    Setting("algorithm.gamma", "Discount of later rewards, for gae.", low=0, high=1),
    Setting("algorithm.lam", "Bias against variance, for gae.", low=0, high=1),
    Setting("algorithm.use_kl_in_reward", "Take a KL penalty off the reward; GRPO has use_kl_loss for it."),
    Setting("algorithm.kl_penalty", "Its estimator.", KL),
    Setting("algorithm.kl_ctrl.type", "Whether its weight stays.", ("fixed", "adaptive")),
    Setting("algorithm.kl_ctrl.kl_coef", "Its weight.", low=0),
    Setting("critic.model.path", "The model that a critic starts from."),
    Setting("critic.optim.lr", "Learning rate of the critic.", low=0, above=True),
    Setting("reward.num_workers", "Processes that score responses.", low=1),
)  # fmt: skip
_GRADER: Final = "reward.reward_model"
_REWARD: Final = (
    Setting(f"{_GRADER}.enable", "Serve a reward model, which reward_model() and judge() ask by its router."),
    Setting(
        f"{_GRADER}.enable_resource_pool",
        "GPUs of its own: beside the policy, verl never asks the formula.",
    ),
    Setting(f"{_GRADER}.n_gpus_per_node", "GPUs of each machine of its own.", low=0),
    Setting(f"{_GRADER}.nnodes", "Machines of its own.", low=0),
    Setting(f"{_GRADER}.model_path", "The reward model: a folder in Hugging Face format, or a hub id."),
    Setting(f"{_GRADER}.rollout.name", "What serves it.", ("vllm", "sglang", "hf_cpu")),
    Setting(f"{_GRADER}.rollout.tensor_model_parallel_size", "GPUs that share one replica of it.", low=1),
    Setting(
        f"{_GRADER}.rollout.gpu_memory_utilization",
        "Share of a GPU that it takes.",
        low=0,
        high=1,
        above=True,
    ),
    Setting(f"{_GRADER}.rollout.max_model_len", "Tokens of a prompt with its response, at most.", low=1),
    Setting(f"{_GRADER}.rollout.free_cache_engine", "Give its memory back between two batches."),
)
_TRAINER: Final = (
    Setting("trainer.nnodes", "Machines.", low=1),
    Setting("trainer.n_gpus_per_node", "GPUs of each; processes, on the CPU.", low=1),
    Setting("trainer.total_epochs", "Passes over the training rows.", low=1),
    Setting("trainer.total_training_steps", "Stop after so many steps; null for the epochs' end.", low=1),
    Setting("trainer.project_name", "For the loggers."),
    Setting("trainer.experiment_name", "For the loggers."),
    Setting("trainer.logger", "Where metrics go, such as [console, tensorboard, wandb, mlflow]."),
    Setting("trainer.save_freq", "Steps between checkpoints; -1 for none."),
    Setting("trainer.test_freq", "Steps between validations; -1 for none."),
    Setting("trainer.val_before_train", "Validate before the first step."),
    Setting("trainer.max_actor_ckpt_to_keep", "Keep so many checkpoints; null for all.", low=1),
    Setting("trainer.default_local_dir", "Where checkpoints go."),
    Setting("trainer.resume_mode", "Whether to go on from a checkpoint.", ("auto", "disable", "resume_path")),
    Setting("trainer.resume_from_path", "The checkpoint to go on from, with resume_mode: resume_path."),
    Setting("trainer.rollout_data_dir", "Write every step's responses there, as JSON lines."),
    Setting("trainer.validation_data_dir", "Write every validation's responses there."),
    Setting(
        "trainer.v1.trainer_mode",
        "Whether rollouts and training take turns.",
        ("sync", "colocate_async", "separate_async"),
        plugged=True,
    ),
)

SETTINGS: Final[Mapping[str, Setting]] = {
    s.key: s for s in (*_OWN, *_DATA, *_MODELS, *_ACTORS, *_ROLLOUTS, *_ALGORITHMS, *_REWARD, *_TRAINER)
}
"""Every key that users set, in the order of a config file."""
