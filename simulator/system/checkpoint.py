"""Checkpoints: the live state as bytes, without what the worlds of a branch share.

Rules: append-only objects (trace, logs' records, messages, markers) and objects that never change (scenario,
samplers) are kept once per branch and referred to by number. The rest is pickled: that copies an object graph
in C, faster than Python code could, keeps every field, and gives bytes that nothing can change. Checkpoints
never leave the process.
"""

from __future__ import annotations

import io
import pickle
import zlib
from dataclasses import is_dataclass
from typing import Any

from simulator.kernel.distributions import Sampler
from simulator.kernel.random import StreamKey, stream_key
from simulator.log.ledgers import SharedColumn
from simulator.scenarios import model
from simulator.system.system import Handlers, System
from simulator.trace.trace import Trace

_SPECS = tuple(kind for kind in vars(model).values() if isinstance(kind, type) and is_dataclass(kind))
_SHARED_TYPES = (Trace, SharedColumn, Sampler, Handlers, *_SPECS)


COMPRESSION_LEVEL = 1
"""The fastest level: a third of the size for about a millisecond.

So checkpoints may be three times as frequent.
"""


def _fetch(_number: int) -> Any:
    """Placeholder in pickles for "shared object number n"; `_Loader` replaces it by the real look-up."""
    raise AssertionError("a checkpoint was loaded without its branch's shared objects")


class SharedObjects:
    """The objects that the worlds of one branch share, numbered in the order of their first save.

    `types` are the protocol's shared types, in addition to those of every protocol.
    """

    def __init__(self, types: tuple[type, ...]) -> None:
        self._reducers = dict.fromkeys((*_SHARED_TYPES, *types), self.reduce)
        self.objects: list[Any] = []
        self._numbers: dict[int, int] = {}

    def reduce(self, item: Any) -> tuple:
        """The pickle of a shared object: its number."""
        number = self._numbers.get(id(item))
        if number is None:
            number = self._numbers[id(item)] = len(self.objects)
            self.objects.append(item)
        return _fetch, (number,)

    def save(self, runtime: System) -> bytes:
        """The live state as bytes."""
        return zlib.compress(self.pickled(runtime), COMPRESSION_LEVEL)

    def pickled(self, item: Any) -> bytes:
        """A part of the live state as bytes, not compressed."""
        stream = io.BytesIO()
        pickler = pickle.Pickler(stream, protocol=5)
        pickler.dispatch_table = self._reducers
        pickler.dump(item)
        return stream.getvalue()

    def load(self, saved: bytes) -> System:
        """A live state from bytes, at the instant when they were saved."""
        return _Loader(io.BytesIO(zlib.decompress(saved)), self.objects).load()


class _Loader(pickle.Unpickler):
    def __init__(self, stream: io.BytesIO, objects: list[Any]) -> None:
        super().__init__(stream)
        self._objects = objects

    def find_class(self, module: str, name: str) -> Any:
        if name == "_fetch" and module == __name__:
            return self._objects.__getitem__
        return super().find_class(module, name)


class _Reseeder(_Loader):
    """Loads a state whose keys are those of the same streams under another seed."""

    def __init__(self, pickled: bytes, objects: list[Any], seed: int, spread_millionths: int) -> None:
        redrawn = [_redrawn(item, seed, spread_millionths) for item in objects]
        super().__init__(io.BytesIO(pickled), redrawn)
        self._seed = seed

    def find_class(self, module: str, name: str) -> Any:
        if name == StreamKey.__name__ and module == StreamKey.__module__:
            return lambda _key, stream: stream_key(self._seed, stream)
        return super().find_class(module, name)


def reseed(system: System, seed: int, spread_millionths: int = 0) -> None:
    """Let every draw from now on be that of a run with this seed.

    Durations that are constant are drawn from then on too, from a spread below their value up to it.

    All parts of the system are replaced by copies, since the worlds of a branch share samplers. The system
    itself stays the same object, because it is in use while a command is applied.
    """
    shared = SharedObjects((*system.shared_types, type(system)))
    state: Any = object.__getstate__(system)  # attributes, or attributes and slots
    pickled = shared.pickled(state)
    copied = _Reseeder(pickled, shared.objects, seed, spread_millionths).load()
    system.become(copied if isinstance(copied, tuple) else (copied,))
    system.seed = seed
    for link in system.links.values():
        link.sampler_changed()


def _redrawn(item: Any, seed: int, spread_millionths: int) -> Any:
    if isinstance(item, Sampler) and isinstance(item.key, StreamKey):
        return item.redrawn(stream_key(seed, item.key.name), spread_millionths)
    return item
