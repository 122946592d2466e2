"""Functions of one column in a formula: a tree becomes a column's name and the steps of a transform, or nothing."""

from ..errors import ParameterError
from ..feature_map.transforms import FUNCTION_NAMES, Arithmetic, Function, Power, Spline, Standardize, Transform
from .syntax import Call, Listed, Name, Node, Number, Operation, Sum

Chain = tuple[str, Transform]

_STANDARDIZE = ("scale", "standardize")
_SPLINES = ("bs", "ns", "cr", "cc")
_FROM_DATA = ("rank", "cut", "ntile", "factor", "as.factor", "relevel")


def chain_of(node: Node) -> Chain | None:
    """Return the column that an expression is of, and what becomes of it; None where it is of no one column."""
    match node:
        case Name(name):
            return name, ()
        case Call(function="I" | "", arguments=(inner,), named=()):
            return chain_of(inner)
        case Call(function=function, arguments=(inner,), named=()) if function in FUNCTION_NAMES:
            return _then(inner, Function(function))
        case Call(function=function) if function in _STANDARDIZE:
            return _standardized(node)
        case Sum() | Operation():
            return _calculated(node)
    return None


def spline_of(call: Call) -> Chain:
    """Return the column of ``bs(COLUMN, knots=[...], degree=3)`` and its spline."""
    named = dict(call.named)
    chain = chain_of(call.arguments[0]) if len(call.arguments) == 1 else None
    listed = named.get("knots")
    knots = [value_of(item) for item in listed.items] if isinstance(listed, Listed) else [None]
    degree = value_of(named["degree"]) if "degree" in named else 3.0
    wrong = set(named) - {"knots", "degree"} or len(named) < len(call.named)
    if call.function != "bs" or wrong or chain is None or None in knots or degree is None or not degree.is_integer():
        raise ParameterError(
            f"the formula has {call.text!r}; write bs(COLUMN, knots=[...], degree=3) with knots of public knowledge, "
            "since knots that are chosen by the data reveal something about its rows."
        )
    return chain[0], (*chain[1], Spline([knot for knot in knots if knot is not None], int(degree)))


def is_spline(node: Node) -> bool:
    """Return whether a tree is a call of a spline, of whatever kind."""
    return isinstance(node, Call) and node.function in _SPLINES


def refusal_of(call: Call) -> ParameterError | None:
    """Return why a call of a function that many know is refused here, if it is one."""
    if call.function in _STANDARDIZE:
        return ParameterError(
            f"the formula has {call.text!r}; means and deviations of the data reveal something about its rows, so "
            f"write {call.function}(COLUMN, center=40, scale=10) with numbers of public knowledge."
        )
    if call.function in ("center", "centre"):
        return ParameterError(
            f"the formula has {call.text!r}; the mean of the data reveals something about its rows, so write "
            "I(COLUMN - 40) with a number of public knowledge."
        )
    if call.function == "offset":
        return ParameterError(
            f"the formula has {call.text!r}, but a formula has no offsets. A count has exposure=... and "
            "exposure_range=(low, high) beside the formula (--exposure), whose logarithm is its offset."
        )
    if call.function in _FROM_DATA:
        return ParameterError(
            f"the formula has {call.text!r}, which is computed from the data; write C(COLUMN, levels=[...], ref=...) "
            "for categories, and bs(COLUMN, knots=[...]) for pieces."
        )
    return None


def value_of(node: Node) -> float | None:
    """Return a number that is written with a sign, as a fraction or in parentheses; None for anything else."""
    match node:
        case Number(digits):
            return float(digits)
        case Sum(parts=((sign, inner),)):
            value = value_of(inner)
            return value if value is None or sign == "+" else -value
        case Call(function="", arguments=(inner,)):
            return value_of(inner)
        case Operation(sign="/", left=left, right=right):
            above, below = value_of(left), value_of(right)
            return None if above is None or not below else above / below
    return None


def _calculated(node: Sum | Operation) -> Chain | None:
    """Return a column with a number that is added, subtracted, multiplied or divided by, or its power."""
    match node:
        case Sum(parts=(("-", inner),)):
            return _then(inner, Arithmetic("*", -1.0))
        case Sum(parts=(("+", left), (sign, right))):
            first, second = value_of(left), value_of(right)
            if second is not None:
                return _then(left, Arithmetic(sign, second))
            if first is not None and sign == "+":
                return _then(right, Arithmetic("+", first))
            return None if first is None else _then(right, Arithmetic("*", -1.0), Arithmetic("+", first))
        case Operation(sign="**", left=base, right=exponent):
            power = value_of(exponent)
            return None if power is None else _then(base, Power(power))
        case Operation(sign="*" | "/" as sign, left=left, right=right):
            first, second = value_of(left), value_of(right)
            if second is not None:
                return _then(left, Arithmetic(sign, second))
            if first is not None:
                over = (Power(-1.0),) if sign == "/" else ()
                return _then(right, *over, *(() if first == 1.0 else (Arithmetic("*", first),)))
    return None


def _standardized(call: Call) -> Chain | None:
    words = {"center": "centre", "centre": "centre", "scale": "scale"}
    named = {words.get(name, name): value_of(node) for name, node in call.named}
    centre, scale = named.get("centre"), named.get("scale")
    twice = len(named) < len(call.named)
    if len(call.arguments) != 1 or twice or set(named) != {"centre", "scale"} or centre is None or scale is None:
        return None
    return _then(call.arguments[0], *Standardize(centre, scale).steps)


def _then(inner: Node, *steps: Function | Arithmetic | Power) -> Chain | None:
    found = chain_of(inner)
    return None if found is None else (found[0], (*found[1], *steps))
