/**
 * The socket of one question: sends the text, passes on the messages, and closes to cancel the question.
 * If the connection is lost before `done`, an error is reported. It is not retried; the viewer can ask again.
 */

/**
 * @param {object} parts
 * @param {() => WebSocket} parts.makeSocket
 * @param {string} parts.yaml
 * @param {(message: object) => void} parts.onMessage
 * @returns {() => void} cancels the question
 */
export function askAbout({ makeSocket, yaml, onMessage }) {
  const socket = makeSocket();
  let open = true;
  const end = () => {
    open = false;
    socket.close();
  };
  socket.addEventListener("open", () => socket.send(JSON.stringify({ type: "ask", yaml })));
  socket.addEventListener("message", (event) => {
    if (!open) return;
    const message = JSON.parse(event.data);
    if (message.type === "done" || message.type === "error" || message.type === "bye") end();
    onMessage(message.type === "bye" ? { type: "error", error: message.reason, hint: "Request the answer again." } : message);
  });
  socket.addEventListener("close", () => {
    if (open) onMessage({ type: "error", error: "Connection lost.", hint: "The answers received so far stay. Request it again when the page is connected." });
    open = false;
  });
  return end;
}
