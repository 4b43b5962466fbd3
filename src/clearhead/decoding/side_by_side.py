"""Several searches at once, each on cores of its own.

A step of a search is some hundred small kernels, and most of them are too small to
be shared out between cores: the products gain from a second core, all else
waits. So two searches of half the sentences, a core for each, end sooner than one
search of all on two cores.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import TypeVar

import torch

from clearhead.decoding.engine import Engine

Result = TypeVar("Result")

# Fewer rows than this make the products slower than the second search makes all else faster.
ROWS = 16
# A product of fewer multiplications is done before a second core has been woken for it.
WORTH_SHARING = 2**20


def searches_at_once(engine: Engine, sentences: int, beams: int) -> int:
    """How many searches should share the sentences: one for each core, if there is work for it."""
    if engine.device.type != "cpu" or not engine.can_replace:
        return 1
    return max(1, min(torch.get_num_threads(), sentences, sentences * beams // ROWS))


def cores_for(engine: Engine, rows: int) -> int:
    """On how many cores one search of so many rows computes: the layers' widest product counts."""
    multiplications = rows * engine.config.d_model * engine.config.d_ff
    shared = multiplications >= WORTH_SHARING or engine.device.type != "cpu"
    return torch.get_num_threads() if shared else 1


@contextmanager
def on_cores(count: int) -> Iterator[None]:
    """Torch computes on so many cores, for the thread that asks."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def side_by_side(tasks: Sequence[Callable[[], Result]], stop: Callable[[], None]) -> list[Result]:
    """Run the tasks in threads that share the cores; their results in order.

    If one fails, or the user interrupts, `stop` tells the others to end soon, and the
    first error is raised.
    """
    threads = torch.get_num_threads()
    # MKL's count belongs to the whole process: it is put back when all have ended.
    with on_cores(threads), ThreadPoolExecutor(len(tasks)) as pool:
        try:
            futures = [pool.submit(_run, task, threads // len(tasks)) for task in tasks]
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
            for future in done:
                future.result()  # an error comes out before the others are waited for
            return [future.result() for future in futures]
        except BaseException:
            stop()
            raise


def _run(task: Callable[[], Result], cores: int) -> Result:
    """Both settings belong to the thread that makes them."""
    with on_cores(cores), torch.inference_mode():
        return task()
