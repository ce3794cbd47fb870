"""From what the user wrote to the whole config of a run, with everything that is wrong with it said at once.

Later wins: verl's defaults, the recipe or the user's file, the wiring of the reward, what a machine without an
accelerator needs, the command line. verl itself is read, never imported: a bad config is refused in a second.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from rewardkit.errors import MissingDependencyError, RewardKitError, did_you_mean
from rewardkit.source import RewardSource, load_reward, reward_from_config
from trainer_glue.verl.chat_templates import CHAT_TEMPLATES
from trainer_glue.verl.config.batches import check_batches
from trainer_glue.verl.config.data_files import check_data
from trainer_glue.verl.config.findings import Finding, raise_errors
from trainer_glue.verl.config.installed import Verl, find_verl
from trainer_glue.verl.config.keys import check_key, check_keys
from trainer_glue.verl.config.model_folder import check_model, has_chat_template
from trainer_glue.verl.config.overrides import COMMAND_LINE, Override, parse_overrides
from trainer_glue.verl.config.recipes import DEFAULT, DEFAULT_FOR_MODEL, config_path
from trainer_glue.verl.config.schema import Key, build_schema
from trainer_glue.verl.config.yaml_file import YamlFile, read_yaml
from trainer_glue.verl.tiny import TRAIN_ROWS, TinyAssets

SECTION: Final = "rewardkit"
"""The section of a config file that is rewardkit's own; verl never sees it."""
MODEL_PATH: Final = "actor_rollout_ref.model.path"
TEMPLATE: Final = "actor_rollout_ref.model.custom_chat_template"
DEFAULT_SEED: Final = 42

_OWN: Final = Key(
    frozenset({"dict"}),
    {
        SECTION: Key(
            frozenset({"dict"}),
            {
                "reward": Key(frozenset({"str"})),
                "chat_template": Key(frozenset({"str", "none"})),
                "assets": Key(frozenset({"str", "none"})),
            },
        )
    },
)
_MANAGER: Final[Mapping[str, str]] = {
    "reward.reward_manager.source": "importlib",
    "reward.reward_manager.name": "RewardManager",
    "reward.reward_manager.module.path": "pkg://trainer_glue.verl",
}
_SAMPLER: Final[Mapping[str, str]] = {
    "trainer.v1.sampler.custom_sampler.path": "pkg://trainer_glue.verl",
    "trainer.v1.sampler.custom_sampler.name": "ReplayBuffer",
}
TOKENIZER_PATH: Final = "actor_rollout_ref.model.tokenizer_path"
_IGNORED_BLOCKS: Final = ("hydra", "defaults")


@dataclass(frozen=True)
class Resolved:
    """A run that can start.

    Attributes:
        config: verl's whole config, every interpolation filled in.
        reward: what pays the run.
        findings: warnings, in the order of the checks.
        name: the recipe's name, or the stem of the user's file.
        seed: of the data order and of what is made locally.
        ranks: processes that train, over all nodes.
        accelerator: whether the run uses one.
        verl_version: of the installed verl.
        assets: `tiny` when the model or the data have to be made before the run starts (`make_tiny(assets_folder,
            seed)`), else None.
        assets_folder: where they will be.
    """

    config: Mapping[str, Any]
    reward: RewardSource
    findings: tuple[Finding, ...]
    name: str
    seed: int
    ranks: int
    accelerator: bool
    verl_version: str
    assets: str | None
    assets_folder: Path
    _yaml: str = field(repr=False)

    @property
    def out(self) -> Path:
        """Where checkpoints go."""
        return Path(self.config["trainer"]["default_local_dir"])

    def to_yaml(self) -> str:
        """The config for verl, interpolations kept: a changed `rollout.n` still reaches all that follows it."""
        return self._yaml


def resolve(
    source: str | Path | None = None,
    overrides: Sequence[str] = (),
    *,
    reward: RewardSource | str | None = None,
    accelerator: bool | None = None,
    ranks: int | None = None,
    out: Path | None = None,
) -> Resolved:
    """The whole config of a run.

    Args:
        source: a recipe's name or a YAML file; None for the recipe `tiny`, or `small` when an override names a model.
        overrides: ``key=value``, as hydra reads them.
        reward: what pays the run, over the file's `rewardkit.reward`: as loaded, or as the user named it.
        accelerator: whether the machine has one; None to look.
        ranks: processes that train; None for what the config says.
        out: the run's folder, over the config's `trainer.default_local_dir`.

    Raises:
        ConfigFindings: everything that is wrong, at once.
    """
    return _Resolution(source, overrides, reward, accelerator, ranks, out).run()


class _Resolution:
    """One call of :func:`resolve`: the state that its steps share."""

    def __init__(
        self,
        source: str | Path | None,
        overrides: Sequence[str],
        reward: RewardSource | str | None,
        accelerator: bool | None,
        ranks: int | None,
        out: Path | None,
    ) -> None:
        self.findings: list[Finding] = []
        self.given_reward = reward
        self.accelerator = has_accelerator() if accelerator is None else accelerator
        self.given_ranks = ranks
        self.out = out
        self.verl = self._find_verl()
        self.overrides: list[Override] = []
        if self.verl is not None:
            self.overrides, bad = parse_overrides(overrides, self.verl.config)
            self.findings += bad
        self.from_command = {o.key: o for o in self.overrides}
        self.file, self.recipe = self._read(source)
        self.invalid: set[str] = set()

    def run(self) -> Resolved:
        """Run every step; raise at the end."""
        own, theirs = self._split()
        reward = self._reward(own, theirs)
        if self.verl is None:
            raise_errors(self.findings)
            raise AssertionError("a missing verl is an error")
        from omegaconf import OmegaConf

        defaults, schema = _composed(self.verl, tuple(o.text for o in self.overrides if o.action == "group"))
        self._check_keys(theirs, schema)
        config = OmegaConf.merge(defaults, OmegaConf.create(_without(theirs, self.invalid)))
        for o in self.overrides:
            self._apply(config, o)
        generated = self._wire(config, own, reward)
        ranks = self._machine(config)
        resolved = self._filled(config)
        if resolved is not None:
            self._check(resolved, reward, generated, ranks)
        warnings = raise_errors(self.findings)
        assert resolved is not None and reward is not None
        seed = resolved["data"]["seed"]
        return Resolved(
            config=resolved,
            reward=reward,
            findings=warnings,
            name=self.recipe or self.file.path.stem,
            seed=DEFAULT_SEED if seed is None else seed,
            ranks=ranks,
            accelerator=self.accelerator,
            verl_version=self.verl.version,
            assets="tiny" if generated else None,
            assets_folder=self._assets_folder(config),
            _yaml=OmegaConf.to_yaml(config),
        )

    def where(self, key: str) -> str:
        """Where the user set a key or the section above it; empty for a default."""
        name = key
        while name:
            if name in self.from_command:
                return f"{COMMAND_LINE}: {self.from_command[name].text}"
            if name in self.file.lines:
                return self.file.where(name)
            name = name.rpartition(".")[0]
        return ""

    def _set_by_user(self, key: str) -> bool:
        return key in self.from_command or key in self.file.lines

    def _find_verl(self) -> Verl | None:
        try:
            return find_verl()
        except MissingDependencyError as e:
            self.findings.append(Finding("verl", "", e.message, hint=e.hint))
            return None

    def _read(self, source: str | Path | None) -> tuple[YamlFile, str | None]:
        wanted = source if source is not None else DEFAULT_FOR_MODEL if MODEL_PATH in self.from_command else DEFAULT
        try:
            path, recipe = config_path(wanted)
        except RewardKitError as e:
            self.findings.append(Finding("missing-config", "", e.message, hint=e.hint))
            return YamlFile(Path(str(wanted))), None
        file = read_yaml(path)
        self.findings += file.findings
        return file, recipe

    def _split(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The file's own section with the command line's values in it, and the rest, which is verl's."""
        data = {k: v for k, v in self.file.data.items() if k not in _IGNORED_BLOCKS}
        for entry in self.file.data.get("defaults") or []:
            if entry not in ("ppo_trainer", "_self_"):
                hint = "choose it on the command line, such as actor@actor_rollout_ref.actor=megatron_actor"
                message = f"{entry!r} is not followed: only ppo_trainer is composed here"
                self.findings.append(Finding("defaults", "defaults", message, self.where("defaults"), hint))
        own = data.pop(SECTION, None) or {}
        own_findings = check_keys({SECTION: own}, _OWN, self.where)
        for o in self.overrides:
            if o.key.startswith(f"{SECTION}."):
                own_findings += check_key(o.key, o.value, _OWN, self.where)
                own = {**own, o.key.removeprefix(f"{SECTION}."): o.value} if isinstance(own, dict) else own
        self.overrides = [o for o in self.overrides if not o.key.startswith(f"{SECTION}.")]
        self.findings += own_findings
        wrong = {f.key for f in own_findings if f.severity == "error"}
        own = {k: v for k, v in own.items() if f"{SECTION}.{k}" not in wrong} if isinstance(own, dict) else {}
        return own, data

    def _reward(self, own: Mapping[str, Any], theirs: Mapping[str, Any]) -> RewardSource | None:
        """From --reward, else the file's own section, else the wiring of a config that was resolved before."""
        given: Any = self.given_reward if self.given_reward is not None else own.get("reward")
        key = "" if self.given_reward is not None else f"{SECTION}.reward"
        wired = ((theirs.get("reward") or {}).get("reward_kwargs") or {}).get(SECTION) if isinstance(
            theirs.get("reward") or {}, Mapping
        ) else None
        try:
            if isinstance(given, RewardSource):
                return given
            if isinstance(given, str):
                return load_reward(given)
            if isinstance(wired, Mapping) and isinstance(wired.get("formula"), str):
                key = f"reward.reward_kwargs.{SECTION}"
                node = reward_from_config(wired)
                return RewardSource(repr(node), wired.get("source"), wired.get("name"), "config", node)
        except RewardKitError as e:
            self.findings.append(Finding("reward", key or "--reward", e.message, key and self.where(key), e.hint))
            return None
        hint = "give --reward \"length(0.1, cap=2) + ends_with('.?!')\", or set rewardkit.reward in the file"
        self.findings.append(Finding("no-reward", f"{SECTION}.reward", "nothing says what pays this run", hint=hint))
        return None

    def _check_keys(self, theirs: Mapping[str, Any], schema: Key) -> None:
        found = check_keys(theirs, schema, self.where)
        for o in self.overrides:
            if o.action in ("set", "add"):
                found += check_key(o.key, o.value, schema, self.where, new=o.action == "add")
            elif o.action == "delete" and schema.find(o.key) is None:
                found += check_key(o.key, None, schema, self.where)
        self.findings += found
        self.invalid |= {f.key for f in found if f.severity == "error"}

    def _apply(self, config: Any, override: Override) -> None:
        from omegaconf import OmegaConf

        if override.key in self.invalid or override.action == "group":
            return
        if override.action == "delete":
            parent, _, name = override.key.rpartition(".")
            section = OmegaConf.select(config, parent) if parent else config
            if section is not None and name in section:
                section.pop(name)
            return
        OmegaConf.update(config, override.key, override.value, merge=True, force_add=True)

    def _wire(self, config: Any, own: Mapping[str, Any], reward: RewardSource | None) -> frozenset[str]:
        """Put the reward, the chat template and the locally made files into the config; the keys of the latter."""
        from omegaconf import OmegaConf

        def put(key: str, value: Any) -> None:
            OmegaConf.update(config, key, value, merge=False, force_add=True)

        if self.out is not None:
            put("trainer.default_local_dir", str(self.out))
        if reward is not None:
            put(f"reward.reward_kwargs.{SECTION}", reward.to_config())
            own_path = OmegaConf.select(config, TOKENIZER_PATH)
            tokenizer = f"${{{MODEL_PATH if own_path is None else TOKENIZER_PATH}}}"
            put(f"trainer.v1.sampler.sampler_kwargs.{SECTION}", {**reward.to_config(), "tokenizer": tokenizer})
        for key, value in _MANAGER.items():
            self._refuse_other(config, key, value)
            put(key, value)
        for key, value in _SAMPLER.items():
            if OmegaConf.select(config, key) not in (None, value):
                message = "is not rewardkit's: per-term training metrics and token-level rewards need that one"
                self.findings.append(Finding("sampler", key, message, self.where(key), severity="warning"))
            else:
                put(key, value)
        self._wire_template(own, put)
        return self._wire_assets(config, own, put)

    def _refuse_other(self, config: Any, key: str, value: str) -> None:
        from omegaconf import OmegaConf

        set_to = OmegaConf.select(config, key)
        if self._set_by_user(key) and set_to != value:
            message = f"is {set_to!r}, and the formula pays this run through {value!r}"
            self.findings.append(Finding("two-rewards", key, message, self.where(key), "leave it out"))

    def _wire_template(self, own: Mapping[str, Any], put: Any) -> None:
        name = own.get("chat_template")
        if name is None:
            return
        key = f"{SECTION}.chat_template"
        if name not in CHAT_TEMPLATES:
            hint = did_you_mean(name, CHAT_TEMPLATES) or f"one of {', '.join(CHAT_TEMPLATES)}"
            self.findings.append(Finding("unknown-template", key, f"no template is named {name!r}", self.where(key), hint))
            return
        path = self.from_command[MODEL_PATH].value if MODEL_PATH in self.from_command else _dig(self.file.data, MODEL_PATH)
        folder = Path(str(path)).expanduser()
        if folder.is_dir() and has_chat_template(folder):
            message = f"{folder} brings its own chat template, which is kept; {name} is not applied"
            self.findings.append(Finding("own-template", key, message, self.where(key), severity="warning"))
            return
        put(TEMPLATE, CHAT_TEMPLATES[name])

    def _wire_assets(self, config: Any, own: Mapping[str, Any], put: Any) -> frozenset[str]:
        train, val = "data.train_files", "data.val_files"
        if self._set_by_user(train) and not self._set_by_user(val):
            put(val, _dig(config, train))
            message = "is not set: the training rows stand in for it"
            self.findings.append(Finding("no-validation", val, message, severity="warning"))
        assets = own.get("assets")
        if assets is None:
            return frozenset()
        if assets != "tiny":
            key = f"{SECTION}.assets"
            self.findings.append(Finding("assets", key, f"is {assets!r}; expected tiny", self.where(key)))
            return frozenset()
        files = TinyAssets.under(self._assets_folder(config))
        made = {MODEL_PATH: files.model, train: files.train, val: files.val}
        if self._set_by_user(train):
            del made[val]
        generated = frozenset(k for k in made if not self._set_by_user(k))
        for key in generated:
            put(key, str(made[key]))
        return generated

    def _assets_folder(self, config: Any) -> Path:
        return Path(str(config.trainer.default_local_dir)).absolute() / "assets"

    def _machine(self, config: Any) -> int:
        """Ranks, and what a machine without an accelerator needs; the total number of ranks."""
        from omegaconf import OmegaConf

        per_node = "trainer.n_gpus_per_node"
        ranks = self.given_ranks
        if ranks is None and not self.accelerator and not self._set_by_user(per_node):
            ranks = 1
        if ranks is not None:
            OmegaConf.update(config, per_node, ranks)
        total = config.trainer.n_gpus_per_node * config.trainer.nnodes
        if self.accelerator:
            return int(total)
        from trainer_glue.verl import cpu

        for key, value in cpu.overrides(int(total)).items():
            if key in self.from_command:
                continue
            before = OmegaConf.select(config, key, default=None)
            if self.recipe is None and self._set_by_user(key) and before != value:
                message = f"is {before!r}; {value!r} is used, for there is no accelerator here"
                self.findings.append(Finding("no-accelerator", key, message, self.where(key), severity="warning"))
            OmegaConf.update(config, key, value, merge=False, force_add=True)
        return int(total)

    def _filled(self, config: Any) -> dict[str, Any] | None:
        """The config as plain data, interpolations filled in."""
        from omegaconf import OmegaConf
        from omegaconf.errors import OmegaConfBaseException

        try:
            plain: dict[str, Any] = OmegaConf.to_container(config, resolve=True)
        except OmegaConfBaseException as e:
            key = str(getattr(e, "full_key", "") or "")
            self.findings.append(Finding("interpolation", key, str(e).splitlines()[0], self.where(key)))
            return None
        return plain

    def _check(self, config: dict[str, Any], reward: RewardSource | None, made: frozenset[str], ranks: int) -> None:
        """What only the whole config shows: required keys, files, batches."""
        rollout = "actor_rollout_ref.rollout.name"
        if _dig(config, rollout) in (None, "???"):
            hint = "vllm, or sglang"
            self.findings.append(Finding("required", rollout, "is not set, and verl has no default for it", hint=hint))
        trusted = _without(config, self.invalid)
        for key in self.invalid:
            _blank(trusted, key)
        rows: int | None = TRAIN_ROWS
        if "data.train_files" not in made and not self.invalid & {"data.train_files", "data.val_files", "data.prompt_key"}:
            found, rows = check_data(trusted, reward.needs if reward else (), reward.formula if reward else "", self.where)
            self.findings += found
        if MODEL_PATH not in made and MODEL_PATH not in self.invalid:
            self.findings += check_model(trusted["actor_rollout_ref"]["model"], "actor_rollout_ref.model", self.where)
        if _uses_critic(trusted):
            self.findings += check_model(trusted["critic"]["model"], "critic.model", self.where)
        self.findings += check_batches(trusted, rows, ranks, self.where)
        self._check_seams(trusted)

    def _check_seams(self, config: Mapping[str, Any]) -> None:
        """What rewardkit's seams into verl can't carry."""
        for key, message in (
            ("algorithm.filter_groups.enable", "group filtering needs arguments that verl gives to no custom sampler"),
            ("trainer.v1.sampler.sync_refill_failed_groups", "verl gives a custom sampler no means to refill groups"),
        ):
            if _dig(config, key) is True:
                self.findings.append(Finding("sampler", key, message, self.where(key), "leave it off"))
        key = "reward.custom_reward_function.path"
        if _dig(config, key) is not None:
            message = "is set, and a formula pays this run: the function would never be called"
            self.findings.append(Finding("two-rewards", key, message, self.where(key), "leave it out"))
        if _dig(config, "trainer.use_v1") is False:
            message = "is false: the old trainer has no per-term training metrics and carries no token-level rewards"
            self.findings.append(Finding("old-trainer", "trainer.use_v1", message, self.where("trainer.use_v1"), severity="warning"))


def has_accelerator() -> bool:
    """Whether this machine shows an NVIDIA or AMD device; nothing is imported to find out."""
    return any(os.path.exists(p) for p in ("/dev/nvidiactl", "/dev/kfd"))


@functools.lru_cache(maxsize=4)
def _compose(folder: Path, groups: tuple[str, ...]) -> Any:
    from hydra import compose, initialize_config_dir

    with initialize_config_dir(config_dir=str(folder), version_base=None):
        return compose("ppo_trainer", overrides=list(groups))


def _composed(verl: Verl, groups: tuple[str, ...]) -> tuple[Any, Key]:
    """verl's default config, free to take new keys, and its schema."""
    from hydra.errors import HydraException
    from omegaconf import OmegaConf

    try:
        config = OmegaConf.create(_compose(verl.config, groups))
    except HydraException as e:
        text = " ".join(groups)
        raise_errors([Finding("config-group", text, str(e).splitlines()[0], COMMAND_LINE)])
        raise
    OmegaConf.set_struct(config, False)
    return config, build_schema(OmegaConf.to_container(config, resolve=False), verl.folder)


def _uses_critic(config: Mapping[str, Any]) -> bool:
    enabled = _dig(config, "critic.enable")
    return bool(enabled) if enabled is not None else _dig(config, "algorithm.adv_estimator") == "gae"


def _dig(data: Any, path: str) -> Any:
    for name in path.split("."):
        data = data.get(name) if hasattr(data, "get") else None
    return data


def _without(data: Mapping[str, Any], keys: set[str], prefix: str = "") -> dict[str, Any]:
    """A deep copy of a mapping without some dotted keys."""
    return {
        k: _without(v, keys, f"{prefix}{k}.") if isinstance(v, Mapping) else v
        for k, v in data.items()
        if f"{prefix}{k}" not in keys
    }


def _blank(config: dict[str, Any], path: str) -> None:
    """Null a key whose value was refused, so that no later check judges the default in its place."""
    *sections, name = path.split(".")
    for section in sections:
        if not isinstance(config.get(section), dict):
            return
        config = config[section]
    config[name] = None
