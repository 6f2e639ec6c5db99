"""``linnet vocab``: the words of a file, what cut-offs leave, what another file has that this one lacks, Zipf's law."""

from __future__ import annotations

from typing import Any

import click

from linnet.cli import options as o
from linnet.cli.output import Notes, echo_json, say, table_lines
from linnet.errors import DataError, shown


@o.command("data")
@o.option("--other", "FILE", "Say how much of this file the vocabulary covers.")
@o.token_options
@o.number("--min-df", "Keep words in at least so many texts.", 1)
@o.max_features
@o.number("--top", "How many words to show.", 10, 0)
@o.option("--plot", "F", "Draw counts by rank and the fitted law to F (.svg, or .png with extra report).")
@o.option("--save", "F.json", "Write the vocabulary (after the cut-offs) as JSON.")
@o.text_options
@o.json_flag
def vocab(data: str, **options: Any) -> None:
    """Count the words of DATA: frequencies, document frequencies, what cut-offs leave, and Zipf's law.

    \b
    linnet vocab train.csv --other test.csv --min-df 2
    linnet vocab train.csv --plot zipf.svg --save words.json
    linnet vocab train.csv --other test.csv --tokens bpe.json
    """
    from linnet.text.tokens import TOKENS
    from linnet.text.vocabulary import Vocabulary, texts_of

    other, tokens, top = (options[name] for name in ("other", "tokens", "top"))
    columns, cuts = (
        (options["text"], options["format_"]),
        {"min_df": options["min_df"], "size": options["max_features"]},
    )
    texts = texts_of(data, *columns, Notes(data))
    others = texts_of(other, *columns, Notes(other)) if other else ()
    if tokens not in TOKENS:  # of a learned tokeniser: words are counted as well
        texts, others = list(texts), list(others)
    every = Vocabulary.of(texts, tokens=tokens, case=options["case"])
    if not len(every):
        raise DataError(f"{data}: there is no word in {every.n_documents:,} texts")
    kept = every.cut(**cuts)
    law = every.zipf() if len(every) > 1 else None
    covered = kept.coverage(others, top) if other else None
    if options["plot"] and law:
        law.save(options["plot"])
        say(f"plot written to {options['plot']}")
    if options["save"]:
        kept.save(options["save"])
        say(f"{len(kept):,} words written to {options['save']}")
    rows = zip(kept.words[:top], kept.counts.tolist(), kept.document_frequency.tolist(), strict=False)
    found: dict[str, Any] = {
        "source": data,
        "texts": every.n_documents,
        "tokens": every.n_tokens,
        "types": len(every),
        "seen_once": int((every.counts == 1).sum()),
        **{name: options[name] for name in ("min_df", "max_features")},
        "kept": len(kept),
        "kept_coverage": int(kept.counts.sum()) / every.n_tokens,
        "cut_offs": every.cut_offs(),
        "zipf": {"exponent": law.exponent, "scale": law.scale} if law else None,
        "top": [{"word": w, "count": n, "texts": d} for w, n, d in rows],
        "other": {"source": other, **covered.to_dict()} if covered else None,
    }
    if covered and tokens not in TOKENS:
        words = Vocabulary.of(texts, case=options["case"]).cut(**cuts)
        found["other"] |= {"tokeniser": tokens, "word_oov_rate": words.coverage(others).oov_rate}
    if options["json_"]:
        echo_json(found)
        return
    click.echo("\n".join(_lines(found)))
    if law:
        click.echo("\n" + law.to_text())


def _lines(found: dict[str, Any]) -> list[str]:
    texts, total, types = found["texts"], found["tokens"], found["types"]
    once = f"{found['seen_once']:,} of them seen once"
    lines = [f"{found['source']}: {texts:,} texts, {total:,} tokens, {types:,} different, {once}"]
    if found["kept"] != types:
        most = f", max_features {found['max_features']:,}" if found["max_features"] else ""
        cuts = f"min_df {found['min_df']}{most}"
        lines.append(f"kept with {cuts}: {found['kept']:,} words, {found['kept_coverage']:.2%} of the tokens")
    if found["top"]:
        top = [[shown(row["word"]), f"{row['count']:,}", f"{row['texts']:,}"] for row in found["top"]]
        lines += ["", *table_lines([["word", "count", "texts"], *top])]
    left = [[f">= {row['min_df']}", f"{row['words']:,}", f"{row['coverage']:.2%}"] for row in found["cut_offs"]]
    lines += ["", *table_lines([["in texts", "words left", "of tokens"], *left])]
    other = found["other"]
    if other:
        sizes = f"{other['texts']:,} texts, {other['tokens']:,} tokens, {other['types']:,} different"
        known = f"{other['coverage']:.2%} of the tokens, {other['known_types']:,} of the different words"
        lines += ["", f"{other['source']}: {sizes}", f"covered: {known}; OOV rate {other['oov_rate']:.2%}"]
        if "word_oov_rate" in other:
            shares = f"{other['word_oov_rate']:.2%} of the words, {other['oov_rate']:.2%} of the pieces"
            lines.append(f"unknown before and after {other['tokeniser']}: {shares}")
        unknown = ", ".join(f"{shown(u['word'])} ({u['count']:,})" for u in other["unknown"])
        lines += [f"most frequent unknown: {unknown}"] if unknown else []
    return lines
