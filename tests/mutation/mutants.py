"""Mutants of a module: its source with one thing changed that some test ought to notice."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from dataclasses import dataclass

Change = Callable[[ast.AST], ast.AST | None]

_COMPARED: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
}
_CALCULATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.BitOr: ast.BitAnd,
    ast.BitAnd: ast.BitOr,
}
_CALLED = {"any": "all", "all": "any", "min": "max", "max": "min"}
_TEXT_METHODS = ("lower", "strip", "rstrip", "lstrip", "removeprefix", "replace")
_TYPES = ("Literal", "tuple", "dict", "list")
_RETURNED = ("None", "True", "False")


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """One change."""

    node: int
    """Place of the changed node in a walk of the tree."""
    line: int
    kind: str
    what: str
    change: Change


def mutants(source: str) -> list[Mutant]:
    """All mutants of a module, in the order of its tree."""
    tree = ast.parse(source)
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    return [
        Mutant(node=place, line=getattr(node, "lineno", 0), kind=kind, what=what, change=change)
        for place, node in enumerate(ast.walk(tree))
        if _counts(node, parents)
        for kind, what, change in _changes(node)
    ]


def mutated(source: str, mutant: Mutant) -> str:
    """The source of a mutant."""
    tree = ast.parse(source)
    target = list(ast.walk(tree))[mutant.node]
    new = mutant.change(target)
    if new is not None:

        class Put(ast.NodeTransformer):
            def visit(self, node: ast.AST) -> ast.AST:
                return ast.copy_location(new, node) if node is target else self.generic_visit(node)

        tree = Put().visit(tree)
    ast.fix_missing_locations(tree)
    return ast.unparse(tree)


def _counts(node: ast.AST, parents: dict[ast.AST, ast.AST]) -> bool:
    """Whether a change here could be noticed: not in annotations and other types, docstrings, imports and messages."""
    child = node
    while child in parents:
        parent = parents[child]
        if isinstance(parent, ast.Import | ast.ImportFrom | ast.JoinedStr):
            return False
        if isinstance(parent, ast.Expr) and isinstance(child, ast.Constant):
            return False
        if child is getattr(parent, "annotation", None) or child is getattr(parent, "returns", None):
            return False
        if child in getattr(parent, "decorator_list", ()) or child in getattr(parent, "bases", ()):
            return False
        if isinstance(parent, ast.If) and isinstance(parent.test, ast.Name) and parent.test.id == "TYPE_CHECKING":
            return False
        if isinstance(parent, ast.AnnAssign) and isinstance(parents[parent], ast.ClassDef):
            return False  # a default of a dataclass is in its `__init__`, which is made by the decorator
        if isinstance(parent, ast.Subscript) and isinstance(parent.value, ast.Name) and parent.value.id in _TYPES:
            return False
        child = parent
    return True


def _changes(node: ast.AST) -> Iterator[tuple[str, str, Change]]:
    match node:
        case ast.Compare():
            for place, operator in enumerate(node.ops):
                for new in _COMPARED[type(operator)]:
                    yield "compare", f"{type(operator).__name__} -> {new.__name__}", _set_item("ops", place, new())
        case ast.BoolOp():
            other = ast.Or if isinstance(node.op, ast.And) else ast.And
            yield "and/or", f"-> {other.__name__}", _set("op", other())
            for place, value in enumerate(node.values):
                yield "operand", f"without {ast.unparse(value)[:60]}", _without(place)
        case ast.UnaryOp(op=ast.Not() | ast.USub()):
            yield "unary", "without it", lambda node: node.operand  # type: ignore[attr-defined]
        case ast.BinOp() if type(node.op) in _CALCULATED:
            yield "arithmetic", f"-> {_CALCULATED[type(node.op)].__name__}", _set("op", _CALCULATED[type(node.op)]())
        case ast.Constant(value=bool(value)):
            yield "constant", f"{value} -> {not value}", _set("value", not value)
        case ast.Constant(value=int(value)):
            for step in (1, -1):
                yield "constant", f"{value} -> {value + step}", _set("value", value + step)
        case ast.Constant(value=str(value)) if value and " " not in value and len(value) <= 32:  # else it is a message
            yield "constant", f"{value!r} -> {value + 'XX'!r}", _set("value", value + "XX")
        case ast.Return(value=ast.expr()):
            for text in _RETURNED:
                if ast.unparse(node.value) != text:
                    yield "return", f"return {text}", _set("value", ast.parse(text, mode="eval").body)
        case ast.If() | ast.IfExp() | ast.While():
            for value in (True, False) if not isinstance(node, ast.While) else (False,):
                yield "condition", f"if {value}", _set("test", ast.Constant(value))
        case ast.comprehension():
            for place in range(len(node.ifs)):
                yield "condition", f"without if {ast.unparse(node.ifs[place])[:60]}", _del_item("ifs", place)
        case ast.Raise() | ast.Continue() | ast.Break() | ast.AugAssign():
            yield "statement", f"without {ast.unparse(node)[:60]}", lambda _: ast.Pass()
        case ast.Expr(value=ast.Call() | ast.Yield() | ast.YieldFrom()):
            yield "statement", f"without {ast.unparse(node)[:60]}", lambda _: ast.Pass()
        case ast.Call(func=ast.Name(id=name)) if name in _CALLED:
            yield "call", f"{name} -> {_CALLED[name]}", _set("func", ast.Name(_CALLED[name], ast.Load()))
        case ast.Call(func=ast.Attribute(attr=name)) if name in _TEXT_METHODS:
            yield "call", f"without .{name}()", lambda node: node.func.value  # type: ignore[attr-defined]


def _set(name: str, value: object) -> Change:
    return lambda node: setattr(node, name, value)


def _set_item(name: str, place: int, value: object) -> Change:
    return lambda node: getattr(node, name).__setitem__(place, value)


def _del_item(name: str, place: int) -> Change:
    return lambda node: getattr(node, name).__delitem__(place)


def _without(place: int) -> Change:
    def change(node: ast.AST) -> ast.AST | None:
        values: list[ast.expr] = node.values  # type: ignore[attr-defined]
        del values[place]
        return values[0] if len(values) == 1 else None

    return change
