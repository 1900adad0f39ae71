"""The case table of tests/contract_cases.toml in Python: python_contract.py SCRIPT DIRECTORY ANSWERS."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import tailrace
from mpi4py import MPI

Values = list[Any]


class Session:
    def __init__(self, directory: str) -> None:
        self.directory = directory
        self.stream: Any = None
        self.step: Any = None
        self.reader: Any = None
        self.failed: BaseException | None = None  # of the step in progress

    def call(self, operation: str, *words: str) -> Values:
        return getattr(self, f"do_{operation}")(*words) or []

    def do_open(self, name: str, options: str) -> None:
        keys: dict[str, Any] = dict(line.split("=") for line in options.split(";")) if options != "-" else {}
        keys = {key: value.strip("'") for key, value in keys.items()}
        self.stream = tailrace.open(self.directory, name, **keys)

    def do_resume(self, name: str, options: str, time: str) -> None:
        keys = dict(line.split("=") for line in options.split(";"))
        given = {key: value.strip("'") for key, value in keys.items()}
        self.stream = tailrace.open(self.directory, name, resume_before=float(time), **given)

    def do_close(self) -> None:
        self.stream.close()

    def do_dim(self, name: str, length: str) -> None:
        self.stream.dim(name, tailrace.RAGGED if length == "ragged" else int(length))

    def do_var(self, name: str, code: str, flags: str, dims: str) -> None:
        static, replicated = bool(int(flags) & 1), bool(int(flags) & 2)
        self.stream.var(name, dims.split(",") if dims != "-" else (), code, static=static, replicated=replicated)

    def do_text(self, variable: str, name: str, value: str) -> None:
        self.stream.attributes(None if variable == "." else variable, **{name: value})

    def do_texts(self, variable: str, name: str, values: str) -> None:
        self.stream.attributes(None if variable == "." else variable, **{name: values.split(",")})

    def do_number(self, variable: str, name: str, value: str) -> None:
        self.stream.attributes(None if variable == "." else variable, **{name: np.float64(value)})

    def do_begin(self, time: str) -> None:
        self.step, self.failed = self.stream.step(float(time)), None
        self.step.__enter__()

    def do_put(self, name: str, first: str, how: str, *boxes: str) -> None:
        dtype, value = self.stream.variables[name]["type"] if name in self.stream.variables else "f8", int(first)
        for offset, counts in zip(boxes[::2], boxes[1::2], strict=True):
            count = numbers(counts)
            elements = int(np.prod(count))
            array = np.arange(value, value + elements, dtype=dtype).reshape(count)
            if how == "strided":
                wide = np.zeros([*count[:-1], 2 * count[-1]], dtype)
                wide[..., ::2] = array
                array = wide[..., ::2]
            value += elements
            self.put(name, array, numbers(offset) if offset != "-" else None)

    def do_put_indices(self, name: str, first: str, how: str, along: str, indices: str, counts: str) -> None:
        count, dtype = numbers(counts), self.stream.variables[name]["type"]
        array = np.arange(int(first), int(first) + int(np.prod(count)), dtype=dtype).reshape(count)
        if how == "strided":
            wide = np.zeros([*count[:-1], 2 * count[-1]], dtype)
            wide[..., ::2] = array
            array = wide[..., ::2]
        self.put(name, array, indices=numbers(indices), along=along)

    def put(self, name: str, array: Any, offset: list[int] | None = None, **scattered: Any) -> None:
        try:
            self.step.put(name, array, offset, **scattered)
        except tailrace.Error as error:
            self.failed = error
            raise

    def do_strings(self, name: str, offset: str, *words: str) -> None:
        self.put(name, np.array([word.encode() for word in words]), [int(offset)])

    def do_whole(self, name: str, *values: str) -> None:
        variable = self.stream.variables[name]
        array = np.array([float(value) for value in values]).astype(variable["type"]).reshape(variable["shape"])
        self.put(name, array) if self.step else self.stream.put_static(name, array)

    def do_refuse(self) -> None:
        self.failed = tailrace.ERRORS["NOT_FOUND"]("no data here")
        raise self.failed

    def do_end(self) -> None:
        step, self.step = self.step, None
        error, self.failed = self.failed, None
        if step is None:
            self.stream._core.end_step()  # a program has no way to do this
            return
        step.__exit__(type(error) if error else None, error, None)
        if error:
            raise error

    def do_flush(self) -> None:
        self.stream.flush()

    def do_count(self) -> Values:
        return [self.stream.step_count]

    def do_shape(self, name: str) -> Values:
        variables = (self.reader or self.stream).variables
        if name not in variables:
            raise tailrace.ERRORS["NOT_FOUND"](name)
        known = variables[name]
        shape = ["ragged" if length == tailrace.RAGGED else length for length in known["shape"]]
        return [known["type"], known["static"] + 2 * known["replicated"], *shape]

    def do_read(self, name: str) -> None:
        self.reader = tailrace.open_read(self.directory, name)

    def do_select(self, step: str) -> None:
        self.reader.select(int(step))

    def do_steps(self) -> Values:
        return self.reader.steps

    def do_get(self, name: str, offset: str, count: str) -> Values:
        return integral(self.reader.get(name, numbers(offset), numbers(count)))

    def do_get_indices(self, name: str, along: str, indices: str, counts: str) -> Values:
        found = self.reader.get(name, indices=numbers(indices), along=along)
        assert list(found.shape) == numbers(counts)
        return integral(found)

    def do_get_shared(self, name: str) -> Values:
        return integral(self.reader.get_shared(name))

    def do_get_strings(self, name: str, offset: str, count: str) -> Values:
        return [text.decode() for text in self.reader.get(name, [int(offset)], [int(count)])]

    def do_close_read(self) -> None:
        self.reader.close()


def decoded(word: str) -> str:
    return "" if word == "NULL" else word.replace("\\0", "\0")


def numbers(text: str) -> list[int]:
    return [int(number) for number in text.split(",")] if text != "-" else []


def integral(array: Any) -> Values:
    return [int(value) for value in np.asarray(array).ravel()]


def main() -> None:
    script, directory, answers = sys.argv[1:]
    rank = str(MPI.COMM_WORLD.rank)
    session = Session(directory)
    with (Path(answers) / rank).open("w") as out:
        for number, line in enumerate(Path(script).read_text().splitlines()):
            who, *words = (decoded(word) for word in line.split())
            if who not in ("all", rank):
                continue
            try:
                result = " ".join(["OK", *map(str, session.call(*words))])
            except tailrace.Error as error:
                result = str(getattr(error, "status", "no status"))
            print(number, result, file=out, flush=True)


if __name__ == "__main__":
    main()
