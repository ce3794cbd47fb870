"""The config of a run: what the user wrote, merged over verl's own defaults and checked in one pass.

verl and torch are never imported here. `written` is what the user wrote, `schema` what verl knows, `wiring` and
`machine` what rewardkit adds; `keys`, `data_files`, `model_folder` and `batches` check; `resolve` puts it together.
"""

from trainer_glue.verl.config.diagnostics import ConfigDiagnostic, ConfigErrors
from trainer_glue.verl.config.recipes import recipe_names
from trainer_glue.verl.config.resolve import Resolved, resolve

__all__ = ["ConfigErrors", "ConfigDiagnostic", "Resolved", "recipe_names", "resolve"]
