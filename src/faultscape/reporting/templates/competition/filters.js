(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  form.hidden = false;
  const cards = [...document.querySelectorAll("#gallery .card")];
  const said = document.getElementById("shown");
  const filter = () => {
    const want = [...form.querySelectorAll("select")].map((select) => select.value).filter(Boolean);
    let shown = 0;
    for (const card of cards) {
      let fit = false;
      for (const row of card.querySelectorAll("[data-of]")) {
        const of = row.dataset.of.split(" ");
        const hit = want.every((word) => of.includes(word));
        fit = fit || hit;
        row.classList.toggle("hit", hit && want.length > 0);
        const around = row.closest("details:not(.rest)");
        if (hit && around && want.length) around.open = true;
      }
      card.hidden = !fit && want.length > 0;
      shown += !card.hidden;
    }
    said.textContent = shown + " of " + cards.length + " images";
    document.dispatchEvent(new CustomEvent("filtered", { detail: want.length > 0 }));
  };
  form.addEventListener("change", filter);
  form.addEventListener("reset", () => setTimeout(filter));
  form.addEventListener("submit", (event) => event.preventDefault());
  filter();
})();
