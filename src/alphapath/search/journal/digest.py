"""Digests of data and parameters that are the same in every process and on every run.

A digest covers content: the bytes of arrays, the code of functions with all that the code reaches
(closures, defaults, globals), the class and the state of objects. What comes with an installed
package counts by its name and the version of the package. Neither addresses nor the places of files
and lines count, so that a file may be moved and a comment be added.
"""

from __future__ import annotations

import copyreg
import dis
import enum
import functools
import hashlib
import importlib.util
import logging
import operator
import sys
import threading
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from ...errors import JournalError

#: Types whose repr says all.
PLAIN = (type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented))

#: Of these one is like another.
STATELESS = (type(threading.Lock()), type(threading.RLock()), threading.Event, threading.Condition)

#: Functions of C that belong to a class.
SLOTS = (
    types.WrapperDescriptorType,
    types.MethodDescriptorType,
    types.ClassMethodDescriptorType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
)

#: Attributes of a class that say nothing about what it does.
UNTOLD = frozenset(
    {
        "__module__",
        "__qualname__",
        "__doc__",
        "__dict__",
        "__weakref__",
        "__annotations__",
        "__annotate__",
        "__annotate_func__",
        "__annotations_cache__",
        "__firstlineno__",
        "__static_attributes__",
        "__abstractmethods__",
        "_abc_impl",
    }
)

#: Folders of installed packages.
INSTALLED = frozenset({"site-packages", "dist-packages"})

#: Instructions that read a global name.
READS_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
#: Instructions that take an attribute of what was read last.
READS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


def digest(*values: Any) -> str:
    """32 hexadecimal digits that depend on the content of `values` alone.

    Arrays (dense or sparse) count with dtype, shape and every byte, containers with their items,
    functions with their code, estimators with their class and parameters, other objects with their
    class and what they would be pickled by. An object without such content (an open file, a
    generator) is a JournalError.

    Examples
    --------
    >>> digest([1, 2.0]) == digest([1, 2.0]) != digest([1, 2])
    True
    >>> digest(lambda a: a + 1) == digest(lambda b: b + 1) != digest(lambda a: a + 2)
    False
    """
    return _Reader().read_all(values)


def fingerprint(X: Any, y: Any) -> dict[str, Any]:
    """By what the data of a search are known again: their shape, and the targets in any container.

    Examples
    --------
    >>> fingerprint([[1.0], [2.0]], [0, 1]) == fingerprint(np.eye(2)[:, :1], np.array([0.0, 1.0]))
    True
    """
    shape = X.shape if hasattr(X, "shape") else np.shape(np.asarray(X, dtype=object))
    known: dict[str, Any] = {"rows": int(shape[0])}
    if len(shape) > 1:
        known["features"] = int(shape[1])
    if y is not None:
        values = np.asarray(y).ravel()
        is_number = values.dtype.kind in "biuf"
        known["targets"] = digest(values.astype(np.float64 if is_number else str))
    return known


class _Reader:
    """Reads one value after the other into one digest."""

    def __init__(self) -> None:
        self._state = hashlib.blake2b(digest_size=16)
        #: Where a value is, from the outside in, for the sentence of an error.
        self._place: list[str] = []
        #: Containers and objects that are being read, by identity: one that holds itself ends here.
        self._open: dict[int, int] = {}
        #: Functions and classes that were read; they are kept, so that no identity comes again.
        self._read: dict[int, tuple[int, Any]] = {}
        #: Names of modules whose source was read.
        self._sources: set[str] = set()
        #: Whether values are used as they are: estimators among parameters are cloned instead.
        self._is_code = False

    def read_all(self, values: Iterable[Any]) -> str:
        try:
            for value in values:
                self._feed(value)
        except RecursionError:
            raise JournalError(
                f"The content of {self._where()} is nested too deeply for a digest."
            ) from None
        return self._state.hexdigest()

    # -- words

    def _tell(self, *words: Any) -> None:
        """One item with its length in front, so that no two lists of items run together."""
        text = repr(words).encode("utf-8", "surrogatepass")
        self._state.update(len(text).to_bytes(8, "little"))
        self._state.update(text)

    def _where(self) -> str:
        return ", ".join(reversed(self._place[-3:])) or "a value"

    @contextmanager
    def _at(self, place: str) -> Iterator[None]:
        self._place.append(place)
        yield
        self._place.pop()

    @contextmanager
    def _as_code(self) -> Iterator[None]:
        outer, self._is_code = self._is_code, True
        yield
        self._is_code = outer

    # -- any value

    def _feed(self, value: Any) -> None:
        if type(value) in PLAIN:
            self._tell(type(value).__name__, value)
        elif isinstance(value, np.generic):
            self._feed_number(value)
        elif isinstance(value, type):
            self._feed_definition(value, self._feed_class)
        elif isinstance(value, types.FunctionType):
            self._feed_definition(value, self._feed_function)
        elif isinstance(value, types.ModuleType):
            self._feed_definition(value, self._feed_namespace)
        elif id(value) in self._open:
            self._tell("above", len(self._open) - self._open[id(value)])
        else:
            self._open[id(value)] = len(self._open)
            self._feed_composite(value)
            del self._open[id(value)]

    def _feed_composite(self, value: Any) -> None:
        if sp.issparse(value):
            self._feed_sparse(value)
        elif isinstance(value, np.ndarray):
            self._feed_array(value)
        elif type(value) in (dict, types.MappingProxyType):
            self._feed_mapping(value)
        elif type(value) in (set, frozenset):
            self._tell("set", sorted(digest(item) for item in value))
        elif type(value) in (list, tuple, range):
            self._feed_sequence(value)
        elif isinstance(value, enum.Enum):
            self._feed(type(value))
            self._tell("member", value.name)
        elif hasattr(value, "__array__") and hasattr(value, "shape"):
            self._feed_frame(value)
        elif not self._is_code and is_cloned(value):
            self._feed_estimator(value)
        elif isinstance(value, STATELESS):
            self._tell("stateless", type(value).__qualname__)
        elif isinstance(value, logging.Logger):
            self._tell("logger", value.name)
        else:
            with self._as_code():
                self._feed_callable(value)

    def _feed_sequence(self, value: Sequence[Any]) -> None:
        self._tell("sequence", len(value))
        for item in value:
            self._feed(item)

    def _feed_mapping(self, value: Mapping[Any, Any]) -> None:
        self._tell("mapping", len(value))
        keys = sorted(value) if all(type(key) is str for key in value) else None
        for key in keys if keys is not None else sorted(value, key=digest):
            self._feed(key)
            with self._at(f"the value of {key!r}"):
                self._feed(value[key])

    # -- numbers and arrays

    def _feed_number(self, value: np.generic) -> None:
        item = value.item()
        if isinstance(item, np.generic):  # of extended precision, a date or a record
            self._feed_array(np.asarray(value))
        else:
            self._feed(item)

    def _feed_sparse(self, value: Any) -> None:
        rows = value.tocsr()
        self._tell("sparse", value.format, rows.shape)
        for part in (rows.data, rows.indices, rows.indptr):
            self._feed_array(part)

    def _feed_array(self, array: Any) -> None:
        if isinstance(array, np.ma.MaskedArray):
            self._tell("masked")
            self._feed_array(np.ma.getmaskarray(array))
            array = array.filled()
        array = np.asarray(array)
        if array.dtype.names is not None:  # what lies between the fields is arbitrary
            self._tell("record", array.shape, array.dtype.names)
            for name in array.dtype.names:
                self._feed_array(array[name])
        elif array.dtype.hasobject or array.dtype.kind == "T":
            self._tell("objects", array.shape)
            for item in array.ravel().tolist():
                self._feed(item)
        elif array.dtype.char in "gG":  # so are the last bytes of extended precision
            single = np.dtype("complex128" if array.dtype.char == "G" else "float64")
            self._tell("extended", array.shape)
            self._feed_array(array.astype(single))
            self._feed_array((array - array.astype(single)).astype(single))
        else:
            self._tell("array", array.dtype.str, array.shape)
            if array.size:
                self._state.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)

    def _feed_frame(self, value: Any) -> None:
        """A table or a column of pandas or polars, or another array-like."""
        self._tell("array-like", type(value).__qualname__)
        for name in ("columns", "index", "name"):
            names = getattr(value, name, None)
            is_one = names is None or callable(names) or isinstance(names, str)
            self._feed((None if callable(names) else names) if is_one else np.asarray(names))
        dtypes = getattr(value, "dtypes", None)
        if dtypes is None or not hasattr(dtypes, "__iter__"):
            dtypes = [getattr(value, "dtype", None)]
        for dtype in dtypes:
            self._tell(str(dtype), bool(getattr(dtype, "ordered", False)))
            categories = getattr(dtype, "categories", None)
            self._feed(categories if categories is None else np.asarray(categories))
        self._feed_array(np.asarray(value))

    # -- functions, classes and modules

    def _feed_definition(self, value: Any, read: Any) -> None:
        """A function, class or module, which may reach itself: by its name if a package has it."""
        if id(value) in self._read:
            self._tell("read before", self._read[id(value)][0])
            return
        self._read[id(value)] = len(self._read), value
        name = library_name(value)
        if name is not None:
            self._tell("library", *name)
            return
        kinds = {types.FunctionType: "function", types.ModuleType: "module"}
        kind = next((word for type_, word in kinds.items() if isinstance(value, type_)), "class")
        own = value.__name__ if kind == "module" else value.__qualname__
        with self._at(f"the {kind} {own!r}"), self._as_code():
            read(value)

    def _feed_function(self, function: Any) -> None:
        self._tell("function")
        self._feed_code(function.__code__)
        self._feed(function.__defaults__)
        self._feed(function.__kwdefaults__)
        self._feed_mapping(function.__dict__)
        names = function.__code__.co_freevars
        for name, cell in zip(names, function.__closure__ or (), strict=True):
            with self._at(f"the variable {name!r}"):
                self._feed_cell(cell)
        scope = function.__globals__
        reached = dict(find_global(scope, names) for names in global_names(function.__code__))
        for names, found in sorted(reached.items()):
            self._tell("global", names)
            with self._at(f"the global {'.'.join(names)!r}"):
                self._feed_sequence(found)
        for name in sorted(imported_names(function.__code__, scope.get("__package__") or "")):
            self._feed_source(name)

    def _feed_cell(self, cell: Any) -> None:
        try:
            content = cell.cell_contents
        except ValueError:
            self._tell("empty cell")
            return
        self._feed(content)

    def _feed_code(self, code: types.CodeType) -> None:
        self._tell(
            "code",
            code.co_code,
            getattr(code, "co_exceptiontable", b""),
            (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags),
            (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars),
        )
        for constant in code.co_consts:
            if isinstance(constant, types.CodeType):
                self._feed_code(constant)
            else:
                self._feed(constant)

    def _feed_class(self, value: type) -> None:
        self._tell("class", value.__name__)
        self._feed(type(value))
        self._feed_sequence(value.__bases__)
        for name, item in sorted(vars(value).items()):
            if name in UNTOLD:
                continue
            self._tell(name)
            if not isinstance(item, types.GetSetDescriptorType | types.MemberDescriptorType):
                with self._at(f"its attribute {name!r}"):
                    self._feed_attribute(item)

    def _feed_attribute(self, item: Any) -> None:
        """An attribute of a class; descriptors of Python itself are the functions they wrap."""
        self._tell(type(item).__qualname__)
        if isinstance(item, staticmethod | classmethod):
            self._feed(item.__func__)
        elif isinstance(item, property):
            self._feed_sequence((item.fget, item.fset, item.fdel))
        elif isinstance(item, functools.cached_property):
            self._feed(item.func)
        else:
            self._feed(item)

    def _feed_namespace(self, module: types.ModuleType) -> None:
        """A module of which any part may be used."""
        self._tell("module")
        for name, value in sorted(vars(module).items()):
            if not (name.startswith("__") and name.endswith("__")):
                self._tell(name)
                with self._at(f"{module.__name__}.{name}"):
                    self._feed(value)

    def _feed_source(self, name: str) -> None:
        """A module that code imports when it is called: whether that has happened is chance.

        It counts with its code and all that this imports.
        """
        self._tell("import", name)
        if is_library(name) or name in self._sources:
            return
        self._sources.add(name)
        if "." in name:
            self._feed_source(name.rpartition(".")[0])
        spec = find_source(name)
        if spec is None or spec.origin is None or not Path(spec.origin).is_file():
            return
        content = Path(spec.origin).read_bytes()
        try:
            code = compile(content, name, "exec", dont_inherit=True)
        except (SyntaxError, ValueError):  # of an extension module
            self._tell(hashlib.blake2b(content).hexdigest())
            return
        self._feed_code(code)
        is_package = spec.submodule_search_locations is not None
        for one in sorted(imported_names(code, name if is_package else name.rpartition(".")[0])):
            self._feed_source(one)

    # -- objects

    def _feed_estimator(self, value: Any) -> None:
        """What a clone keeps: neither what a fit has found nor callbacks."""
        self._feed(type(value))
        self._feed_mapping(value.get_params(deep=False))
        for name in ("_metadata_request", "_sklearn_output_config"):
            self._feed(getattr(value, name, None))

    def _feed_callable(self, value: Any) -> None:
        name = library_name(value)
        if name is not None:
            self._tell("library", *name)
        elif isinstance(value, types.MethodType):
            self._tell("method")
            self._feed_sequence((value.__func__, value.__self__))
        elif isinstance(value, SLOTS):
            self._tell("slot", value.__name__)
            self._feed(value.__objclass__)
        elif isinstance(value, types.BuiltinFunctionType | types.MethodWrapperType):
            self._tell("builtin", value.__name__)
            self._feed(value.__self__)
        elif isinstance(value, functools.partial):
            self._tell("partial")
            self._feed_sequence((value.func, value.args, value.keywords, vars(value)))
        elif (wrapped := wrapped_function(value)) is not None:
            self._tell("wrapped", type(value).__qualname__)
            self._feed(wrapped)
        else:
            self._feed_object(value)

    def _feed_object(self, value: Any) -> None:
        """An object by what pickle would make it from, of which nothing is pickled."""
        try:
            reduce = copyreg.dispatch_table.get(type(value))
            made_by: Any = value.__reduce_ex__(4) if reduce is None else reduce(value)
        except RecursionError:
            raise
        except Exception:
            made_by = None
        module = getattr(value, "__module__", None)
        if isinstance(made_by, str) and isinstance(module, str) and is_library(module):
            self._tell("library", module, made_by, version_of(module))
            return
        if made_by is None or isinstance(made_by, str):
            raise JournalError(
                f"{self._where()} is an object of type {type(value).__qualname__!r}, whose content "
                f"cannot be told from that of another, since it has none that pickle could save."
            )
        self._tell("object", type(value).__qualname__)
        with self._at(f"the state of {type(value).__qualname__!r}"):
            maker, state = made_by[:2], made_by[2:3]
            items, pairs = (made_by[k] if len(made_by) > k else None for k in (3, 4))
            self._feed_sequence((*maker, *(state or (None,))))
            self._feed_sequence(list(items or ()))
            self._feed_mapping(dict(pairs or ()))


def digest_facts(facts: Mapping[str, Sequence[Any]]) -> dict[str, str]:
    """The digests of what a search depends on, by name."""
    found = {}
    for name, values in facts.items():
        try:
            found[name] = digest(*values)
        except JournalError as error:
            raise JournalError(
                f"No journal can be kept of this search. Of its {name}: {error}"
            ) from None
    return found


def is_cloned(value: Any) -> bool:
    """Whether a search makes new estimators of this one, and uses nothing that it was fitted to."""
    clone = getattr(type(value), "__sklearn_clone__", None)
    is_usual = clone is None or getattr(clone, "__module__", "").startswith("sklearn.base")
    return hasattr(value, "get_params") and is_usual


def wrapped_function(value: Any) -> Any:
    """The function that was compiled, or whose results are kept, in an object of another type."""
    found = [getattr(value, name, None) for name in ("py_func", "__wrapped__")]
    return next((one for one in found if isinstance(one, types.FunctionType)), None)


def codes_of(code: types.CodeType) -> Iterator[types.CodeType]:
    """The code and that of the functions inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_of(constant)


def global_names(code: types.CodeType) -> set[tuple[str, ...]]:
    """The names that the code may look up outside itself, each with the attributes it then takes.

    Examples
    --------
    >>> sorted(global_names(compile("lambda x: a.b.c(x) + a.b + d", "", "eval")))
    [('a', 'b'), ('a', 'b', 'c'), ('d',)]
    """
    found: set[tuple[str, ...]] = set()
    for one in codes_of(code):
        names: tuple[str, ...] = ()
        for instruction in dis.get_instructions(one):
            if instruction.opname == "EXTENDED_ARG":  # a part of the next one
                continue
            if names and instruction.opname in READS_ATTRIBUTE:
                names = (*names, instruction.argval)
                continue
            found.add(names)
            names = (instruction.argval,) if instruction.opname in READS_GLOBAL else ()
    return found - {()}


def imported_names(code: types.CodeType, package: str) -> set[str]:
    """The modules that the code of a module in `package` imports as it runs, by full names.

    What is taken out of a module may be one too.
    """
    found: set[str] = set()
    for one in codes_of(code):
        instructions = [each for each in dis.get_instructions(one) if each.opname != "EXTENDED_ARG"]
        for k, instruction in enumerate(instructions):
            if instruction.opname != "IMPORT_NAME":
                continue
            before = [each.argval for each in instructions[max(0, k - 2) : k]]
            level = next((given for given in before if isinstance(given, int)), 0)
            names = next((given for given in before if isinstance(given, tuple)), ())
            parents = package.split(".")[: len(package.split(".")) - level + 1] if level else []
            module = ".".join([*parents, *([instruction.argval] if instruction.argval else [])])
            found |= {module, *(f"{module}.{name}" for name in names if name != "*")}
    return found - {""}


def find_global(
    scope: Mapping[str, Any], names: tuple[str, ...]
) -> tuple[tuple[str, ...], tuple[Any, ...]]:
    """The part of `names` that leads through modules, and what is there; nothing if nothing is.

    A module of a package stands for all that it has of its own.
    """
    if names[0] not in scope:
        return names[:1], ()
    value = scope[names[0]]
    for k, name in enumerate(names[1:], start=1):
        found = getattr(value, name, None)
        if not isinstance(value, types.ModuleType) or found is None:
            return names[:k], (value,)
        is_own = not isinstance(found, types.ModuleType) and not is_replaced(found)
        if is_library(value.__name__) and is_own:
            return names[:k], (value,)
        value = found
    return names, (value,)


def find_source(name: str) -> ModuleSpec | None:
    """Where a module is, found without importing anything; None if it is nowhere."""
    top, *others = name.split(".")
    try:
        spec = importlib.util.find_spec(top)
        for other in others:
            if spec is None or spec.submodule_search_locations is None:
                return None
            top = f"{top}.{other}"
            spec = PathFinder.find_spec(top, spec.submodule_search_locations)
    except (ImportError, ValueError, AttributeError):
        return None
    return spec


def is_replaced(value: Any) -> bool:
    """Whether a function or class is of no installed package, wherever it stands."""
    module = getattr(value, "__module__", None)
    is_definition = isinstance(value, types.FunctionType | type)
    return is_definition and isinstance(module, str) and not is_library(module)


def library_name(value: Any) -> tuple[str, str, str] | None:
    """(module, name, version) of what an installed package has under its own name, else None."""
    if isinstance(value, types.ModuleType):
        own = value.__name__
        return (own, "", version_of(own)) if is_library(own) else None
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if isinstance(value, np.ufunc):  # not all of them know where they are from
        name = value.__name__
        module = "scipy.special" if getattr(np, name, None) is not value else "numpy"
    if not isinstance(module, str) or not isinstance(name, str) or not is_library(module):
        return None
    try:
        found = operator.attrgetter(name)(sys.modules[module])
    except (KeyError, AttributeError):
        return None
    return (module, name, version_of(module)) if found is value else None


@functools.cache
def is_library(module: str) -> bool:
    """Whether the module is part of Python, of this library or of an installed package."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top == __name__.partition(".")[0]:
        return True
    try:
        spec = importlib.util.find_spec(top)
    except ValueError:  # a script, or a module that was made by hand
        return False
    if spec is None:
        return False
    places = [spec.origin] if spec.has_location else [*(spec.submodule_search_locations or ())]
    return any(INSTALLED & {*Path(place).parts} for place in places if place is not None)


def version_of(module: str) -> str:
    """The version of the package that a module belongs to; empty for Python's own."""
    version = getattr(sys.modules.get(module.partition(".")[0]), "__version__", "")
    return version if isinstance(version, str) else ""
