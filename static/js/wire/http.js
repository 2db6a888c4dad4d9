/** HTTP requests: JSON in, JSON out, failures as readable errors. Addresses are always paths of this server. */

/** A refused or failed request; `hint` is the server's remedy, where it sent one. */
export class RequestError extends Error {
  constructor(message, hint = "", status = 0) {
    super(message);
    this.hint = hint;
    this.status = status;
  }
}

/**
 * @param {typeof fetch} fetcher
 * @param {string} csrf_token Django's token for unsafe methods
 */
export function makeRequests(fetcher, csrf_token) {
  let open = 0;

  async function ask(path, options) {
    open += 1;
    try {
      return await answer(path, options);
    } finally {
      open -= 1;
    }
  }

  async function answer(path, options) {
    let response;
    try {
      response = await fetcher(path, { credentials: "same-origin", ...options });
    } catch {
      throw new RequestError("The server cannot be reached.", "Check that it is running, then try again.");
    }
    const body = await bodyOf(response);
    if (!response.ok) throw new RequestError(wordsOf(body, response), body?.hint ?? "", response.status);
    return body;
  }
  return {
    /** @returns {number} of requests without an answer yet */
    open: () => open,
    get: (path) => ask(path, { headers: { Accept: "application/json" } }),
    post: (path, body) =>
      ask(path, {
        method: "POST",
        headers: { "Content-Type": "application/json", Accept: "application/json", "X-CSRFToken": csrf_token },
        body: JSON.stringify(body),
      }),
    /** Sends a form with files. The browser writes its content type. @param {string} path @param {FormData} form */
    postForm: (path, form) => ask(path, { method: "POST", headers: { Accept: "application/json", "X-CSRFToken": csrf_token }, body: form }),
  };
}

const ASK_EVERY_MS = 400;

/**
 * Progress of runs on the server, part of every answer about them: `running` names the one under way, `words` and `hint` say why there is no result.
 * @typedef {{state: "running" | "done" | "failed" | "refused" | "cancelled", words: string, hint: string, running: string, done: number, of: number}} Progress
 */

/**
 * Asks until the runs have ended, and returns the last answer.
 * @param {() => Promise<any>} ask
 * @param {Window} window
 * @param {(words: string) => void} sayProgress
 * @param {any} answer the first one, where there is one already
 * @throws {RequestError} when they have no result
 */
export async function untilDone(ask, window, sayProgress = () => {}, answer = null) {
  answer ??= await ask();
  while (answer.state === "running") {
    sayProgress(`Running: ${answer.done} of ${answer.of} done.`);
    await new Promise((resolve) => window.setTimeout(resolve, ASK_EVERY_MS));
    answer = await ask();
  }
  if (answer.state !== "done") throw new RequestError(answer.words, answer.hint);
  return answer;
}

async function bodyOf(response) {
  const kind = response.headers.get("Content-Type") ?? "";
  return kind.includes("json") ? response.json() : null;
}

function wordsOf(body, response) {
  if (typeof body?.error === "string") return body.error;
  if (Array.isArray(body?.problems)) return body.problems.map((problem) => problem.message ?? String(problem)).join(" ");
  return `The server answered ${response.status} ${response.statusText}`.trim() + ".";
}

/** Sends a request a moment after the last call, and uses only the answer of the newest request. */

/**
 * @template T
 * @param {Window} window
 * @param {number} pause_ms
 * @param {() => Promise<T>} ask
 * @param {(answer: T) => void} take
 * @param {(reason: Error) => void} trouble
 * @returns {() => void}
 */
export function debounced(window, pause_ms, ask, take, trouble) {
  let timer = 0;
  let newest = 0;
  return () => {
    window.clearTimeout(timer);
    const own = ++newest;
    timer = window.setTimeout(async () => {
      try {
        const answer = await ask();
        if (own === newest) take(answer);
      } catch (reason) {
        if (own === newest) trouble(reason);
      }
    }, pause_ms);
  };
}
