/**
 * Sends the requests of buttons, keys and clicks as messages on the socket.
 * Refusals are shown as notices. Without the owner's token nothing is sent and a notice explains why.
 */

/** Most requests that are held until the server has confirmed the owner: what a viewer presses in a few seconds. */
export const WAITING_MOST = 20;

/**
 * @param {object} parts
 * @param {(message: object) => boolean} parts.send false when the connection is lost
 * @param {() => boolean | null} parts.isOwner null until the server has reported it; requests are held until then
 * @param {(notice: {error: string, hint?: string, tone?: string}) => void} parts.say
 */
export function makeLabLink({ send, isOwner, say }) {
  let next_id = 1;
  const waiting = new Map();
  let early = [];

  /** Holds a request until the owner is known. Play pressed twice cancels out. */
  function askLater(message) {
    if (message.type === "play" && early.at(-1)?.type === "play") early.pop();
    else if (early.length < WAITING_MOST) early.push(message);
    say({ error: "Connecting…", hint: "Your input takes effect as soon as the lab is loaded.", tone: "plain" });
    return true;
  }

  function ask(message) {
    if (isOwner() === null) return askLater(message);
    if (!isOwner()) {
      say({ error: "You are viewing. Only the owner can control this lab.", hint: "Take a copy to control a lab of your own at this instant.", tone: "plain" });
      return false;
    }
    if (send(message)) return true;
    say({ error: "Connection lost, reconnecting.", hint: "The command was not sent. Try again when the page is connected." });
    return false;
  }

  const link = {
    /** The server has reported whether this page is the owner's: sends the held requests, or refuses once. */
    ownerKnown() {
      const asked = early;
      early = [];
      for (const message of asked) if (!ask(message)) break;
    },
    play: (speed, until_us) => ask({ type: "play", speed, ...(until_us === undefined ? {} : { until_us }) }),
    pause: () => ask({ type: "pause" }),
    speed: (speed) => ask({ type: "speed", speed }),
    seek: (at_us) => ask({ type: "seek", at_us: Math.max(0, Math.round(at_us)) }),
    seekSeq: (seq) => ask({ type: "seek", seq: Math.max(0, seq) }),
    step: (filter) => ask({ type: "step", ...(filter ? { filter } : {}) }),
    stepBack: (filter) => ask({ type: "step-back", ...(filter ? { filter } : {}) }),
    branch: (number) => ask({ type: "branch", number }),
    /** While true, each command begins a branch, so that the run shown stays as it is. */
    keeps_run: false,
    /**
     * @param {object} command
     * @param {{done?: () => void, apart?: boolean}} [how] done: called when it took effect; apart: on a new branch, so that it can be undone
     */
    command(command, { done, apart = false } = {}) {
      const id = next_id++;
      if (!ask({ type: "command", id, command, ...(apart || link.keeps_run ? { apart: true } : {}) })) return;
      waiting.set(id, { command, done });
    },
    /** Handles a `result` or `error` message. */
    answered(frame) {
      const asked = waiting.get(frame.id);
      waiting.delete(frame.id);
      if (frame.type === "result" && frame.ok) asked?.done?.();
      else say({ error: asked ? `The command ${asked.command.do} was refused: ${frame.error}` : (frame.error ?? "Refused."), hint: frame.hint ?? "" });
    },
  };
  return link;
}
