/** The question that the line under the sentence offers after a failover: only about harm that happened. */

/**
 * @param {{lost?: number | null, duplicates?: number} | null} over the latest failover's figures
 * @returns {string | null} null when nothing came twice and nothing is lost
 */
export function questionOf(over) {
  if (over?.lost) return `Why lost${over.duplicates ? ", why twice" : ""}?`;
  return over?.duplicates ? "Why twice?" : null;
}
