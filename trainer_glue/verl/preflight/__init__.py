"""Before a run: what would make it fail after minutes, or teach nothing after hours.

A check reads the filled-in config, the model's `config.json`, the data and this machine, and yields diagnostics with a
stable code (`codes`), evidence and a fix. One family of diagnostics a file; `checks` has them all. Neither torch, verl,
Ray, vLLM nor transformers may be imported here, and no weights are read: a preflight takes a second or two.
"""

from trainer_glue.verl.preflight.checks import Preflight, preflight

__all__ = ["Preflight", "preflight"]
