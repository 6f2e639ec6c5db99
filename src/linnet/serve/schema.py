"""What requests and answers look like: these classes are both the published schema and what checks a request.

A body is checked straight from its bytes (about 3 microseconds for one text); FastAPI's way, by a dictionary, would cost ten
times as much and is not taken where speed counts.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, create_model

from linnet.serve.settings import CODES, RequestError, Settings

Label = str | int | float | bool
Share = Annotated[float, Field(ge=0.0, le=1.0)]
Body = TypeVar("Body", bound=BaseModel)
Whole = Annotated[int, BeforeValidator(lambda v: int(v) if isinstance(v, float) and v.is_integer() else v)]  # 2.0 is 2
NO_NUL = "^[^\\u0000]*$"
MANY = 100_000
STRICT = ConfigDict(extra="forbid", strict=True)
EXAMPLES: list[Any] = [
    {"text": "a warm and funny book"},
    {"texts": ["a warm and funny book", "dull"], "probabilities": True},
]
MODEL = "The name of the model; the first one if not given."


def requests(settings: Settings) -> tuple[type[BaseModel], type[BaseModel]]:
    """Return the classes of the two kinds of request, with the limits of this server in them."""
    text = Annotated[str, Field(max_length=settings.max_text, pattern=NO_NUL)]
    predict = create_model(
        "PredictRequest",
        __doc__="One text or several, and what to say about them.",
        __config__=ConfigDict(
            **STRICT, json_schema_extra={"oneOf": [{"required": ["text"]}, {"required": ["texts"]}], "examples": EXAMPLES}
        ),
        text=(text, _optional("One text; the answer is one result.")),
        texts=(list[text], _optional("Several texts; the answer is a list of results.", max_length=settings.max_batch)),
        model=(str, _optional(MODEL)),
        labels=(list[Label], _optional("Choose among these labels only; their probabilities add up to 1.", min_length=1)),
        top=(Whole, _optional("Also give so many labels, the most probable first.", ge=1, le=MANY)),
        out_of_scope=(bool, Field(default=False, description="Also say how unlike the training rows each text is, from 0 to 1.")),
        probabilities=(bool, Field(default=False, description="Also give the probability of every label.")),
        threshold=(Share | dict[str, Share], _optional(
            "The probability from which a label is an answer, by label, or one for all; below it, another label, or null."
        )),
        cost=(dict[str, dict[str, float]], _optional("Choose the label of least expected cost: truth, answer, cost.")),
        abstain=(Share, _optional("Give no label (null) to some texts, so that the labels given have this accuracy; 0: label all.")),
        answer=(Share, _optional("Give a label to this share of texts, the surest, and null to the others.")),
        coverage=(Share, _optional("Also give, as set, the labels that cannot be ruled out: the true one is there with this probability.")),
    )  # fmt: skip
    explain = create_model(
        "ExplainRequest",
        __doc__="One text, and the label whose score is to be explained.",
        __config__=STRICT,
        text=(str, Field(max_length=settings.max_explain, pattern=NO_NUL)),
        model=(str, _optional(MODEL)),
        label=(Label, _optional("The label to explain; the predicted one if not given.")),
        top=(Whole, _optional("Give so many words and features, the weightiest; all if not given.", ge=1, le=MANY)),
    )
    return predict, explain


def _optional(description: str, **limits: Any) -> Any:
    """A field that may be left out, but may not be null."""
    return Field(default=None, description=description, json_schema_extra=_without_default, **limits)


def _without_default(schema: dict[str, Any]) -> None:
    schema.pop("default", None)


def checked(kind: type[Body], body: bytes) -> Body:
    """Read a body. A RequestError names the field that is wrong, and never quotes a text."""
    try:
        return kind.model_validate_json(body)
    except ValidationError as error:
        raise _problem(error) from None


def _problem(error: ValidationError) -> RequestError:
    first = error.errors(include_url=False, include_context=False)[0]
    if first["type"] == "json_invalid":
        problem = first["msg"].removeprefix("Invalid JSON: ")
        unicode = any(word in problem for word in ("hex escape", "unicode", "surrogate"))
        hint = "; text must be valid Unicode in UTF-8, with no half of a surrogate pair alone" if unicode else ""
        return RequestError("bad_json", f"the body is not JSON: {problem}{hint}")
    where = ".".join(map(str, first["loc"]))
    message = first["msg"][:1].lower() + first["msg"][1:]
    if first["type"] == "string_pattern_mismatch":
        message = f"a NUL character (U+0000) at position {first['input'].index(chr(0))}; remove it"
    more = f" (and {error.error_count() - 1} more)" if error.error_count() > 1 else ""
    return RequestError("invalid", f"{where}: {message}{more}" if where else f"{message}{more}")


# ---- answers


class RankedLabel(BaseModel):
    """A label and how probable it is."""

    label: Label
    probability: float = Field(ge=0.0, le=1.0)


class Prediction(BaseModel):
    """What is said about one text."""

    label: Label | None = Field(None, description="The best label; null where the answer was to abstain.")
    probability: float | None = Field(
        None, ge=0.0, le=1.0, description="The probability of the best label, to six digits."
    )
    labels: list[RankedLabel] | None = Field(
        None, description="In place of the two: all labels, where a text may have several."
    )
    out_of_scope: float | None = Field(None, ge=0.0, le=1.0, description="How unlike the training rows the text is.")
    set: list[Label] | None = Field(None, description="With coverage: the labels that cannot be ruled out.")
    top: list[RankedLabel] | None = None
    probabilities: dict[str, float] | None = None


class PredictedOne(Prediction):
    """The answer to one text."""

    model: str
    version: str = Field(description="The first digits of the checksum of the model file.")


class PredictedMany(BaseModel):
    """The answer to several texts, in their order."""

    model: str
    version: str
    results: list[Prediction]


class Explained(BaseModel):
    """What each word and feature adds to the score; the bias, the contributions and other_contributions add up to it."""

    model_config = ConfigDict(extra="allow")

    model: str
    version: str
    label: Label
    score: float
    probability: float
    bias: float
    contributions: list[dict[str, Any]]
    other_contributions: float = Field(description="What those that were left out by 'top' add.")


class LoadedModel(BaseModel):
    """One model of the server."""

    name: str
    version: str
    file: str
    bytes: int
    model: str | None
    features: int
    labels: list[Label]
    calibrated: bool
    linnet: str | None
    loaded: str


class ModelList(BaseModel):
    """The models of the server."""

    default: str
    models: list[LoadedModel]


class Reloaded(BaseModel):
    """Which models were replaced, and what versions are in use now."""

    reloaded: list[str]
    versions: dict[str, str]


class Status(BaseModel):
    """Whether the server is alive or ready."""

    status: Literal["ok", "ready"]


class _Error(BaseModel):
    code: str = Field(json_schema_extra={"enum": [*sorted(CODES)]})
    message: str


class ErrorReply(BaseModel):
    """Why a request was not answered."""

    error: _Error
