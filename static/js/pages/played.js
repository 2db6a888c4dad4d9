/** Records on the lab page that a scenario was played to its end, and compares the outcome with the guess. */

import { counted } from "../model/format.js";
import { isPlayed, notePlayed, guessOf } from "../model/played.js";

/** @param {{storage: Storage | null, say: (notice: object) => void}} parts */
export function makePlayed({ storage, say }) {
  let noted = false;
  /** @param {import("../model/state.js").LabState} state */
  return (state) => {
    if (noted || !storage || !isPlayed(state)) return;
    noted = true;
    const name = state.welcome.scenario;
    notePlayed(storage, name);
    const guess = guessOf(storage, name);
    const first = state.view.failovers?.[0];
    if (guess === null || !first) return;
    say({ error: guess === first.duplicates ? `${counted(first.duplicates, "duplicate")}: as you guessed.` : `${counted(first.duplicates, "duplicate")}; your guess was ${guess}.`, tone: "plain" });
  };
}
