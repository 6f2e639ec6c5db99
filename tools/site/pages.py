"""Hooks of MkDocs: the pages that docs/ does not have, and the navigation.

The home page is the README. CONTRIBUTING, CHANGELOG and benchmarks/README.md become pages, and docs/README.md the list of
contents. Each part of that list is a part of the navigation, so that a page is listed in one place. A page that is not
listed is put under "More".
The API reference has one page a package, with the names of its ``__all__``.
"""

import ast
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[1]))
from tidy import tidy  # noqa: E402

import notebooks  # noqa: E402

ROOT = Path(__file__).parents[2]
PACKAGES = ("linnet", "linnet.models", "linnet.features", "linnet.solvers", "linnet.datasets", "linnet.evaluate")
PARTS = re.compile(r"^\*\*(.+?)\.?\*\*(.*?)(?=^\*\*|\Z)", re.MULTILINE | re.DOTALL)
LINKS = re.compile(r"\[([^\]]+)\]\(([^)#]+\.md)\)")
OUTSIDE = {
    "docs/README.md": "contents.md",
    "benchmarks/README.md": "benchmarks.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
}


def from_root(name: str) -> str:
    """Return a page of the root of the repository, with its links as they are seen from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for path, page in OUTSIDE.items():
        text = text.replace(f"]({path})", f"]({page})")
    return text.replace("](docs/", "](")


def public_names(package: str) -> list[str]:
    """Return ``__all__`` of a package without importing it."""
    path = ROOT / "src" / package.replace(".", "/") / "__init__.py"
    if path.with_suffix(".pyi").exists():  # names that are imported when they are used
        lines = path.with_suffix(".pyi").read_text(encoding="utf-8").splitlines()
        return sorted(
            line.split()[3] for line in lines if " as " in line and not line.startswith(f"from {package} import")
        )
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "__all__":
            return [name for name in ast.literal_eval(node.value) if not name.startswith("_")]
    raise ValueError(f"{package} has no __all__")


def reference(package: str) -> str:
    """Return the page of a package, which mkdocstrings fills."""
    names = "".join(f"\n        - {name}" for name in public_names(package))
    return f"# {package}\n\n::: {package}\n    options:\n      members:{names}\n"


def navigation(contents: str, pages: list[str]) -> list[Any]:
    """Return the navigation: the parts of docs/README.md, then the reference and the pages that it does not list."""
    nav: list[Any] = [{"Home": ["index.md", {"Contents": "contents.md"}]}]
    listed = {"index.md", *OUTSIDE.values()}
    for title, body in PARTS.findall(contents):
        part: list[Any] = []
        for name, path in LINKS.findall(body):
            inside = [
                page for page in pages if path.endswith("/README.md") and page.startswith(path[: -len("README.md")])
            ]
            part.append({" ".join(name.split()): [path, *sorted(set(inside) - {path})] if inside else path})
            listed |= {path, *inside}
        nav.append({title: part})
    nav.append({"API": [{package: f"api/{package}.md"} for package in PACKAGES]})
    more = sorted(page for page in pages if page not in listed and not page.startswith("api/"))
    own = [{"Benchmarks": "benchmarks.md"}, {"Contributing": "contributing.md"}, {"Changes": "changelog.md"}]
    nav.append({"More": [*own, *more]})
    return nav


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages, and write the navigation."""
    contents = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    files.remove(files.src_uris["README.md"])
    generated = {"index.md": from_root("README.md"), "contents.md": contents}
    generated |= {page: from_root(name) for name, page in OUTSIDE.items() if page not in generated}
    generated |= {f"api/{package}.md": reference(package) for package in PACKAGES}
    generated["assets/iframe-worker.js"] = (Path(__file__).parent / "iframe-worker.js").read_text(encoding="utf-8")
    generated |= {f"notes/notebooks/{name}": content for name, content in notebooks.notebooks().items()}
    for name, content in generated.items():
        files.append(File.generated(config, name, content=content))
    config.nav = navigation(contents, [file.src_uri for file in files.documentation_pages()])
    return files


def on_page_markdown(markdown: str, page: Any, **kwargs: Any) -> str:
    """Change what Python-Markdown would misread; link the lectures to their notebooks."""
    name = Path(page.file.src_uri).stem
    if page.file.src_uri == f"notes/{name}.md" and name in notebooks.LECTURES:
        markdown += f"\n\n[This page as a notebook](notebooks/{name}.ipynb)\n"
    return tidy(markdown)
