"""The cells of an evaluation, one after the other in this process or as Ray tasks.

Both ways run the same function, `run_cell`, so they give the same rows; seconds aside, for cells that run side by side wait for each other.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from edgarmill.eval.cells import Cell, Done, Grid, Opened, run_cell
from edgarmill.schemas.errors import EdgarmillError, RunError

LARGE = 20_000  # searches; a smaller grid is done before Ray has started


def finished(grid: Grid, cells: Sequence[Cell], done: Callable[[int], None]) -> Iterator[Done]:
    """Cells as they end; `done` is told how many questions were asked since it was last called. Raises StorageError, RunError."""
    by_ray = _engine(grid, cells) == "ray"
    yield from _by_ray(replace(grid, engine="ray"), cells, done) if by_ray else (run_cell(grid, cell, done) for cell in cells)


def _engine(grid: Grid, cells: Sequence[Cell]) -> str:
    if grid.settings.engine != "auto":
        return grid.settings.engine if len(cells) > 0 else "loop"
    return "ray" if len(cells) > 1 and len(cells) * grid.questions >= LARGE and (os.cpu_count() or 1) > 2 else "loop"


def _by_ray(grid: Grid, cells: Sequence[Cell], done: Callable[[int], None]) -> Iterator[Done]:
    """One task a cell. What all share travels once."""
    from edgarmill.workers.fanout import ray_runtime

    with ray_runtime(grid.settings):
        import ray

        shared = ray.put(grid)
        task = ray.remote(num_cpus=1, max_retries=2)(_task)
        waiting = [task.remote(shared, cell) for cell in cells]
        try:
            while waiting:
                ready, waiting = ray.wait(waiting, num_returns=1)
                ended = ray.get(ready[0])
                if isinstance(ended, EdgarmillError):
                    raise ended
                done(grid.questions)
                yield ended
        except ray.exceptions.RayError as error:
            todo = "What is committed stays: run the command again, with --engine loop if it comes back."
            raise RunError(f"Ray could not go on ({type(error).__name__})", todo=todo) from error


_opened: dict[str, Opened] = {}  # of one worker process


def _task(grid: Grid, cell: Cell) -> Done | EdgarmillError:
    try:
        return run_cell(replace(grid, readers=_opened), cell)
    except EdgarmillError as error:  # given back: an exception would be wrapped beyond recognition on its way to the driver
        return error
