"""This process's labs: opens rooms, checks them once a second, runs the pump.

Rules: one hub per event loop. Background tasks are supervised, so that an error is logged and shown. Once a
second each room's position, watchers, idle time and lease are updated. Which process runs which lab is
decided in `visualizer.labs.placement`.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections import Counter
from collections.abc import Awaitable, Coroutine, Iterable
from typing import Any

from visualizer.labs import saving
from visualizer.labs.background import Background
from visualizer.labs.clients import FAIR_LABS, WIDTHS, check_open_labs, client, network_of
from visualizer.labs.definitions import scenario_of
from visualizer.labs.exchange import Exchange
from visualizer.labs.memory import Memory
from visualizer.labs.placement import Casting
from visualizer.labs.pump import Pump
from visualizer.labs.rooms import Room
from visualizer.labs.running import Runner
from visualizer.labs.saving import NOT_SAVED, Saver
from visualizer.live.wire import Refused
from visualizer.models import Lab
from visualizer.questions.question import check_arguments

logger = logging.getLogger(__name__)

TICK_S = 1.0
"""Seconds between two checks: positions are stored, leases renewed and watchers counted."""

IDLE_TICKS = 60
"""Seconds without a viewer or a request after which a lab is closed. It reopens paused."""

ROOMS = 200
"""Labs that this process runs or shows at once. Each may hold five million rows."""

GAVE_WAY = (
    "All places of this server process are taken, and your address has the most labs open. "
    "Open it again to continue at the same instant."
)

DELETED = "This lab has been deleted by its owner."

_hubs: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, Hub] = weakref.WeakKeyDictionary()


def current_hub() -> Hub:
    """The hub of the running event loop."""
    loop = asyncio.get_running_loop()
    hub = _hubs.get(loop)
    if hub is None:
        hub = _hubs[loop] = Hub()
    return hub


class Hub:
    def __init__(self) -> None:
        self.rooms: dict[str, Room] = {}
        self.pump = Pump(self._engine_failed)
        self.memory = Memory(self)
        self.background = Background(self.pump, self.memory.admit)
        self._reserved: dict[str, str] = {}  # labs that are being opened, with the client of each
        self.saver = Saver()
        self._leaving: set[Room] = set()  # rooms that are being closed for others
        self._casting = Casting(self)
        self.ticks = 0  # ticks since the start, one a second
        self._starting: asyncio.Task[None] | None = None
        self._opening: dict[str, asyncio.Lock] = {}
        self._tasks: set[asyncio.Future[Any]] = set()

    # --- tasks

    def soon(self, work: Coroutine[Any, Any, Any] | Awaitable[Any], what: str) -> asyncio.Future[Any]:
        """Run in the background; an exception is logged."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)

        def ended(done: asyncio.Future[Any]) -> None:
            self._tasks.discard(done)
            if not done.cancelled() and done.exception() is not None:
                logger.error("Failed while %s", what, exc_info=done.exception())

        task.add_done_callback(ended)
        return task

    def _for_ever(self, work: Coroutine[Any, Any, Any], what: str) -> None:
        """Run a task that must not end, as `soon` does.

        If it ends, every page must reconnect to a new hub.
        """
        task = self.soon(work, what)

        def ended(done: asyncio.Future[Any]) -> None:
            if not done.cancelled():
                self.stop("The server has to start over; this page connects again.")

        task.add_done_callback(ended)

    async def start(self) -> None:
        if self._starting is None:
            self._starting = asyncio.ensure_future(self._start())
        try:
            await asyncio.shield(self._starting)
        except Refused:
            self._starting = None  # the next caller tries again
            raise

    async def _start(self) -> None:
        for work, what in await self._casting.start():
            self._for_ever(work, what)
        self._for_ever(self.pump.run(), "running the pump")
        self._for_ever(self.saver.run(), "saving the labs")
        self._for_ever(self._look_after(), "looking after the labs")

    @property
    def exchange(self) -> Exchange | None:
        """The connection to other processes; None when this is the only one."""
        return self._casting.exchange

    def stop(self, reason: str) -> None:
        """Stop this hub: close rooms, tasks and writes. The next page or question gets a new hub."""
        loop = asyncio.get_running_loop()
        if _hubs.get(loop) is self:
            del _hubs[loop]
        for room in self.rooms.values():
            room.part.close()
            for viewer in list(room.viewers.values()):
                viewer.close(reason)
        self.rooms.clear()
        for task in list(self._tasks):
            task.cancel()
        self.saver.stop()

    # --- rooms

    async def room(self, lab_id: str) -> Room:
        """The room of a lab, opened if necessary.

        Raises Refused when there is no such lab.
        """
        await self.start()
        async with self._opening.setdefault(lab_id, asyncio.Lock()):
            room = self.rooms.get(lab_id)
            if room is None:
                room = await self._open(lab_id)
            return room

    async def _open(self, lab_id: str) -> Room:
        """Open a lab's room; one of this process's `ROOMS` is reserved before the first await.

        Other rooms may be opened during the awaits.
        """
        name = client.get()
        held = [room.client for room in self.rooms.values()] + list(self._reserved.values())
        check_open_labs(held.count(name))
        leaving = None
        if len(held) - len(self._leaving) >= ROOMS:
            leaving = self._gives_way(held, name)
            self._leaving.add(leaving)
        self._reserved[lab_id] = name
        try:
            if leaving is not None:
                await self.put_away(leaving, GAVE_WAY)
                self._leaving.discard(leaving)
            return await self._open_reserved(lab_id, name)
        finally:
            del self._reserved[lab_id]
            if leaving is not None:
                self._leaving.discard(leaving)

    def _gives_way(self, held: list[str], name: str) -> Room:
        """Choose the room to close in a full process, for a client with few labs.

        It is one of the client with the most labs, or else of the network with the most, unwatched ones
        first. Raises Refused when the new one has `FAIR_LABS` already or no other has more.
        """
        staying = [room for room in self.rooms.values() if room.client and room not in self._leaving]
        for width in WIDTHS if name else ():
            own = network_of(name, width)
            there = sum(network_of(one, width) == own for one in held if one)
            counts = Counter(network_of(room.client, width) for room in staying)
            network, most = max(counts.items(), key=lambda item: item[1], default=("", 0))
            if there < FAIR_LABS < most:
                rooms = [room for room in staying if network_of(room.client, width) == network]
                return min(rooms, key=lambda room: (bool(room.viewers), -room.idle_ticks, room.used_tick))
        raise Refused(
            "too-many",
            f"This server process shows {ROOMS} labs already.",
            "Close one, or try again in a minute.",
        )

    async def _open_reserved(self, lab_id: str, name: str) -> Room:
        await self.memory.make_room()
        lab = await saving.find(lab_id)
        if lab is None:
            raise Refused("not-found", f"There is no lab {lab_id}.", "Open a new one from the gallery.")
        await scenario_of(lab.scenario_text, lab.seed)
        room = Room(lab, name)
        await self._casting.cast(room)
        self.rooms[lab_id] = room
        return room

    def lost(self, room: Room) -> None:
        """Relay this lab's frames from now on, since another process runs it."""
        if isinstance(room.part, Runner):
            self.soon(self.recast(room), "handing a lab over")

    async def recast(self, room: Room) -> None:
        """Relay the lab from the process that runs it now, or run it if its lease is free."""
        async with self._opening.setdefault(room.lab.pk, asyncio.Lock()):
            if self.rooms.get(room.lab.pk) is not room:
                return
            try:
                there = await saving.exists(room.lab.pk)
            except Refused:
                # the database cannot be reached: the lab keeps running, its writes are refused, and this is
                # retried
                return
            if not there:
                await self._close(room, DELETED)
                return
            room.tell(NOT_SAVED, None)
            room.part.close()
            if self.exchange is None:
                self._leave(
                    room,
                    "Another server process has taken this lab. With REDIS_URL set, processes share labs.",
                )
                return
            room.start_over()
            try:
                await self._casting.cast(room)
            except Refused as refused:
                self._leave(room, refused.error)
                return
            room.part.want_snapshot()
            room.part.viewers_changed()

    async def _look_after(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            for room in list(self.rooms.values()):
                await self._survived(self._look_after_one(room))
            self.ticks += 1
            await self._survived(self.memory.look_each_second())
            await self._survived(self._casting.tick(self.rooms.values()))

    async def _survived(self, work: Coroutine[Any, Any, Any]) -> None:
        """Await `work` and log an error in it, so that the other labs are still updated."""
        try:
            await work
        except Exception:
            logger.exception("Failed while looking after the labs")

    async def _look_after_one(self, room: Room) -> None:
        room.second_passed()
        await room.part.tick()
        if room.idle_ticks >= IDLE_TICKS:
            await self._put_away(room)

    async def put_away(self, room: Room, reason: str, keep_position: bool = True) -> None:
        """Close a room of this process; its pages get the reason and reconnect automatically.

        Without `keep_position` the position of its world is not stored.
        """
        async with self._opening.setdefault(room.lab.pk, asyncio.Lock()):
            if self.rooms.get(room.lab.pk) is room:
                if keep_position:
                    await room.part.keep_position()
                await self._close(room, reason)

    async def _put_away(self, room: Room) -> None:
        lab_id = room.lab.pk
        async with self._opening.setdefault(lab_id, asyncio.Lock()):
            if room.viewers:
                return
            await self._close(room, "")
        self._opening.pop(lab_id, None)

    async def _close(self, room: Room, reason: str) -> None:
        """Remove a room from this process and send its pages the reason. The caller holds the lab's lock."""
        room.part.close()
        self._leave(room, reason)
        await self._casting.dismiss(room)

    def _leave(self, room: Room, reason: str) -> None:
        """Remove a room and send the reason to every page still connected. Pages reconnect automatically."""
        self.rooms.pop(room.lab.pk, None)
        for viewer in list(room.viewers.values()):
            viewer.close(reason)

    async def delete(self, lab: Lab) -> None:
        """Delete a lab's rows and notify its pages at once, here and in other processes."""
        async with self._opening.setdefault(lab.pk, asyncio.Lock()):
            lab_id = lab.pk  # adelete() clears it
            await lab.adelete()
            room = self.rooms.get(lab_id)
            if room is not None:
                await self._close(room, DELETED)
            if self.exchange is not None:
                self.exchange.send_gone(lab_id)
        self._opening.pop(lab_id, None)

    async def gone(self, room: Room) -> None:
        """Close a room when another process reports its lab deleted, if the database confirms it."""
        async with self._opening.setdefault(room.lab.pk, asyncio.Lock()):
            if self.rooms.get(room.lab.pk) is room and not await saving.exists(room.lab.pk):
                await self._close(room, DELETED)

    async def keep_positions(self, lab_ids: Iterable[str]) -> None:
        """Store the positions of those of these labs that run here, so that the database has them."""
        rooms = [self.rooms[lab_id] for lab_id in lab_ids if lab_id in self.rooms]
        await asyncio.gather(*(room.part.keep_position() for room in rooms))

    def renamed(self, lab: Lab) -> None:
        """Use the new title in the welcome message of pages that open the lab from now on."""
        room = self.rooms.get(lab.pk)
        if room is not None:
            room.lab.title = lab.title

    def _engine_failed(self, session: Any, error: BaseException) -> None:
        session.listener.failed(error)

    async def ask(self, lab_id: str, what: str, **arguments: Any) -> str:
        """Answer a question about a lab as JSON text, wherever the lab runs. Raises `Refused`."""
        check_arguments(what, arguments)
        room = await self.room(lab_id)
        return await room.part.ask(what, arguments)
