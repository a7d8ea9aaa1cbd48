(() => {
  // A table of values is sorted by any of its columns; rows that are fixed stay where they are.
  for (const table of document.querySelectorAll("table:has(th[data-column])")) {
    const body = table.tBodies[0], heads = [...table.querySelectorAll("th[data-column]")];
    const value = (row, k) => {
      const cell = row.querySelector(`[data-of="${k}"]`) ?? row.children[k];
      return cell.dataset.value ?? cell.textContent.trim();
    };
    const sort = (head) => {
      const k = head.dataset.column, now = head.getAttribute("aria-sort");
      const up = now ? now !== "ascending" : head.dataset.first !== "descending";
      const rows = [...body.rows].filter((row) => !row.dataset.fixed).sort((a, b) => {
        const [x, y] = [value(a, k), value(b, k)];
        if (x === "" || y === "") return (x === "") - (y === "");
        return (up ? 1 : -1) * (head.dataset.words ? x.localeCompare(y) : Number(x) - Number(y));
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      const last = body.querySelector("tr[data-fixed=last]");
      rows.forEach((row) => { row.classList.remove("first"); body.insertBefore(row, last); });
    };
    for (const head of heads) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => sort(head));
    }
  }
})();
