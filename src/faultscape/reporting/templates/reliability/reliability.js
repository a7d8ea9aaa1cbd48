(() => {
  for (const button of document.querySelectorAll("button[data-model]")) {
    button.hidden = false;
    button.addEventListener("click", () => {
      const lit = button.getAttribute("aria-pressed") === "true" ? null : button.dataset.model;
      for (const other of document.querySelectorAll("button[data-model]")) other.setAttribute("aria-pressed", String(other.dataset.model === lit));
      for (const line of document.querySelectorAll("g.line")) { line.classList.toggle("dim", lit !== null && line.dataset.model !== lit); line.classList.toggle("lit", line.dataset.model === lit); }
    });
  }
  for (const table of document.querySelectorAll("table.sortable")) {
    const body = table.tBodies[0];
    const heads = [...table.querySelectorAll("th[data-column]")];
    const value = (row, k) => row.querySelector(`[data-of="${k}"]`)?.dataset.value ?? "";
    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const k = head.dataset.column, first = head.dataset.first, now = head.getAttribute("aria-sort");
        const up = now ? now !== "ascending" : first === "ascending";
        const rows = [...body.rows].filter((row) => !row.dataset.fixed).sort((a, b) => {
          const [x, y] = [value(a, k), value(b, k)];
          if (x === "" || y === "") return (x === "") - (y === "");
          return (up ? 1 : -1) * (Number(x) - Number(y));
        });
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const last = body.querySelector("tr[data-fixed=last]");
        rows.forEach((row) => { row.classList.remove("first"); body.insertBefore(row, last); });
      });
    }
  }
})();
