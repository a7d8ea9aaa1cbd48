(() => {
  const cards = [...document.querySelectorAll("li.picture")];
  const byId = new Map(cards.map((card) => [card.dataset.id, card]));
  const $ = (id) => document.getElementById(id);
  const folder = location.href.replace(/[^/]*$/, "");
  const prefix = "faultscape review " + folder + " ";
  let store = null;
  try { store = window.localStorage; store.getItem(prefix); } catch { $("forgets").hidden = false; }
  const decisions = new Map(Object.entries(KNOWN));
  const past = [];

  const recall = () => {
    for (let k = 0; store && k < store.length; k += 1) {
      const key = store.key(k);
      if (key.startsWith(prefix)) decisions.set(key.slice(prefix.length), store.getItem(key));
    }
  };
  const keep = (id, decision) => {
    decisions.set(id, decision);
    try { if (store) store.setItem(prefix + id, decision); } catch { $("forgets").hidden = false; }
  };
  const of = (card) => decisions.get(card.dataset.id) || "";

  const paint = (card) => {
    const decision = of(card);
    card.dataset.decision = decision;
    for (const button of card.querySelectorAll("button")) button.setAttribute("aria-pressed", String(button.dataset.choice === decision));
  };
  const tell = () => {
    const count = (what) => cards.filter((card) => of(card) === what).length;
    const open = count("");
    $("done").value = cards.length - open;
    $("said").textContent = count("accept") + " accepted, " + count("reject") + " rejected, " + open + " to go";
    $("undo").disabled = !past.length;
    $("rest").disabled = !open;
  };
  const filter = () => {
    const want = $("filter").value;
    for (const card of cards) card.hidden = want !== "all" && of(card) !== want;
    $("none").hidden = cards.some((card) => !card.hidden);
  };

  let here = 0;
  const focus = (card) => {
    if (!card) return;
    cards[here].tabIndex = -1;
    here = cards.indexOf(card);
    card.tabIndex = 0;
    card.focus({ preventScroll: true });
    card.scrollIntoView({ block: "nearest" });
  };
  const step = (by) => {
    let at = here + by;
    while (cards[at] && cards[at].hidden) at += Math.sign(by);
    focus(cards[at]);
  };
  const columns = () => {
    const shown = cards.filter((card) => !card.hidden);
    const next = shown.findIndex((card) => card.offsetTop > shown[0].offsetTop);
    return next < 1 ? Math.max(1, shown.length) : next;
  };
  const row = (by) => {
    const shown = cards.filter((card) => !card.hidden);
    focus(shown[shown.indexOf(cards[here]) + by * columns()]);
  };

  const decide = (changes) => {
    past.push(changes.map(([id]) => [id, decisions.get(id) || ""]));
    for (const [id, decision] of changes) { keep(id, decision); paint(byId.get(id)); }
    tell();
  };
  const choose = (card, decision) => {
    decide([[card.dataset.id, decision]]);
    focus(card);
    step(1);
  };
  const undo = () => {
    const before = past.pop();
    if (!before) return;
    for (const [id, decision] of before) { keep(id, decision); paint(byId.get(id)); byId.get(id).hidden = false; }
    focus(byId.get(before[0][0]));
    tell();
  };
  const save = () => {
    recall();
    const cell = (text) => (/[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text);
    const rows = [...decisions].filter(([id, decision]) => decision || KNOWN[id]).sort(([a], [b]) => (a < b ? -1 : 1));
    const text = ["id,decision", ...rows.map((r) => r.map(cell).join(","))].join("\n") + "\n";
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = "accept.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  };

  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.tagName === "SELECT") return;
    const keys = {
      a: () => choose(cards[here], "accept"), r: () => choose(cards[here], "reject"), u: undo, s: save,
      j: () => step(1), k: () => step(-1), ArrowRight: () => step(1), ArrowLeft: () => step(-1),
      ArrowDown: () => row(1), ArrowUp: () => row(-1), o: () => cards[here].querySelector(".frame").click(),
    };
    if (!Object.hasOwn(keys, event.key)) return;
    event.preventDefault();
    keys[event.key]();
  });
  for (const card of cards) {
    card.addEventListener("focus", () => { cards[here].tabIndex = -1; here = cards.indexOf(card); card.tabIndex = 0; });
    for (const button of card.querySelectorAll("button")) {
      button.addEventListener("click", () => {
        const decision = of(card) === button.dataset.choice ? "" : button.dataset.choice;
        decide([[card.dataset.id, decision]]);
      });
    }
  }
  $("undo").addEventListener("click", undo);
  $("save").addEventListener("click", save);
  $("filter").addEventListener("change", filter);
  $("rest").addEventListener("click", () => decide(cards.filter((card) => !of(card)).map((card) => [card.dataset.id, "accept"])));
  recall();
  cards.forEach(paint);
  tell();
  filter();
})();
