/**
 * Put before a page's own scripts: counts what the page still has to do, as it begins and ends, so that a script which
 * reads it or takes its picture waits for that work and for no fixed time. Counted are requested animation frames, timers, idle
 * calls, requests until they are read, scripts that are fetched, and moves that end. Not counted: messages that the server sends
 * unprompted, and long timers.
 */

(() => {
  /** Timers of more are for people: a notice that goes, the next step of a story. */
  const SOON_MS = 1000;
  const [frames, idles, timers, loaded] = [new Set(), new Set(), new Set(), new WeakSet()];
  let asked = 0;

  function noting(kept, ask) {
    return (run, ...given) => {
      const id = ask((...told) => {
        kept.delete(id);
        run(...told);
      }, ...given);
      kept.add(id);
      return id;
    };
  }

  function forgetting(kept, cancel) {
    return (id) => {
      kept.delete(id);
      cancel(id);
    };
  }

  function counted(promise) {
    asked += 1;
    const ended = () => {
      asked -= 1;
    };
    promise.then(ended, ended);
    return promise;
  }

  const plain = (name) => globalThis[name].bind(globalThis);
  const [requestFrame, setAnyTimeout, fetchAny] = ["requestAnimationFrame", "setTimeout", "fetch"].map(plain);
  const setShortTimeout = noting(timers, setAnyTimeout);
  globalThis.cancelAnimationFrame = forgetting(frames, plain("cancelAnimationFrame"));
  globalThis.clearTimeout = forgetting(timers, plain("clearTimeout"));
  globalThis.cancelIdleCallback = forgetting(idles, plain("cancelIdleCallback"));
  globalThis.requestAnimationFrame = noting(frames, requestFrame);
  globalThis.requestIdleCallback = noting(idles, plain("requestIdleCallback"));
  globalThis.setTimeout = (run, wait_ms = 0, ...given) => (typeof run === "function" && wait_ms < SOON_MS ? setShortTimeout : setAnyTimeout)(run, wait_ms, ...given);
  globalThis.fetch = (...given) => counted(fetchAny(...given));
  for (const name of ["json", "text", "blob", "arrayBuffer"]) {
    const read = Response.prototype[name];
    Response.prototype[name] = function () {
      return counted(read.call(this));
    };
  }
  for (const kind of ["load", "error"]) document.addEventListener(kind, ({ target }) => target instanceof HTMLScriptElement && loaded.add(target), true);

  const isMoving = (animation) => animation.playState === "running" && Number.isFinite(animation.effect.getComputedTiming().endTime);

  globalThis.unrest = {
    /** @returns {string[]} what there is to do, in words; none at rest */
    whole() {
      const counts = {
        documents: Number(document.readyState !== "complete"),
        "animation frames": frames.size,
        timers: timers.size,
        "idle calls": idles.size,
        requests: asked,
        scripts: [...document.scripts].filter((script) => script.src && !script.noModule && !loaded.has(script)).length,
        pictures: [...document.images].filter((image) => !image.complete && image.loading !== "lazy").length,
        moves: document.getAnimations().filter(isMoving).length,
      };
      return Object.entries(counts).filter(([, count]) => count > 0).map(([name, count]) => `${name}: ${count}`);
    },
    /** @returns {string[]} as above, of drawing alone */
    ofDrawing: () => (frames.size > 0 ? [`animation frames: ${frames.size}`] : []),
    /** Until the screen has been painted twice: by then ResizeObservers and media query listeners have been notified. */
    painted: () => new Promise((done) => requestFrame(() => requestFrame(done))),
  };
})();
