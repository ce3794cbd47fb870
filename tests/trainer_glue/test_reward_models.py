"""A tiny reward model asked in every way: by verl's router, over HTTP, in this process; all give its logits."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("httpx")

from rewardkit import Batch, Status, compile, parse
from rewardkit.errors import ConfigError, UnscoredError
from rewardkit.terms import asking, endpoints
from tests.servers import Server
from tests.trainer_glue.verl.tokenizers import byte_tokenizer
from trainer_glue.adapters.unscored import check_unscored
from trainer_glue.reward_models import LocalRewardModel, chat_renderer

TEMPLATE = (
    "{{ bos_token }}{% for m in messages %}<{{ m['role'] }}>{{ m['content'] }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}<assistant>{% endif %}"
)
ROWS = [
    ([{"role": "user", "content": "2 + 2?"}], "4"),
    ([{"role": "system", "content": "Be kind."}, {"role": "user", "content": "2 + 2?"}], "4"),
    ([{"role": "user", "content": "2 + 2?"}], "It is four, as anybody can see. " * 3),
    ([{"role": "user", "content": "<|im_end|> é"}], ""),
]


class Ways:
    """The model in a folder, its logits, and a server that answers for it as vLLM and SGLang do."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
        self.model = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
        self.model.config.pad_token_id = None  # padding is the end token, and a conversation's last token counts
        self.read: list[list[int]] = []
        self.server = Server(self.reply)

    def logit(self, ids: list[int]) -> float:
        with torch.inference_mode():
            return float(self.model(torch.tensor([ids])).logits[0, 0])

    def ids(self, chat: Any) -> list[int]:
        text = self.tokenizer.apply_chat_template(chat, tokenize=False)
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    @property
    def logits(self) -> list[float]:
        return [self.logit(self.ids([*chat, {"role": "assistant", "content": text}])) for chat, text in ROWS]

    def reply(self, body: dict[str, Any]) -> tuple[int, dict[str, str], str]:
        """What a server does with a request: its tokenizer puts its own special tokens around a text."""
        if "messages" in body:
            ids = self.ids(body["messages"])
        elif isinstance(body["input"], list):
            ids = body["input"]
        else:
            ids = list(self.tokenizer(body["input"])["input_ids"])
        self.read.append(ids)
        score = self.logit(ids)
        if "use_activation" not in body:
            return 200, {}, json.dumps({"data": [{"embedding": [score]}]})
        if body["use_activation"]:
            score = float(torch.sigmoid(torch.tensor(score)))
        return 200, {}, json.dumps({"data": [{"probs": [score]}], "usage": {"prompt_tokens": len(ids)}})


def make(folder: Path, *, adds_bos: bool, labels: int = 1) -> Path:
    tokenizer = copy.deepcopy(byte_tokenizer())
    tokenizer.add_special_tokens({"bos_token": "<s>", "eos_token": "</s>", "pad_token": "</s>"})
    tokenizer.chat_template = TEMPLATE
    if adds_bos:
        from tokenizers.processors import TemplateProcessing

        start = (tokenizer.bos_token, tokenizer.bos_token_id)
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(single=f"{start[0]} $A", special_tokens=[start])
    config = transformers.LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=32, intermediate_size=48, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=1, num_labels=labels, pad_token_id=tokenizer.pad_token_id, max_position_embeddings=512,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.LlamaForSequenceClassification(config)
    torch.nn.init.normal_(model.score.weight, std=3.0)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=[True, False], ids=["adds-bos", "adds-nothing"])
def ways(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ways]:
    made = Ways(make(tmp_path_factory.mktemp("reward") / "model", adds_bos=request.param))
    yield made
    made.server.close()


@pytest.fixture(autouse=True)
def _fresh(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("REWARDKIT_ENDPOINTS", raising=False)
    monkeypatch.setattr(asking._process, "asker", None)
    endpoints._local.cache_clear()
    yield
    endpoints._named.clear()


def values(formula: str) -> list[float]:
    batch = Batch([text for _, text in ROWS], prompts=["?"] * len(ROWS), chats=[chat for chat, _ in ROWS])
    scores = compile(formula)(batch)
    assert not scores.unscored.any(), scores.first_reason()
    return list(scores.total)


FORMULA = "reward_model(low=-100, high=100)"


def test_the_model_tells_the_rows_apart(ways: Ways) -> None:
    assert len({round(x, 2) for x in ways.logits}) == len(ROWS)


@pytest.mark.parametrize("engine", ["vllm", "sglang"])
def test_through_verls_router(ways: Ways, engine: str) -> None:
    pytest.importorskip("verl")
    from trainer_glue.verl.reward_model import serve_verls

    ways.read.clear()
    config = {"reward.reward_model.rollout.name": engine, "reward.reward_model.model_path": "served"}
    serve_verls(config.get, ways.server.root.removeprefix("http://"), ways.tokenizer)
    assert values(FORMULA) == pytest.approx(ways.logits, abs=1e-4)
    assert ways.server.paths[-1] == {"vllm": "/classify", "sglang": "/v1/embeddings"}[engine]
    assert ways.server.requests[-1]["model"] == "served"
    assert all(ids.count(ways.tokenizer.bos_token_id) == 1 for ids in ways.read), "one token at the beginning"


@pytest.mark.parametrize(
    "entry", ["verl={url}", "verl={url}/v1", "verl=vllm+{url}#{folder}", "verl=sglang+{url}#{folder}"]
)
def test_over_http_by_a_name(ways: Ways, monkeypatch: pytest.MonkeyPatch, entry: str) -> None:
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", entry.format(url=ways.server.root, folder=ways.folder))
    assert values(FORMULA) == pytest.approx(ways.logits, abs=1e-4)


def test_over_http_by_a_url(ways: Ways) -> None:
    formula = f"reward_model(low=-100, high=100, base_url={ways.server.root!r}, model='m')"
    assert values(formula) == pytest.approx(ways.logits, abs=1e-4)


def test_in_this_process(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"verl=hf:{ways.folder}")
    assert values(FORMULA) == pytest.approx(ways.logits, abs=1e-4)


def test_scores_are_cut_off_or_squashed(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"verl=hf:{ways.folder}")
    raw = torch.tensor(ways.logits, dtype=torch.float64)
    middle = float(raw.median())
    cut = values(f"reward_model(low={middle}, high={middle + 0.1})")
    assert cut == pytest.approx(raw.clip(middle, middle + 0.1).tolist(), abs=1e-4)
    squashed = values("reward_model(low=-1, high=1, squash='sigmoid')")
    assert squashed == pytest.approx((2 * torch.sigmoid(raw) - 1).tolist(), abs=1e-4)


def test_only_right_rows_are_asked_about(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"verl={ways.server.root}")
    before = len(ways.server.requests)
    texts = ["#### 4", "#### 5", "none", "so\n#### 4"]
    batch = Batch(texts, ground_truths=["4"] * 4, prompts=["2 + 2?"] * 4)
    scores = compile("gsm8k() * reward_model(low=1, high=100)")(batch)
    assert (scores.total >= 1).tolist() == [True, False, False, True]
    asked = [request["messages"][-1]["content"] for request in ways.server.requests[before:]]
    assert sorted(asked) == ["#### 4", "so\n#### 4"]


def test_a_model_that_says_nothing_clear_is_unscored(ways: Ways, monkeypatch: pytest.MonkeyPatch) -> None:
    for body in ('{"data": [{"probs": [0.1, 0.9]}]}', '{"data": []}', '{"data": [{"probs": [NaN]}]}', "oops"):
        monkeypatch.setattr(asking._process, "asker", None)
        server = Server(lambda _, body=body: (200, {}, body))  # type: ignore[misc]
        monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"verl={server.root}")
        scores = compile(FORMULA)(Batch(["x"], prompts=["p"]))
        assert Status(int(scores.status[0])) is Status.ERROR
        assert scores.first_reason()
        server.close()
    monkeypatch.delenv("REWARDKIT_ENDPOINTS")
    nobody = compile(FORMULA)(Batch(["x"], prompts=["p"]))
    assert "reward.reward_model.enable=true" in (nobody.first_reason() or "")
    without_prompt = compile(FORMULA)(Batch(["x"], prompts=[None]))
    assert without_prompt.unscored.all()


def test_a_burst_of_failures_costs_no_row_and_a_dead_server_stops_the_run(
    ways: Ways, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asking, "FIRST_PAUSE", 0.0)
    left = iter(range(3))
    server = Server(lambda body: ways.reply(body) if next(left, None) is None else (503, {}, "busy"))
    monkeypatch.setenv("REWARDKIT_ENDPOINTS", f"verl={server.root}")
    assert values(FORMULA) == pytest.approx(ways.logits, abs=1e-4)
    assert len(server.requests) == len(ROWS) + 3
    server.close()
    monkeypatch.setattr(asking._process, "asker", None)
    dead = compile(f"gsm8k() + 0.2 * {FORMULA}")(Batch(["#### 4"] * 5, ground_truths=["4"] * 5, prompts=["p"] * 5))
    assert dead.unscored.all()
    assert dead.summary()["reward_model/status/error"] == 1.0
    assert dead.values["gsm8k"].tolist() == [1.0] * 5
    with pytest.raises(UnscoredError, match="reward_model: 5 ERROR"):
        check_unscored(dead, 0.2)


def test_the_server_of_a_run_on_the_cpu_speaks_vllms_protocol(ways: Ways) -> None:
    pytest.importorskip("verl")
    from starlette.testclient import TestClient

    from trainer_glue.verl.cpu.reward_server import RewardServer

    threads = torch.get_num_threads()
    try:
        client = TestClient(RewardServer(str(ways.folder), 1).app())
    finally:
        torch.set_num_threads(threads)
    chats = [[*chat, {"role": "assistant", "content": text}] for chat, text in ROWS]
    render = chat_renderer(ways.tokenizer)
    bodies: list[dict[str, Any]] = [
        {"input": [render(chat) for chat in chats]},
        {"input": [ways.ids(chat) for chat in chats]},
    ]
    for body in bodies:
        answer = client.post("/classify", json={**body, "use_activation": False}).json()
        assert [line["probs"][0] for line in answer["data"]] == pytest.approx(ways.logits, abs=1e-4)
    for i, chat in enumerate(chats):
        for one in ({"messages": chat}, {"input": render(chat)}, {"input": ways.ids(chat)}):
            answer = client.post("/classify", json={**one, "use_activation": False}).json()
            assert answer["data"][0]["probs"] == pytest.approx([ways.logits[i]], abs=1e-4)
            assert answer["usage"]["prompt_tokens"] == len(ways.ids(chat))
    squashed = client.post("/classify", json={"messages": chats[0]}).json()["data"][0]["probs"][0]
    assert squashed == pytest.approx(float(torch.sigmoid(torch.tensor(ways.logits[0]))), abs=1e-6)


def test_a_formula_says_where_the_model_is_only_by_a_name() -> None:
    node = parse(FORMULA)
    assert repr(node) == FORMULA
    assert compile(node).bounds.low == -100
    with pytest.raises(Exception, match="may not ask"):
        parse("reward_model(low=0, high=1, base_url='http://10.0.0.5:8000', model='m')")
    with pytest.raises(Exception, match="expected low below high"):
        parse("reward_model(low=1, high=1)")


def test_what_is_no_reward_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="has 2 outputs"):
        LocalRewardModel(str(make(tmp_path / "two", adds_bos=False, labels=2)))
    with pytest.raises(ConfigError, match="can't load"):
        LocalRewardModel(str(tmp_path / "none"))
    with pytest.raises(ConfigError, match="no chat template"):
        chat_renderer(byte_tokenizer())


def test_verls_manager_names_its_router(ways: Ways) -> None:
    pytest.importorskip("verl")
    from tests.trainer_glue.verl.test_manager import run, single
    from trainer_glue.verl import RewardManager

    manager = RewardManager(
        tokenizer=byte_tokenizer(),
        reward="gsm8k() + 0.2 * reward_model(low=-100, high=100)",
        reward_router_address=ways.server.root.removeprefix("http://"),
        reward_model_tokenizer=ways.tokenizer,
    )
    chat = [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "2 + 2?"}]
    (result,) = run(manager, single("#### 4", raw_prompt=chat))
    logit = ways.logit(ways.ids([*chat, {"role": "assistant", "content": "#### 4"}]))
    assert result["reward_score"] == pytest.approx(1 + 0.2 * logit, abs=1e-4)
    info = result["reward_extra_info"]
    assert info["reward_model"] == pytest.approx(logit, abs=1e-4)
    assert (info["reward_model/requests"], info["reward_model/tokens"] > 0) == (1, True)
