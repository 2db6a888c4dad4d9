/**
 * The layout that all charts of the page share: transparent, without legend, not draggable, in the page's font.
 *
 * @param {import("./theme.js").Theme} theme
 * @returns {object} keys of a Plotly layout
 */
export function plainChart(theme) {
  return {
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    showlegend: false,
    dragmode: false,
    hovermode: "closest",
    hoverlabel: { bgcolor: theme.ink.raise, bordercolor: theme.ink.strong, font: { color: theme.ink.ink, family: theme.sans, size: theme.label } },
    font: { family: theme.sans, size: theme.label, color: theme.ink.ink2 },
  };
}
