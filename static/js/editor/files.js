/** Opens a file that was chosen, or dropped on the text. Dropped text is left to the editor. */

/** @param {HTMLElement} drop @param {HTMLInputElement} input @param {(file: File) => void} take */
export function listenToFiles(drop, input, take) {
  const hasFile = (event) => [...event.dataTransfer.types].includes("Files");
  const mark = (on) => drop.classList.toggle("dropping", on);

  function dragged(event) {
    if (!hasFile(event)) return;
    event.preventDefault();
    mark(true);
  }

  function dropped(event) {
    mark(false);
    if (!hasFile(event)) return;
    event.preventDefault();
    event.stopPropagation();
    if (event.dataTransfer.files[0]) take(event.dataTransfer.files[0]);
  }

  input.addEventListener("change", () => {
    if (input.files[0]) take(input.files[0]);
    input.value = ""; // so that the same file can be chosen again
  });
  drop.addEventListener("dragenter", dragged);
  drop.addEventListener("dragover", dragged);
  drop.addEventListener("dragleave", (event) => mark(drop.contains(/** @type {Node} */ (event.relatedTarget))));
  drop.addEventListener("drop", dropped, true);
}
