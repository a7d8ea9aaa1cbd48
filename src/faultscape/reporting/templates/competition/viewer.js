(() => {
  const dialog = document.getElementById("viewer");
  if (!dialog || !dialog.showModal) return;
  const WRONG = { first: [222, 84, 24], second: [38, 132, 190], both: [122, 40, 120], differ: [214, 30, 120], unknown: [138, 138, 138] };
  const [blend, differ] = ["blend", "differ"].map((name) => dialog.querySelector(`[data-pane=${name}]`));
  const slider = blend.querySelector("input"), stops = blend.querySelector(".stops"), counts = differ.querySelector(".counts");
  const [first, second] = ["first", "second"].map((name) => dialog.querySelector(`select[name=${name}]`));
  const legend = [...document.querySelectorAll(".key.inline li")].map((li) => [li.textContent, getComputedStyle(li.querySelector("i")).backgroundColor.match(/\d+/g).map(Number)]);
  const code = ([r, g, b]) => ((b << 16) | (g << 8) | r) >>> 0;
  const names = new Map(legend.map(([name, colour]) => [code(colour), name]));
  const unlabelled = legend.length ? code(legend[legend.length - 1][1]) : -1;
  let card = null, opener = null, layers = [], turn = 0;

  const cards = () => [...document.querySelectorAll("article.card")].filter((one) => !one.hidden && one.querySelector("figure[data-role] img"));
  const element = (name, attributes, ...children) => {
    const made = Object.assign(document.createElement(name), attributes);
    made.append(...children);
    return made;
  };
  const figure = (role) => card.querySelector(`figure[data-role=${role}] img`);
  const maps = () => [...card.querySelectorAll("figure[data-role=model]")].filter((one) => one.querySelector("img"))
    .map((one) => ({ place: one.dataset.model, name: one.querySelector("figcaption b").textContent, image: one.querySelector("img") }))
    .sort((a, b) => a.place - b.place);
  const pixels = async (image) => {
    const copy = element("img", { src: image.src });
    await copy.decode();
    const canvas = element("canvas", { width: copy.naturalWidth, height: copy.naturalHeight });
    const context = canvas.getContext("2d", { willReadFrequently: true });
    context.drawImage(copy, 0, 0);
    return { width: canvas.width, height: canvas.height, of: new Uint32Array(context.getImageData(0, 0, canvas.width, canvas.height).data.buffer).map((v) => v & 0xffffff) };
  };

  const mix = () => {
    const at = Number(slider.value), lower = Math.min(Math.floor(at), layers.length - 1), share = at - lower;
    layers.forEach(({ view }, k) => { view.style.opacity = k <= lower ? 1 : k === lower + 1 ? share : 0; });
    stops.querySelectorAll("button").forEach((button, k) => button.setAttribute("aria-pressed", String(Math.abs(at - k) < 0.01)));
    const words = share < 0.01 ? layers[lower].name : `${layers[lower].name} ${Math.round(100 - 100 * share)} %, ${layers[lower + 1].name} ${Math.round(100 * share)} %`;
    slider.setAttribute("aria-valuetext", words);
    blend.querySelector(".stage").setAttribute("aria-label", words);
  };
  const shape = (stage, image) => {
    const ratio = image.width / image.height || 4 / 3;
    stage.style.aspectRatio = String(ratio);
    stage.style.width = `min(100%, ${(innerWidth < 640 ? 46 : 66) * ratio}vh)`;
  };
  const layered = (chosen) => {
    const photo = figure("image"), truth = figure("truth");
    const found = [...(photo ? [{ name: "image", image: photo }] : []), ...chosen, ...(truth ? [{ name: "truth", image: truth }] : [])];
    layers = found.map(({ name, image }) => ({ name, image, view: element("img", { src: image.src, alt: "", className: image === photo ? "" : "flat" }) }));
    const stage = blend.querySelector(".stage");
    stage.replaceChildren(...layers.map(({ view }) => view));
    shape(stage, found[0].image);
    slider.max = String(layers.length - 1);
    blend.querySelector(".blend").hidden = layers.length < 2;
    stops.replaceChildren(...layers.map(({ name }, k) => element("button", { type: "button", textContent: name, onclick: () => { slider.value = String(k); mix(); } })));
  };
  const compare = async (a, b) => {
    const mine = ++turn, truth = figure("truth"), photo = figure("image");
    const [one, two, right] = await Promise.all([a.image, b.image, truth].map((image) => image && pixels(image)));
    if (mine !== turn) return;
    const canvas = element("canvas", { className: "flat", width: one.width, height: one.height });
    const context = canvas.getContext("2d"), picture = context.createImageData(one.width, one.height), total = { first: 0, second: 0, both: 0, differ: 0, unknown: 0 };
    for (let k = 0; k < one.of.length; k += 1) {
      if (one.of[k] === two.of[k]) continue;
      const what = !right ? "differ" : right.of[k] === unlabelled ? "unknown" : two.of[k] === right.of[k] ? "first" : one.of[k] === right.of[k] ? "second" : "both";
      total[what] += 1;
      picture.data.set([...WRONG[what], what === "unknown" ? 190 : 235], 4 * k);
    }
    context.putImageData(picture, 0, 0);
    const words = right ? { first: `${a.name} wrong`, second: `${b.name} wrong`, both: "both wrong, differently", unknown: "differ, truth is void" } : { differ: "differ" };
    const said = Object.entries(words).filter(([what]) => what !== "unknown" || total.unknown).map(([what, text]) => [what, text, `${((100 * total[what]) / one.of.length).toFixed(1)} %`]);
    counts.replaceChildren(...said.map(([what, text, share]) => element("li", {}, element("i", { style: `background:rgb(${WRONG[what]})` }), `${text} `, element("b", { textContent: share }))));
    const stage = differ.querySelector(".stage");
    stage.replaceChildren(...(photo ? [element("img", { src: photo.src, alt: "", className: "under" })] : []), canvas);
    stage.setAttribute("aria-label", said.map(([, text, share]) => `${text}: ${share}`).join("; "));
    shape(stage, a.image);
    const seen = new Set([one, two, right].flatMap((map) => (map ? [...new Set(map.of)] : [])));
    dialog.querySelector(".classes").replaceChildren(...legend.filter(([, colour]) => seen.has(code(colour))).map(([name, colour]) => element("li", {}, element("i", { style: `background:rgb(${colour})` }), name)));
  };
  const update = (stop) => {
    const known = maps(), chosen = [first, second].map((select) => known.find((one) => one.place === select.value)).filter(Boolean);
    layered(chosen);
    const at = layers.findIndex((layer) => layer.image === stop);
    slider.value = String(Math.max(at, 0));
    mix();
    differ.hidden = chosen.length < 2;
    if (chosen.length === 2) compare(...chosen);
    else dialog.querySelector(".classes").replaceChildren();
  };
  const show = (next, image) => {
    card = next;
    const all = cards(), at = all.indexOf(card), known = maps();
    const place = element("span", { textContent: `${at + 1} of ${all.length}` });
    dialog.querySelector("h2").replaceChildren(`${card.querySelector("h4").textContent} `, place);
    dialog.querySelectorAll("[data-go]").forEach((button) => { button.disabled = !all[at + Number(button.dataset.go)]; });
    const duel = [...card.querySelectorAll(".quad figure[data-role=model]")].map((one) => one.dataset.model).filter((model) => known.some((one) => one.place === model));
    const pair = [...new Set([...duel, ...known.map((one) => one.place)])].slice(0, 2);
    const clicked = known.find((one) => one.image === image);
    if (clicked && !pair.includes(clicked.place)) pair[0] = clicked.place;
    [first, second].forEach((select, k) => {
      select.replaceChildren(...known.map(({ place: value, name }) => element("option", { value, textContent: name })));
      select.value = pair[k] ?? "";
    });
    update(image);
  };
  const go = (step) => {
    const all = cards(), next = all[all.indexOf(card) + step];
    if (next) show(next, null);
  };

  document.addEventListener("click", (event) => {
    const link = event.target.closest("a.enlarge");
    if (!link) return;
    event.preventDefault();
    opener = link;
    const shown = link.closest("article.card") ? link : document.querySelector(`${link.hash} a.enlarge`); // at the top
    show(shown.closest("article.card"), shown.querySelector("img"));
    dialog.showModal();
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.target.matches("input, select") || !["ArrowLeft", "ArrowRight"].includes(event.key)) return;
    event.preventDefault();
    go(event.key === "ArrowLeft" ? -1 : 1);
  });
  dialog.addEventListener("click", (event) => {
    const button = event.target.closest("[data-go]");
    if (button) go(Number(button.dataset.go));
    else if (event.target === dialog || event.target.closest("[data-close]")) dialog.close();
  });
  dialog.addEventListener("close", () => {
    turn += 1;
    if (opener && opener.closest("article.card") === card) return;
    const around = card.closest("details.rest");
    if (around) around.open = true;
    card.querySelector("a.enlarge").focus();
  });
  slider.addEventListener("input", mix);
  [first, second].forEach((select) => select.addEventListener("change", () => update(layers[Math.round(Number(slider.value))]?.image)));
})();
