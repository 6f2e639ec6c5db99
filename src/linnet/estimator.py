"""Settings in scikit-learn's way, without its import: what models, vectorisers and classifiers share."""

from __future__ import annotations

import inspect
from typing import Any, Self

from linnet.errors import DataError, nearest


class Estimator:
    """Settings: every argument of the constructor, kept as given under its own name.

    A setting that has settings itself is reached by two underscores: ``set_params(model__C=1.0)``.
    """

    @classmethod
    def _settings(cls) -> dict[str, inspect.Parameter]:
        parameters = dict(inspect.signature(cls.__init__).parameters)
        del parameters["self"]
        return parameters

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings given to the constructor; with deep, also those of a setting that has some itself."""
        found = {name: getattr(self, name) for name in self._settings()}
        if deep:
            for name, value in list(found.items()):
                if hasattr(value, "get_params") and not isinstance(value, type):
                    found |= {f"{name}__{key}": inner for key, inner in value.get_params().items()}
        return found

    def set_params(self, **params: Any) -> Self:
        """Change settings; they are checked when the model is fitted."""
        known = self._settings()
        for name in params:
            if name.partition("__")[0] not in known:
                raise DataError(nearest(f"setting of {type(self).__name__}", name, known))
        inside: dict[str, dict[str, Any]] = {}
        for name, value in params.items():
            outer, _, inner = name.partition("__")
            if inner:
                inside.setdefault(outer, {})[inner] = value
            else:
                setattr(self, name, value)
        for name, values in inside.items():
            self._set_inside(name, values)
        return self

    def _set_inside(self, name: str, values: dict[str, Any]) -> None:
        """Change the settings of a setting."""
        value = getattr(self, name)
        if not hasattr(value, "set_params"):
            raise DataError(f"{name}={value!r} of {type(self).__name__} has no settings, so not {', '.join(values)}")
        value.set_params(**values)

    def changed_params(self) -> dict[str, Any]:
        """Return the settings that are not the default ones."""
        defaults = self._settings()
        found = self.get_params(deep=False)
        return {name: value for name, value in found.items() if repr(value) != repr(defaults[name].default)}

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in self.changed_params().items())})"
