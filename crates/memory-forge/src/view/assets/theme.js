// Applies the chosen colours. This is a classic script that blocks painting:
// a module would run after the first paint, and the page would flash.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("theme");
  } catch {
    // Storage can be disabled; the system's colours apply then.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
