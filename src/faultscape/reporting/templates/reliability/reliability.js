(() => {
  for (const button of document.querySelectorAll("button[data-model]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const lit = button.getAttribute("aria-pressed") === "true" ? null : button.dataset.model;
      for (const other of document.querySelectorAll("button[data-model]")) other.setAttribute("aria-pressed", String(other.dataset.model === lit));
      for (const line of document.querySelectorAll("g.line")) { line.classList.toggle("dim", lit !== null && line.dataset.model !== lit); line.classList.toggle("lit", line.dataset.model === lit); }
    });
  }
})();
