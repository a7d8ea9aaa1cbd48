// What pages do beyond links and forms: keys, blending, flicker, swapping what lies over the photo, copying. Pages work without it.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (words, root = document) => [...root.querySelectorAll(words)];
  const say = (words) => { $("said").textContent = words; };
  const copy = async (text, what) => {
    try {
      await navigator.clipboard.writeText(text);
      say(what + " copied");
      return true;
    } catch {
      say("this browser does not allow copying");
      return false;
    }
  };

  if (window.htmx) document.documentElement.classList.add("quick");
  document.addEventListener("submit", (event) => { // an address without empty fields
    for (const field of all("input, select", event.target)) if (!field.value) field.disabled = true;
    setTimeout(() => { for (const field of all("input, select", event.target)) field.disabled = false; }, 0);
  });
  document.addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-copy]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || !navigator.clipboard) return;
    event.preventDefault();
    const answer = await fetch(link.href);
    const text = answer.ok ? await answer.text() : "";
    if (!answer.ok || !(await copy(text, text.split("\n").length - 1 + " ids"))) location.href = link.href;
    else link.textContent = text.split("\n").length - 1 + " ids copied";
  });

  const over = $("over");
  const slider = $("blend");
  const flicker = $("flicker");
  let shown = over && !over.hidden ? over.getAttribute("src") : "";
  let way = new URLSearchParams(location.search).get("as") || "fill";
  let timer = 0;

  const keep = (changes) => { // this page and those before and behind it show the same
    const change = (href) => {
      const url = new URL(href, location.href);
      for (const [name, value] of Object.entries(changes)) { if (value) url.searchParams.set(name, value); else url.searchParams.delete(name); }
      return url.pathname + url.search;
    };
    for (const link of all("a[data-keep]")) link.setAttribute("href", change(link.href));
    history.replaceState(null, "", change(location.href));
  };
  const strength = (value) => { slider.value = value; over.style.opacity = String(value / 100); };
  const lay = (address) => {
    shown = address;
    over.hidden = !address;
    if (address) over.src = address;
  };
  const stop = () => {
    clearInterval(timer);
    timer = 0;
    flicker.setAttribute("aria-pressed", "false");
    over.hidden = !shown;
  };

  if (over && slider) {
    for (const hidden of [slider.parentElement, flicker]) hidden.hidden = false;
    for (const steps of all(".steps")) steps.hidden = true;
    strength(Number(slider.value));
    slider.addEventListener("input", () => strength(Number(slider.value)));
    slider.addEventListener("change", () => keep({ blend: String(Math.round(slider.value / 25) * 25) }));
    flicker.addEventListener("click", () => {
      if (timer) { stop(); return; }
      if (!shown) return;
      flicker.setAttribute("aria-pressed", "true");
      timer = setInterval(() => { over.hidden = !over.hidden; }, 450);
    });
    for (const link of all("a.layer")) {
      link.addEventListener("click", (event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey || way === "right") return; // of right and wrong the page has words
        const show = new URL(link.href).searchParams.get("show") || "";
        if (show === "pair") return;
        event.preventDefault();
        stop();
        lay(link.dataset.overlay);
        for (const other of all("a.layer")) other.toggleAttribute("aria-current", other === link);
        for (const other of all("a.way")) { const url = new URL(other.href); if (show) url.searchParams.set("show", show); else url.searchParams.delete("show"); other.href = url.pathname + url.search; }
        keep({ show });
        say(link.textContent + " is shown");
      });
    }
  }

  const id = $("id");
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, select, textarea")) return;
    const follow = (words) => { const link = document.querySelector(words); if (link) { event.preventDefault(); link.click(); } };
    if (event.key === "ArrowLeft") follow("a[rel=prev]");
    else if (event.key === "ArrowRight") follow("a[rel=next]");
    else if (event.key === "c" && id) copy(id.textContent.trim(), "id");
    else if ((event.key === "[" || event.key === "]") && over && slider) { strength(Math.max(0, Math.min(100, Number(slider.value) + (event.key === "]" ? 10 : -10)))); }
    else if (event.key === "/" && $("id-asked")) { event.preventDefault(); $("id-asked").focus(); }
    else if (/^[a-z0-9]$/.test(event.key)) follow('[data-key="' + event.key + '"]');
  });
})();
