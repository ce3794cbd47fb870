"""The config of a run: what the user wrote, merged over verl's own defaults and checked in one pass.

verl and torch are never imported here. `findings` says what is wrong, `schema` what verl knows, `keys`, `data_files`,
`model_folder` and `batches` check, `resolve` puts it together.
"""

from trainer_glue.verl.config.findings import ConfigFindings, Finding
from trainer_glue.verl.config.recipes import recipe_names
from trainer_glue.verl.config.resolve import Resolved, has_accelerator, resolve

__all__ = ["ConfigFindings", "Finding", "Resolved", "has_accelerator", "recipe_names", "resolve"]
