/** Plotly when the page is idle, from this server: 4.8 MB that the first picture does not wait for. */

/**
 * @param {string | undefined} url
 * @param {() => void} onReady
 * @returns {() => object | undefined}
 */
export function lazyPlotly(document, window, url, onReady) {
  if (!url) return () => undefined;
  const load = () => {
    const script = document.createElement("script");
    script.src = url;
    script.async = true;
    script.addEventListener("load", onReady);
    document.head.append(script);
  };
  if (window.requestIdleCallback) window.requestIdleCallback(load, { timeout: 1500 });
  else window.setTimeout(load, 200);
  return () => window.Plotly;
}
