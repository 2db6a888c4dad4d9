/** The question that the line under the sentence offers after a failover with duplicates or losses. */

/**
 * @param {{lost?: number | null, duplicates?: number} | null} over the latest failover's figures
 * @returns {string | null} null without duplicates and losses
 */
export function questionOf(over) {
  if (over?.lost) return `Why lost${over.duplicates ? ", why duplicates" : ""}?`;
  return over?.duplicates ? "Why duplicates?" : null;
}
