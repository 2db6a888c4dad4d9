/** Loads Plotly from this server when the first chart is drawn, so that the first picture does not wait for its 1.2 MB. */

/**
 * Returns a function that gives the library, undefined until it is loaded. The first call requests it in the page's next idle time.
 *
 * @param {string | undefined} url
 * @param {() => void} onReady
 * @returns {() => object | undefined}
 */
export function lazyPlotly(document, window, url, onReady) {
  let requested = !url;
  const load = () => {
    const script = document.createElement("script");
    script.src = url;
    script.async = true;
    script.addEventListener("load", onReady);
    document.head.append(script);
  };
  return () => {
    if (!requested) {
      requested = true;
      if (window.requestIdleCallback) window.requestIdleCallback(load, { timeout: 1500 });
      else window.setTimeout(load, 200);
    }
    return window.Plotly;
  };
}

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
