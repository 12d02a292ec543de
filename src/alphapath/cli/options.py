"""Options that commands share, in LIBSVM's letters, and the models they describe."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import Any

from sklearn.model_selection import KFold, StratifiedKFold

from .. import kernels
from ..estimators.common.declaration import models_by_command
from ..kernels.base import libsvm_kernels
from .files.data import targets_of
from .files.scaling import SCALES
from .files.text import input_file
from .numbers import non_negative, number, positive, seconds, share, size, whole, workers

#: Those that are functions of features.
KERNELS = {
    str(theirs.number): ours
    for ours, theirs in libsvm_kernels().items()
    if kernels.KERNELS[ours].has_native_form()
}

#: C = 2^-5, 2^-3, ..., 2^15 and gamma = 2^-15, 2^-13, ..., 2^3 (A Practical Guide to Support Vector
#: Classification, Hsu, Chang and Lin, section 3.2).
LOG2_C, LOG2_GAMMA = (-5.0, 15.0, 2.0), (-15.0, 3.0, 2.0)


def add_data(parser: argparse.ArgumentParser, scale: bool = True) -> None:
    """Add FILE and how to read it."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "file",
        nargs="?",
        type=input_file,
        metavar="FILE",
        help="LIBSVM or CSV file, also .gz or .bz2, or - for the standard input (default: a data "
        "set of scikit-learn)",
    )
    add_columns(group, "the target column of a CSV file")
    if scale:
        group.add_argument(
            "--scale",
            choices=SCALES,
            help="scale features by the training rows: to [-1, 1], or to mean 0 and deviation 1 "
            "(default: none; standard for the embedded data)",
        )


def add_columns(group: Any, words: str) -> None:
    """Add the options for the columns of a CSV file."""
    group.add_argument(
        "--target", metavar="NAME", help=f"{words} (its number, starting at 1, with --no-header)"
    )
    group.add_argument(
        "--no-header",
        dest="has_header",
        action="store_false",
        help="the CSV file has no line with the names of the columns",
    )


def model_kinds(*, ability: str | None = None, is_supervised: bool = False) -> dict[str, str]:
    """The values of -s by LIBSVM's numbers.

    `ability`: of models that have it alone; `is_supervised`: of those with targets alone.
    """
    return {
        str(model._declaration.libsvm.number): name
        for name, model in models_by_command().items()
        if (ability is None or ability in model._declaration.abilities)
        and not (is_supervised and model._declaration.targets == "ignored")
    }


def add_model(
    parser: argparse.ArgumentParser, *, ability: str | None = None, is_supervised: bool = False
) -> None:
    """The SVM, without C and gamma; `ability` and `is_supervised` as in `model_kinds`."""
    kinds = model_kinds(ability=ability, is_supervised=is_supervised)
    group = parser.add_argument_group("model")
    group.add_argument(
        "-s",
        dest="kind",
        type=choice(kinds),
        default="c-svc",
        metavar="TYPE",
        help=f"{listing(kinds)} (default c-svc)",
    )
    group.add_argument(
        "-t",
        dest="kernel",
        type=choice(KERNELS),
        default="rbf",
        metavar="KERNEL",
        help=f"{listing(KERNELS)} (default rbf)",
    )
    add_kernel_numbers(group)
    group.add_argument(
        "-p",
        dest="epsilon",
        type=non_negative,
        default=0.1,
        help="half-width of the tube of epsilon-svr (default 0.1)",
    )
    if any("nu" in parameters_of_model(kind) for kind in kinds.values()):
        group.add_argument(
            "-n", dest="nu", type=share, default=0.5, help="nu of one-class (default 0.5)"
        )
    group.add_argument(
        "-e", dest="tol", type=positive, default=1e-3, help="tolerance (default 0.001)"
    )


def add_kernel_numbers(group: Any) -> None:
    """Add the parameters of poly and sigmoid other than gamma."""
    group.add_argument(
        "-d", dest="degree", type=whole(0), default=3, help="degree of poly (default 3)"
    )
    group.add_argument(
        "-r",
        dest="coef0",
        type=number,
        default=0.0,
        help="constant of poly and sigmoid (default 0)",
    )


def add_c_and_gamma(parser: argparse.ArgumentParser) -> None:
    """Add one C and one gamma."""
    parser.add_argument("-c", dest="C", type=positive, default=1.0, help="C (default 1)")
    parser.add_argument(
        "-g", dest="gamma", type=positive, help="gamma (default 1 / number of features)"
    )


def add_folds(parser: argparse.ArgumentParser) -> None:
    """Add the folds of a cross-validation."""
    parser.add_argument(
        "-v", dest="folds", type=whole(2), default=5, metavar="K", help="folds (default 5)"
    )
    add_seed(parser, "seed of the shuffle before splitting")


def add_run(parser: argparse.ArgumentParser) -> None:
    """Add the limits of a run."""
    group = parser.add_argument_group("run")
    group.add_argument("--n-jobs", type=workers, metavar="N", help="number of workers (default 1)")
    add_memory_limit(group)
    add_time_limit(group)


def add_memory_limit(group: Any) -> None:
    group.add_argument(
        "--memory-limit", type=size, metavar="SIZE", help="memory limit for kernels, such as 200MB"
    )


def add_time_limit(group: Any) -> None:
    group.add_argument(
        "--time-limit",
        type=seconds,
        metavar="TIME",
        help="time limit in seconds, or with a unit, such as 5min or 2h",
    )


def add_seed(group: Any, words: str) -> None:
    """Add a seed of 32 bits, as NumPy requires."""
    group.add_argument("--seed", type=whole(0, 2**32 - 1), default=0, help=f"{words} (default 0)")


def add_model_files(parser: Any) -> None:
    """Add the files of the trained model."""
    parser.add_argument(
        "--model", type=Path, metavar="FILE", help="model file (default: NAME.model)"
    )
    parser.add_argument(
        "--save-range",
        type=Path,
        metavar="FILE",
        help="also write the scaling for svm-scale -r (MODEL.meta.json always contains it)",
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the results as JSON")


def make_estimator(options: Any, **changes: Any) -> Any:
    """The SVM that the options describe; `changes` are further parameters."""
    own: dict[str, Any] = {"kernel": options.kernel, "degree": options.degree}
    own |= {"coef0": options.coef0, "tol": options.tol, "gamma": "auto"}
    own["memory_limit"] = getattr(options, "memory_limit", None)
    known = parameters_of_model(options.kind)
    if "C" not in known:
        changes.pop("C", None)
    own |= {name: getattr(options, name) for name in ("epsilon", "nu") if name in known}
    return models_by_command()[options.kind](**{**own, **changes})


def parameters_of_model(kind: str) -> dict[str, Any]:
    """The parameters of a model and their defaults."""
    parameters: dict[str, Any] = models_by_command()[kind]().get_params(deep=False)
    return parameters


def model_of(options: Any) -> Any:
    """The SVM with the C and gamma of the options."""
    changes = {"C": options.C}
    if options.gamma is not None:
        changes["gamma"] = options.gamma
    return make_estimator(options, time_limit=getattr(options, "time_limit", None), **changes)


def choice(table: dict[str, str]) -> Any:
    """A parser for a name or its number in LIBSVM."""

    def parse(text: str) -> str:
        name = table.get(text, text)
        if name not in table.values():
            raise argparse.ArgumentTypeError(f"{text!r} is not one of {listing(table)}")
        return name

    return parse


def listing(table: dict[str, str]) -> str:
    return ", ".join(f"{number} {name}" for number, name in table.items())


def add_grid(
    parser: argparse.ArgumentParser, log2_c: Any = LOG2_C, log2_g: Any = LOG2_GAMMA
) -> None:
    """Add -c and -g with lists, and the ranges of LIBSVM's grid.py."""
    group = parser.add_argument_group("grid")
    group.add_argument(
        "-c", dest="C", type=value_list, metavar="LIST", help="values of C, such as 1,10,2^7"
    )
    group.add_argument("-g", dest="gamma", type=value_list, metavar="LIST", help="values of gamma")
    for name, default in (("c", log2_c), ("g", log2_g)):
        shown = ",".join(f"{value:g}" for value in default)
        group.add_argument(
            f"--log2{name}",
            type=log_range,
            default=default,
            metavar="BEGIN,END,STEP",
            help=f"exponents of two, used unless -{name} is given (default {shown})",
        )


def make_grid(options: Any, prefix: str = "") -> dict[str, list[float]]:
    """The param_grid, prefixed with the name of a pipeline step, if any."""
    grid = {f"{prefix}C": options.C or powers(options.log2c)}
    if options.kernel != "linear":
        grid[f"{prefix}gamma"] = options.gamma or powers(options.log2g)
    return grid


def powers(given: tuple[float, float, float]) -> list[float]:
    """2^begin, ..., 2^end."""
    begin, end, step = given
    n = math.floor((end - begin) / step + 1e-9) + 1
    return [2.0 ** (begin + k * step) for k in range(n)]


def value_list(text: str) -> list[float]:
    """Numbers above zero, separated by commas."""
    return [positive(word) for word in text.split(",")]


def log_range(text: str) -> tuple[float, float, float]:
    """begin,end,step with at least one value; the step may be negative as in grid.py."""
    try:
        begin, end, step = (number(word) for word in text.split(","))
    except (ValueError, argparse.ArgumentTypeError):
        raise argparse.ArgumentTypeError(
            f"{text!r} is not BEGIN,END,STEP, such as -5,15,2"
        ) from None
    if not all(map(math.isfinite, (begin, end, step))) or step == 0 or (end - begin) / step < 0:
        raise argparse.ArgumentTypeError(f"{text!r} has no values; -5,15,2 has eleven")
    if step < 0:
        begin, end, step = end, begin, -step
    if (end - begin) / step > 1000 or max(abs(begin), abs(end)) > 300:
        raise argparse.ArgumentTypeError(f"{text!r} has too many or too large values")
    return begin, end, step


def make_folds(options: Any) -> Any:
    """Shuffled folds, stratified for classes."""
    splitter = StratifiedKFold if targets_of(options.kind) == "labels" else KFold
    return splitter(options.folds, shuffle=True, random_state=options.seed)


def fixed_gamma(model: Any, X: Any) -> Any:
    """gamma="auto" as its number: the same for all folds, which then share a kernel."""
    return 1.0 / X.shape[1] if model.gamma == "auto" else model.gamma
