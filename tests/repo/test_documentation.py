"""Modules and public functions say what they are for; tests wait for conditions, not for time."""

import ast
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def undocumented(tree: ast.Module, known: Mapping[str, ast.ClassDef] = MappingProxyType({})) -> Iterator[str]:
    """Public functions, classes and methods without a docstring; a property of a protocol may be silent.

    So may a method that a base class documents, as for ``help``; ``known`` are the classes by name.
    """
    owners: list[tuple[str, list[ast.stmt], set[str]]] = [("", tree.body, set())]
    while owners:
        prefix, body, inherited = owners.pop()
        for node in body:
            if not isinstance(node, Definition) or node.name.startswith("_"):
                continue
            if ast.get_docstring(node) is None and not _declaration(node) and node.name not in inherited:
                yield f"{prefix}{node.name} (line {node.lineno})"
            if isinstance(node, ast.ClassDef):
                owners.append((f"{prefix}{node.name}.", node.body, _inherited(node, known)))


def _inherited(node: ast.ClassDef, known: Mapping[str, ast.ClassDef]) -> set[str]:
    """The methods that a class's bases document, and theirs."""
    bases = [known[base.id] for base in node.bases if isinstance(base, ast.Name) and base.id in known]
    methods = (one for base in bases for one in base.body if isinstance(one, ast.FunctionDef))
    own = {one.name for one in methods if ast.get_docstring(one) is not None}
    return own.union(*(_inherited(base, known) for base in bases if base.name != node.name))


def _declaration(node: Definition) -> bool:
    """Whether the body is ``...``, or the function only fills a contract documented elsewhere.

    The model of a step or a condition, above its function, is such a contract.
    """
    if isinstance(node, ast.ClassDef):
        return False
    only = node.body[0] if len(node.body) == 1 else None
    ellipsis = isinstance(only, ast.Expr) and isinstance(only.value, ast.Constant) and only.value.value is ...
    named = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    decorators = {d.id if isinstance(d, ast.Name) else getattr(d, "attr", "") for d in named}
    return ellipsis or bool(decorators & {"override", "overload", "setter", "step", "condition", "beginning"})


def test_every_module_says_what_it_is_for(root: Path, files: list[Path]) -> None:
    silent = [
        str(path.relative_to(root))
        for path in files
        if path.suffix == ".py" and path.read_text().strip()
        if ast.get_docstring(ast.parse(path.read_text())) is None
    ]
    assert silent == []


def test_every_public_function_is_documented(root: Path, modules: list[Path]) -> None:
    trees = {path: ast.parse(path.read_text()) for path in modules}
    known = {one.name: one for tree in trees.values() for one in tree.body if isinstance(one, ast.ClassDef)}
    silent = [
        f"{path.relative_to(root)}: {name}"
        for path, tree in trees.items()
        for name in undocumented(tree, known)
    ]
    assert not silent, "\n".join(silent)


def test_a_silent_function_is_seen() -> None:
    tree = ast.parse("class A:\n    'x'\n    def b(self): return 1\n    def _c(self): return 2")
    assert list(undocumented(tree)) == ["A.b (line 3)"]


def test_a_method_may_be_silent_only_where_a_base_class_documents_it() -> None:
    base = ast.parse("class A:\n    'x'\n    def b(self):\n        'y'\n        return 1")
    tree = ast.parse("class B(A):\n    'x'\n    def b(self): return 2\n    def c(self): return 3")
    assert list(undocumented(tree, {"A": base.body[0]})) == ["B.c (line 4)"]


def sleeps(tree: ast.Module) -> list[int]:
    """Lines that call ``time.sleep`` under either of its names."""
    return [
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        if ast.unparse(node.func) in {"time.sleep", "sleep"}
    ]


def test_no_test_waits_for_time(root: Path, files: list[Path]) -> None:
    found = [
        f"{path.relative_to(root)}:{line}"
        for path in files
        if path.suffix == ".py" and path.relative_to(root).parts[0] == "tests"
        for line in sleeps(ast.parse(path.read_text()))
    ]
    assert found == []


def test_a_sleeping_test_is_seen() -> None:
    assert sleeps(ast.parse("import time\nfrom time import sleep\ntime.sleep(1)\nsleep(2)")) == [3, 4]
