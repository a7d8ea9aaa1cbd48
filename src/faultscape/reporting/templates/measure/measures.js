(() => {
  const unfold = () => { // a term that is asked for is never folded
    const asked = location.hash && document.getElementById(location.hash.slice(1));
    if (asked) for (let one = asked.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    if (asked) asked.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
  for (const table of document.querySelectorAll("table.errors")) {
    const body = table.tBodies[0];
    const heads = [...table.querySelectorAll("th[data-column]")];
    const value = (row, k) => row.children[k].dataset.value ?? row.children[k].textContent.trim();
    const sort = (head) => {
      const k = Number(head.dataset.column), up = head.getAttribute("aria-sort") !== "ascending";
      const words = head.dataset.words === "1";
      const rows = [...body.rows].sort((a, b) => {
        const [x, y] = [value(a, k), value(b, k)];
        if (words) return (up ? 1 : -1) * x.localeCompare(y);
        if (x === "" || y === "") return (x === "") - (y === "");
        return (up ? 1 : -1) * (Number(x) - Number(y));
      });
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", up ? "ascending" : "descending");
      body.append(...rows);
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
