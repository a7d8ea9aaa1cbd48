(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  form.hidden = false;
  const cards = [...document.querySelectorAll("#gallery .card")];
  const said = document.getElementById("shown");
  const fits = (duel, want) => want.every((w, k) => w === "" || duel[k] === w);
  const show = (card, row) => {
    const [defender, attacker] = row.dataset.duel.split(".");
    const quad = card.querySelector(".quad"), others = card.querySelector(".others .grid");
    card.querySelector(".duel").textContent = row.dataset.says;
    card.querySelector(".case").className = "case chip " + row.dataset.case;
    card.querySelector(".case").textContent = row.dataset.case ? "case " + row.dataset.case : "";
    const figures = [...card.querySelectorAll("figure[data-model]")].sort((a, b) => a.dataset.model - b.dataset.model);
    for (const figure of figures) {
      const role = figure.dataset.model === defender ? "defends" : figure.dataset.model === attacker ? "attacks" : "";
      figure.querySelector(".role").textContent = role;
      if (!role && others) others.append(figure);
    }
    for (const model of [defender, attacker]) {
      const figure = figures.find((f) => f.dataset.model === model);
      if (figure) quad.append(figure);
    }
  };
  const filter = () => {
    const want = ["defender", "attacker", "class"].map((n) => form.elements[n] ? form.elements[n].value : "");
    let shown = 0;
    for (const card of cards) {
      const rows = [...card.querySelectorAll("tr[data-duel]")];
      const fit = rows.filter((row) => fits(row.dataset.duel.split("."), want));
      card.hidden = !fit.length;
      rows.forEach((row) => row.classList.toggle("hit", fit.length < rows.length && fit.includes(row)));
      if (fit.length) { shown += 1; show(card, fit[0]); }
    }
    said.textContent = shown + " of " + cards.length + " images";
    document.dispatchEvent(new CustomEvent("filtered", { detail: want.some(Boolean) }));
  };
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
