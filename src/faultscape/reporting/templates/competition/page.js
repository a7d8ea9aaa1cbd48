(() => {
  // Words that explain themselves: on hover and focus, and on the first tap, which else would lead to the glossary.
  const tip = document.createElement("div");
  tip.id = "tip";
  tip.hidden = true;
  tip.setAttribute("role", "tooltip");
  document.querySelector("main").append(tip);
  let of = null, away = 0, touched = false;
  const hide = () => {
    tip.hidden = true;
    if (of) of.removeAttribute("aria-describedby");
    of = null;
  };
  const show = (word) => {
    clearTimeout(away);
    if (of === word) return;
    hide();
    const named = document.getElementById(word.hash.slice(1));
    if (!named) return;
    of = word;
    tip.textContent = named.nextElementSibling.textContent;
    tip.hidden = false;
    word.setAttribute("aria-describedby", "tip");
    const at = word.getBoundingClientRect(), size = tip.getBoundingClientRect();
    tip.style.left = `${Math.max(16, Math.min(at.left, document.documentElement.clientWidth - size.width - 16))}px`;
    tip.style.top = `${at.bottom + size.height + 12 < innerHeight ? at.bottom + 6 : Math.max(8, at.top - size.height - 6)}px`;
  };
  const word = (event) => (event.target instanceof Element ? event.target.closest("a.term") : null);
  const leave = () => { away = setTimeout(hide, 200); };
  document.addEventListener("pointerover", (event) => {
    if (event.pointerType !== "touch" && word(event)) show(word(event));
    else if (event.target === tip) clearTimeout(away);
  });
  document.addEventListener("pointerout", (event) => { if (event.pointerType !== "touch" && (word(event) || event.target === tip)) leave(); });
  document.addEventListener("focusin", (event) => { if (word(event)) show(word(event)); else if (of) hide(); });
  document.addEventListener("focusout", (event) => { if (word(event)) leave(); });
  document.addEventListener("pointerdown", (event) => { touched = event.pointerType === "touch"; });
  document.addEventListener("click", (event) => {
    if (!word(event)) { if (event.target !== tip) hide(); return; }
    if (!touched) { hide(); return; }
    event.preventDefault();
    show(word(event));
  });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape" && of) hide(); });
  addEventListener("scroll", () => { if (of) hide(); }, { passive: true });

  // Groups of the gallery open where a filter finds something in them, and go where it finds nothing.
  const arrange = (wanted) => {
    for (const group of document.querySelectorAll(".group")) {
      const rest = group.querySelector("details.rest");
      group.hidden = ![...group.querySelectorAll(".card")].some((card) => !card.hidden);
      if (rest && (wanted || rest.dataset.by)) {
        if (wanted && !rest.open) rest.dataset.by = "filter";
        if (!wanted) delete rest.dataset.by;
        rest.open = wanted;
      }
    }
  };
  document.addEventListener("filtered", (event) => arrange(event.detail));
  document.addEventListener("change", (event) => { if (event.target.matches("input[name=tag]")) arrange(event.target.id !== "tag-any"); });

  // The bar of a narrow page closes behind whoever follows a link in it.
  const bar = document.querySelector(".topbar");
  const fold = () => bar.querySelectorAll("details[open]").forEach((one) => { one.open = false; });
  bar.addEventListener("click", (event) => { if (event.target.closest("nav a")) fold(); });
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") fold(); });

  // The contents say where the reader is.
  const links = new Map();
  for (const link of document.querySelectorAll(".side nav a, .topbar nav a")) links.set(link.hash.slice(1), [...(links.get(link.hash.slice(1)) || []), link]);
  const seen = new IntersectionObserver((entries) => {
    for (const entry of entries) {
      if (!entry.isIntersecting) continue;
      for (const [id, all] of links) all.forEach((link) => (id === entry.target.id ? link.setAttribute("aria-current", "true") : link.removeAttribute("aria-current")));
    }
  }, { rootMargin: "-15% 0px -75% 0px" });
  document.querySelectorAll("main section[id]").forEach((section) => seen.observe(section));

  // What is folded is printed, also by browsers whose style cannot open it.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = [...document.querySelectorAll("details:not([open])")];
    folded.forEach((one) => { one.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((one) => { one.open = false; }));
})();
