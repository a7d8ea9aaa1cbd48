// What pages of organisers and of the second round do beyond links and forms: keys, copying a link, places and regions on an image, results that follow.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (words) => [...document.querySelectorAll(words)];
  const say = (words) => { $("said").textContent = words; };
  for (const button of all("[data-copy-text]")) {
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText($(button.dataset.copyText).textContent.trim()); say("copied"); button.textContent = "Copied"; } catch { say("this browser does not allow copying"); }
    });
  }

  // A form that asks on a page of its own asks in a dialog; the browser gives the keyboard back when it closes.
  for (const button of all("[data-dialog]")) {
    button.setAttribute("aria-haspopup", "dialog");
    button.addEventListener("click", (event) => { event.preventDefault(); $(button.dataset.dialog).showModal(); });
  }

  if (matchMedia("(max-width: 40rem)").matches) for (const one of all("details.many")) one.open = false; // unfolded without a script

  const live = $("live");
  if (live) {
    let before = "";
    setInterval(async () => {
      if (document.hidden) return;
      try {
        const answer = await fetch("/results/part" + location.search), text = answer.ok ? await answer.text() : before;
        if (text === before) return; // else the place of the keyboard would be lost
        before = text;
        const open = all("#live details[open]").map((one) => one.id);
        live.innerHTML = text;
        for (const id of open) if ($(id)) $(id).open = true;
      } catch { say("the server does not answer"); }
    }, 15000);
  }

  // A file of masks that is sent: how far it is, and what is said of it.
  const sending = $("sending");
  if (sending) {
    const bar = $("sent"), told = $("told"), button = sending.querySelector("button");
    const tell = (way, lines) => {
      const title = { taken: "Imported", part: "Partly imported", wrong: "Not imported" }[way];
      told.className = "notice " + way;
      told.replaceChildren(...[title, ...lines].map((line, k) => { const made = document.createElement("p"); made.append(k ? line : document.createElement("b")); if (!k) made.firstChild.textContent = line; return made; }));
      bar.hidden = true;
      button.disabled = false;
    };
    sending.addEventListener("submit", (event) => {
      event.preventDefault();
      const file = sending.elements.file.files[0], request = new XMLHttpRequest(); // fetch does not say how far it is
      if (!file) return;
      bar.hidden = false;
      bar.value = 0;
      button.disabled = true;
      told.className = "";
      told.textContent = "Sending …";
      request.open("POST", "/masks");
      request.setRequestHeader("x-faultscape", sending.elements.token.value);
      request.upload.addEventListener("progress", ({ loaded, total }) => { bar.max = total || 1; bar.value = loaded; if (loaded === total) told.textContent = "Reading …"; });
      request.addEventListener("load", () => {
        try {
          const { words, partly } = JSON.parse(request.responseText);
          tell(request.status !== 200 ? "wrong" : partly ? "part" : "taken", words);
        } catch { tell("wrong", ["The server refused the file."]); }
      });
      request.addEventListener("error", () => tell("wrong", ["The connection was lost; send the file again."]));
      request.send(file);
    });
  }

  const over = $("over");
  for (const button of all("[data-over]")) {
    button.addEventListener("click", () => {
      over.hidden = !button.dataset.over;
      if (button.dataset.over) over.src = button.dataset.over;
      for (const other of all("[data-over]")) other.setAttribute("aria-pressed", String(other === button));
    });
  }

  // A place on the image, or with data-region a rectangle that is dragged.
  const board = $("board"), fresh = $("fresh"), drawn = $("drawn");
  if (board) {
    const width = Number(board.dataset.width), height = Number(board.dataset.height);
    const at = (event) => {
      const box = board.querySelector(".photo").getBoundingClientRect();
      const within = (value, most) => Math.max(0, Math.min(most, value));
      return [within((event.clientX - box.left) * width / box.width, width), within((event.clientY - box.top) * height / box.height, height)];
    };
    let begun = null;
    board.addEventListener("dragstart", (event) => event.preventDefault());
    board.addEventListener("pointerdown", (event) => { begun = at(event); });
    board.addEventListener("pointermove", (event) => {
      if (!begun || !drawn) return;
      const [x, y] = at(event), left = Math.min(x, begun[0]), top = Math.min(y, begun[1]);
      for (const [name, value] of [["x", left], ["y", top], ["width", Math.abs(x - begun[0])], ["height", Math.abs(y - begun[1])]]) drawn.setAttribute(name, value);
      drawn.removeAttribute("display");
    });
    window.addEventListener("pointerup", (event) => {
      if (!begun) return;
      const [x, y] = at(event), [from_x, from_y] = begun;
      begun = null;
      if (drawn) {
        const left = Math.floor(Math.min(x, from_x)), top = Math.floor(Math.min(y, from_y)), wide = Math.round(Math.abs(x - from_x)), tall = Math.round(Math.abs(y - from_y));
        const region = wide > 2 && tall > 2 ? [left, top, Math.min(wide, width - left), Math.min(tall, height - top)].join(",") : "";
        $("tagging").elements.region.value = region;
        $("place").textContent = region ? "The tag is for the region at " + region + "; click for the whole image." : "The tag is for the whole image; drag on the image for a region.";
        if (!region) drawn.setAttribute("display", "none");
      } else if ($("finding")) {
        $("finding").elements.x.value = x.toFixed(1);
        $("finding").elements.y.value = y.toFixed(1);
        $("place").textContent = "At " + Math.round(x) + ", " + Math.round(y) + ". Click elsewhere to move it.";
        fresh.setAttribute("transform", "translate(" + x + " " + y + ") scale(" + width / 700 + ")");
        fresh.removeAttribute("display");
        $("finding").elements.kind.focus();
      }
    });
  }

  // The second of a double click, or a key that bounces: nobody meant it. The page is loaded anew between the two.
  const hasty = () => say("Too quick, ignored");
  for (const form of all("form[data-settle]")) {
    const place = "faultscape:pressed";
    form.addEventListener("click", (event) => { if (event.detail > 1 && event.target.closest("button")) { event.preventDefault(); hasty(); } });
    form.addEventListener("submit", (event) => {
      const pressed = event.submitter?.textContent, now = Date.now();
      let before = null;
      try { before = JSON.parse(sessionStorage.getItem(place)); sessionStorage.setItem(place, JSON.stringify({ pressed, now })); } catch { before = null; } // a browser that stores nothing
      if (before && before.pressed === pressed && Math.abs(now - before.now) < Number(form.dataset.settle)) { event.preventDefault(); hasty(); }
    });
  }

  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && event.target.tagName === "BUTTON") event.preventDefault(); // a key that is held presses a button once
    if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input:not([type=hidden]), select, textarea")) return;
    const follow = (words) => { const found = document.querySelector(words); if (found) { event.preventDefault(); found.click(); } };
    if (event.key === "ArrowLeft") follow("a[rel=prev]");
    else if (event.key === "ArrowRight") follow("a[rel=next]");
    else if (event.key.length === 1 && !event.repeat) follow('[data-key="' + CSS.escape(event.key) + '"]');
  });
})();
