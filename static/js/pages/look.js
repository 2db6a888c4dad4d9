/**
 * Sets theme and mode before the first paint, on every page: from the address, or else as last chosen.
 * It is a plain script, because modules run after the first paint.
 * because modules run after the page has been painted once.
 */
(function () {
  const asked = new URLSearchParams(location.search);
  let chosen = {};
  try {
    chosen = JSON.parse(localStorage.getItem("failover-lab.appearance") ?? "{}");
  } catch (reason) {
    console.info(`The browser does not store the appearance: ${reason.message}`);
  }
  for (const name of ["theme", "mode"]) {
    const value = asked.get(name) ?? chosen[name];
    if (value) document.documentElement.dataset[name] = value;
  }
})();
