"""What to compare, as it is written: ``svm,nb``, ``svm:features=words:1,C=1,logistic:C=0.1,1,10``.

A model is a name, with settings behind a colon: ``name:setting=value,setting=value``. Commas separate models, settings and
the values of a setting: what reads ``setting=value`` belongs to the model before it, and what is neither that nor a model
is one more value of the setting before it. A setting is one of TextClassifier's (features, tf, ratio, min_df ...) or one of
the model's own (C, alpha ...). Of several values the best is chosen inside each training part. A slash between values
(``C=0.1/1``) means the same as a comma.

>>> [spec.name for spec in parse("svm:features=words:1,C=1,nb")]
['svm:features=words:1,C=1', 'nb']
>>> parse("svm:features=words:1,C=0.1,1,nb")[0].make()
TextClassifier(features='words:1', params={'C': [0.1, 1]})
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from linnet.classifier import TextClassifier
from linnet.errors import LinnetError, check_choice
from linnet.features.blocks import as_blocks, needed
from linnet.models import MODELS
from linnet.values import parse_value

_SETTING = re.compile(r"\s*([A-Za-z_]\w*)\s*=(.*)$", re.DOTALL)
_KEPT = ("model", "params", "random_state", "n_jobs")  # not settings of one model in a comparison
OWN_NOTATION = ("features", "class_weight")  # their values are taken as they are


@dataclass(frozen=True)
class Spec:
    """One model to compare: what it is called, the settings of its TextClassifier, and what a search of them found."""

    name: str
    settings: dict[str, Any] = field(default_factory=dict)
    found: Any = None

    def make(self) -> TextClassifier:
        """Return the classifier, not fitted."""
        return TextClassifier(**self.settings)


def parse(text: str) -> list[Spec]:
    """Read models as written on the command line."""
    groups: list[list[str]] = []
    for piece in text.split(","):
        if groups and _SETTING.match(piece):
            groups[-1].append(piece)
        elif groups and _is_value(piece, groups[-1][-1]):
            groups[-1][-1] += f"/{piece.strip()}"
        else:
            groups.append([piece])
    out = []
    for first, *more in groups:
        name, colon, own = first.strip().partition(":")
        if not name:
            raise LinnetError(f"a model is missing in '{text}'; write for example svm,nb")
        check_choice("model", name, MODELS, LinnetError)
        pairs = [_setting(piece, name) for piece in ([own, *more] if colon else more)]
        if more and not colon:
            raise LinnetError(f"write the settings of {name} behind a colon: {name}:{','.join(more)}")
        out.append(Spec(",".join([first.strip(), *(piece.strip() for piece in more)]), _classifier(name, pairs)))
    return out


def _is_value(piece: str, before: str) -> bool:
    """Whether a piece is one more value of the setting before it, and not a model, even a misspelt one.

    >>> _is_value("1", "svm:C=0.1"), _is_value("nb", "svm:C=0.1"), _is_value("lbfgs", "logistic:solver=adam")
    (True, False, True)
    """
    setting = _SETTING.match(before) or _SETTING.match(before.partition(":")[2])
    if setting is None or setting[1] in OWN_NOTATION or not piece.strip() or ":" in piece:
        return False
    value, first = parse_value(piece), parse_value(setting[2].split("/")[0])
    if not isinstance(value, str) or not isinstance(first, str):
        return isinstance(value, str) == isinstance(first, str)
    return not difflib.get_close_matches(value, MODELS, n=1)


def _setting(text: str, model: str) -> tuple[str, Any]:
    match = _SETTING.match(text)
    if not match:
        raise LinnetError(f"cannot read the setting '{text}' of {model}; write for example {model}:features=words:1-2")
    name, value = match.groups()
    if name in OWN_NOTATION:
        return name, value.strip()
    values = [parse_value(v) for v in value.split("/")]
    return name, values if len(values) > 1 else values[0]


def _classifier(model: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    known = [name for name in inspect.signature(TextClassifier).parameters if name not in _KEPT]
    settings: dict[str, Any] = {"model": model}
    params: dict[str, Any] = {}
    for name, value in pairs:
        if name in settings or name in params:
            raise LinnetError(f"the setting {name} of {model} is given twice; leave one out")
        (settings if name in known else params)[name] = value
    return {**settings, "params": params} if params else settings


def as_specs(models: Any, features: Any = None, **always: Any) -> list[Spec]:
    """Accept text, names, TextClassifier objects, model objects, a mapping of names to any of these, or None for all.

    features are for every model that has none of its own; always are settings of all (random_state, n_jobs).
    Settings that do not exist are refused here, before any work is done.
    """
    if models is None:
        models = list(MODELS)
    if isinstance(models, Mapping):
        found = [replace(_one(value), name=str(name)) for name, value in models.items()]
    elif isinstance(models, str):
        found = parse(models)
    else:
        listed = models if isinstance(models, Iterable) else [models]
        found = [spec for value in listed for spec in (parse(value) if isinstance(value, str) else [_one(value)])]
    if not found:
        raise LinnetError("there is no model to compare; name one or more, for example svm,nb")
    names = [spec.name for spec in found]
    for name in names:
        if names.count(name) > 1:
            raise LinnetError(f"the model {name} is given twice; leave one out, or give a dict with a name for each")
    own = {} if features is None else {"features": features}
    specs = [Spec(spec.name, {**own, **spec.settings, **always}) for spec in found]
    for spec in specs:
        spec.make().plan()
    return specs


def needed_by(specs: Iterable[Spec]) -> tuple[str, ...]:
    """Return the columns of the data that the features of some models read beside the text.

    >>> needed_by(parse("svm:features=words:1+column:priority,nb"))
    ('priority',)
    """
    found = [needed(as_blocks(spec.settings["features"])) for spec in specs if spec.settings.get("features")]
    return tuple(dict.fromkeys(name for names in found for name in names))


def _one(value: Any) -> Spec:
    if isinstance(value, str):
        specs = parse(value)
        if len(specs) > 1:
            raise LinnetError(f"one name stands for one model; got '{value}'")
        return specs[0]
    if isinstance(value, TextClassifier):
        return Spec(repr(value), {"model": value.model, **value.changed_params()})
    return Spec(repr(value), {"model": value})
