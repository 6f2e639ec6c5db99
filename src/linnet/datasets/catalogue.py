"""Data sets that have a name here: where the hub has them, where a local mirror has them, what to mind.

A new data set is one row. Whatever is on the hub can also be named by its owner and name: ``hub:owner/name``.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

__all__ = ["CATALOGUE", "DatasetFiles", "CatalogueEntry"]


@dataclass(frozen=True)
class DatasetFiles:
    """The files of a data set by part (train, dev, test), its licence, and notes on it."""

    files: dict[str, Path]
    licence: str | None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class CatalogueEntry:
    """repo: owner/name on the hub (None: not there). config: which of its tables. text: columns, put behind one another.

    mirror: its folder under LINNET_DATA. licence: where neither the hub nor a file tells.
    """

    name: str
    about: str
    repo: str | None = None
    config: str | None = None
    text: tuple[str, ...] = ("text",)
    label: str = "label"
    mirror: str | None = None
    licence: str | None = None

    @property
    def folder(self) -> str:
        """The folder of a local mirror."""
        return self.mirror or self.name


CATALOGUE: dict[str, CatalogueEntry] = {
    entry.name: entry
    for entry in (
        CatalogueEntry("ag_news", "news by topic, 4 classes", "fancyzhx/ag_news"),
        CatalogueEntry("dbpedia_14", "articles by kind of thing, 14 classes", "fancyzhx/dbpedia_14", text=("title", "content"),
              mirror="dbpedia14_subset"),
        CatalogueEntry("yahoo_answers", "questions by topic, 10 classes", "community-datasets/yahoo_answers_topics",
              text=("question_title", "question_content", "best_answer"), label="topic"),
        CatalogueEntry("imdb", "film reviews, 2 classes, the same films never in train and test", "stanfordnlp/imdb"),
        CatalogueEntry("yelp_full", "reviews by stars, 5 classes", "Yelp/yelp_review_full", mirror="yelp_subset"),
        CatalogueEntry("yelp_polarity", "reviews, 2 classes", "fancyzhx/yelp_polarity"),
        CatalogueEntry("amazon_polarity", "reviews, 2 classes", "fancyzhx/amazon_polarity", text=("title", "content")),
        CatalogueEntry("rt_polarity", "sentences of film reviews, 2 classes (RT-s)", "cornell-movie-review-data/rotten_tomatoes"),
        CatalogueEntry("mpqa", "phrases of news, 2 classes; not on the hub", licence="see its makers"),
        CatalogueEntry("movie_reviews", "film reviews of Pang and Lee, 2 classes; not on the hub", licence="see its makers"),
        CatalogueEntry("20newsgroups", "posts by group, 20 classes", "SetFit/20_newsgroups", label="label_text"),
        CatalogueEntry("trec", "questions by kind of answer, 6 classes", "CogComp/trec", label="coarse_label"),
        CatalogueEntry("sms_spam", "text messages, ham or spam", "ucirvine/sms_spam", text=("sms",)),
        CatalogueEntry("clinc150", "requests by intent, 150 classes", "clinc/clinc_oos", config="small", label="intent"),
    )
}  # fmt: skip
