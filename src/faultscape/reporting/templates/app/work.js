// Answering without waiting: the next items are loaded before they are needed, answers go into a queue that survives a reload, and each is sent until the server has it.
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (words, root = document) => [...root.querySelectorAll(words)];
  const work = $("work");
  if (!work) return;
  const { token, task, user, store } = work.dataset;
  const SETTLE = Number(work.dataset.settle); // milliseconds
  const choices = task === "choices", points = task === "points";
  const AHEAD = 5, MOST = 20, WAIT = [500, 1000, 2000, 5000, 10000], LATER = 30000, PATIENCE = 20000, FEW = 4; // items, answers, milliseconds, classes that a question names
  const say = (words) => { $("said").textContent = words; };
  const show = (id, yes) => { $(id).hidden = !yes; };

  // The queue of answers that the server has not confirmed. One page of a browser sends at a time.
  const place = ["faultscape", store, user, task].join(":");
  const queue = () => { try { return JSON.parse(localStorage.getItem(place)) || []; } catch { return []; } };
  let memory = null; // the queue, while the browser cannot store it
  const keep = (rows) => {
    try { localStorage.setItem(place, JSON.stringify(rows)); memory = null; } catch { memory = rows; }
    const number = rows.length;
    for (const button of all(".unsent")) {
      button.hidden = !number;
      button.textContent = number + (number === 1 ? " answer" : " answers") + " not sent yet" + (memory ? ", and this browser cannot keep them: leave this page open" : "");
    }
  };
  const waiting = () => memory || queue();
  let sending = false, failed = 0, timer = 0, unwilling = false; // the server refuses all, and says why
  const in_time = () => AbortSignal.timeout?.(PATIENCE); // a connection that died says nothing for minutes; asking again does no harm
  const locked = (act) => navigator.locks ? navigator.locks.request(place, act) : act();
  const send = async () => {
    if (sending || !waiting().length) return;
    sending = true;
    clearTimeout(timer);
    try {
      await locked(async () => {
        while (waiting().length) {
          const rows = waiting().slice(0, MOST), keys = new Set(rows.map((row) => row.key));
          keep(waiting().map((row) => (keys.has(row.key) ? { ...row, tried: true } : row))); // from now on the server may have it, whatever is heard of it
          const answer = await fetch("/api/answers", {
            method: "POST", headers: { "content-type": "application/json", "x-faultscape": token }, body: JSON.stringify({ task, answers: rows.map(({ tried, ...row }) => row) }), signal: in_time(),
          });
          if (!answer.ok) {
            unwilling = lasting(answer);
            if (unwilling) refuse((await answer.json()).words + ". Your answers are kept in this browser.");
            throw new Error("status " + answer.status);
          }
          const { taken, refused } = await answer.json();
          const gone = new Set([...taken, ...refused.map((row) => row.key)]);
          if (unwilling) show("feedback", false);
          unwilling = false;
          for (const row of refused) refuse("An answer was refused: " + row.why);
          if (refused.length) { discarded.clear(); skipped.clear(); } // what was not taken is asked once more
          keep(waiting().filter((row) => !gone.has(row.key)));
          failed = 0;
        }
      });
    } catch {
      timer = setTimeout(send, WAIT[Math.min(failed++, WAIT.length - 1)]);
    }
    sending = false;
  };
  const lasting = (answer) => answer.status < 500 && answer.status !== 429; // what waiting alone does not mend
  const refuse = (...parts) => { $("feedback").replaceChildren(...parts); show("feedback", true); };
  const key_of_its_own = () => [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join(""); // randomUUID is not there over plain HTTP
  // How many items are left: as the server counted, less what it had not heard of then. One that it may have heard of meanwhile changes nothing, so that the number does not jump.
  let left = null, done = null, said = 0; // done: items that are answered
  const count = (found, unheard, taken_back) => {
    left = Math.max(found.left - unheard, Math.min(found.left + taken_back, left ?? found.left - unheard));
    if (done === null) done = found.done + unheard - taken_back; else if (!unheard && !taken_back) done = found.done;
  };
  const add = (row) => { said += 1; keep([...waiting(), { key: key_of_its_own(), ...row }]); send(); };

  // Items ahead, with their pictures decoded, and kept as long as the item is: the browser need not ask for them again.
  let ahead = [], current = null, last = null, begun = 0, session = null, finished = false, loading = false, paused = 0, again = 0, held = 0;
  const discarded = new Set(), skipped = new Set(); // images, and items of theirs that need not be given again
  const name = (item) => item.id + ":" + item.repeat;
  const resting = () => !$("pause").hidden;
  const picture = async (address) => {
    const made = new Image();
    for (let tries = 0; tries < 8; tries++) {
      made.src = address;
      try { await made.decode(); break; } catch { await new Promise((done) => setTimeout(done, 1000)); }
    }
    return made;
  };
  const fetch_pictures = (item) => {
    const sides = choices ? [item.left, item.right].flatMap((side) => [side[way === "outline" ? way : "fill"], side.mark]) : [item.wide, item.place];
    item.held ||= {};
    const made = [item.photo, ...sides].filter(Boolean).map((address) => (item.held[address] ||= picture(address)));
    item.there = false;
    item.ready = Promise.all(made).then(() => { item.there = true; });
  };
  const load = async () => {
    clearTimeout(again);
    if (loading || ahead.length >= AHEAD) return;
    loading = true;
    const have = [...ahead, ...(current ? [current] : []), ...waiting().filter((row) => row.id && !row.undo)].map(name).concat([...skipped]);
    let wait = 0;
    const before = said, unheard = waiting().filter((row) => !row.undo).length, taken_back = waiting().length - unheard;
    try {
      const answer = await fetch("/api/items?" + new URLSearchParams({ task, number: AHEAD - ahead.length, have: have.join(",") }), { headers: { "x-faultscape": token }, signal: in_time() });
      if (answer.status === 401) { location.href = "/"; return; }
      if (!answer.ok) throw new Error(lasting(answer) ? (await answer.json()).words : "");
      const found = await answer.json();
      if (failed && !unwilling) send(); // the server is there again
      const mine = new Set([...ahead, ...(current ? [current] : [])].map(name)); // an answer may have been taken back meanwhile
      for (const item of found.items) if (discarded.has(item.image_id)) skipped.add(name(item));
      const fresh = found.items.filter((item) => !mine.has(name(item)) && !skipped.has(name(item)));
      fresh.forEach(fetch_pictures);
      ahead.push(...fresh);
      count(found, unheard + said - before, taken_back + said - before);
      instruct(found.instructions);
      finished = found.finished;
      held = found.held;
      if (finished) wait = LATER; // others may leave items, and discarded images be replaced
      else if (!fresh.length) wait = found.items.length ? 1 : 1000; // what is left waits for answers that are under way
      else if (ahead.length < AHEAD) wait = 1; // keys came faster
      $("waiting").textContent = "Loading …";
    } catch (error) {
      wait = finished ? LATER : 1000;
      const why = error instanceof TypeError || error.name === "TimeoutError" || !error.message ? "The server does not answer." : error.message + ".";
      $("waiting").textContent = why + " Your answers are kept in this browser, and this page continues by itself.";
    }
    loading = false;
    if (wait) again = setTimeout(() => { if (!finished || !document.hidden) load(); }, wait); // who looks elsewhere takes nothing from others
    if (finished && !$("finished").hidden) show_held();
    if (!current && !resting() && (ahead.length || (finished && $("finished").hidden))) next();
  };
  document.addEventListener("visibilitychange", () => { if (finished && !document.hidden) load(); });

  const instruct = (words) => { // the organiser may write them anew while this page is open
    if (words === $("instructions").textContent) return;
    $("instructions").textContent = words;
    show("instructed", Boolean(words));
    refuse(words ? "The instructions changed; press ? to read them." : "The instructions were withdrawn.");
  };

  const show_held = () => { // what others have in hand may come here yet
    $("held").textContent = held === 1 ? "1 item is with another person; if they leave it unanswered, it comes back after " + $("held").dataset.minutes + " minutes." : held + " items are with other people; those left unanswered come back after " + $("held").dataset.minutes + " minutes.";
    show("held", held);
  };
  const finish = () => {
    const title = $("finished").querySelector("h1");
    if (begun) { title.textContent = "All done"; $("finished-words").textContent = $("finished-words").dataset.done; }
    show("undo-last", Boolean(last || voted));
    show_held();
    title.focus();
  };
  const next = async () => {
    current = ahead.shift() || null;
    if (current || !finished) load();
    show("waiting", !current && !finished);
    show("finished", !current && finished);
    work.hidden = !current;
    if (!current) { if (finished) finish(); return; }
    if (session !== null && current.session.number > session && current.session.number !== paused) {
      paused = current.session.number;
      ahead.unshift(current);
      current = null;
      work.hidden = true;
      $("paused").textContent = "That was session " + session + ", of " + size + " items. Rest your eyes, then continue.";
      show("undo-rest", Boolean(last || voted));
      show("pause", true);
      $("pause").querySelector("h1").focus();
      return;
    }
    const item = current;
    if (!item.there) { // only the first of a page has to be waited for
      work.hidden = true;
      show("waiting", true);
      await Promise.race([item.ready, new Promise((done) => setTimeout(done, 8000))]);
      if (current !== item) return;
      show("waiting", false);
      work.hidden = false;
    }
    draw(item);
  };
  let size = 20, understood = true, voted = false; // voted: to discard, and nothing said since
  let way = "fill", marked = true, flicker = 0;

  const chips = new Map(all(".class", work).map((chip) => [chip.dataset.class, chip]));
  const explain = (classes) => { // which colour is which class
    const asked = classes.filter((name) => chips.has(name));
    $("asked-classes").replaceChildren(...asked.map((name) => chips.get(name)));
    $("other-classes").replaceChildren(...[...chips.keys()].filter((name) => !asked.includes(name)).map((name) => chips.get(name)));
    show("highlighted", asked.length);
    for (const others of all("details.classes", work)) others.hidden = asked.length === chips.size;
  };
  const side_words = (side) => [["across", side], ["stacked", { left: "upper", right: "lower" }[side]]].map(([name, word]) => { // work.css shows the one that is true
    const made = document.createElement("span");
    made.className = name;
    made.textContent = word;
    return made;
  });
  const tell_outlines = () => { // what is outlined now; the server's picture has one pixel where nothing is
    if (!choices || !current?.classes.length) return;
    const marks = stages.map((stage) => stage.querySelector(".mark")), there = marks.filter((mark) => mark.naturalWidth > 1);
    const on = marked && way !== "none" && there.length && marks.every((mark) => mark.complete), words = $("outlined");
    if (!on) words.textContent = "Asked about:";
    else if (there.length === 1) words.replaceChildren("Outlined in the ", ...side_words(there[0].closest("[data-say]").dataset.say), " map only:");
    else words.textContent = "Outlined where a map shows " + (current.classes.length > 1 ? "them:" : "it:");
    $("highlighted").querySelector(".marked").hidden = !on;
  };
  const stages = all(".stage", work);
  const appear = (item) => { item.begun = begun = performance.now(); };
  const leave = (item) => { // an item that comes back was looked at before
    item.looked = (item.looked || 0) + (item.begun ? performance.now() - item.begun : 0);
    item.begun = 0;
  };
  const draw = (item) => {
    session = item.session.number;
    size = item.session.size;
    appear(item);
    if (!item.there) item.ready.then(() => { if (current === item) appear(item); }); // its pictures come late
    const place = done + 1, of = done + Math.max(left, 1);
    $("where").textContent = (item.training ? "Training: item " : "Item ") + place + " of " + of;
    $("session").max = of;
    $("session").value = done;
    peek(false);
    understood = true;
    show("understood", false);
    if (choices) {
      $("asked").textContent = !item.classes.length ? "Which is better?" : item.classes.length > FEW ? "Which map is better?" : "Which shows " + listed(item.classes) + " better?";
      $("mark").hidden = !item.classes.length;
      explain(item.classes);
    } else if (points) {
      $("asked").textContent = "What is in the middle of the ring?";
      $("panels").style.setProperty("--ratio", item.width / item.height);
      put($("wide"), item.wide);
      put($("place"), item.place);
      offer(item.predicted);
    } else {
      $("asked").textContent = "Does this image contain " + article(item.class) + "?";
      $("gloss").textContent = item.gloss;
      show("gloss", Boolean(item.gloss));
      const examples = $("examples");
      examples.hidden = !item.examples.length;
      examples.querySelector(".examples").replaceChildren(...item.examples.map((address) => { const made = new Image(); made.src = address; made.alt = "an image that shows " + item.class; return made; }));
    }
    for (const stage of stages) {
      const side = stage.closest("[data-say]")?.dataset.say;
      const photo = stage.querySelector(".photo");
      put(photo, item.photo);
      photo.width = item.width;
      photo.height = item.height;
      photo.alt = side ? "" : points ? "the image around the point, which a ring marks" : "the image"; // a button is called by its words
      if (side) { stage.querySelector(".over").dataset.side = side; }
    }
    lay();
    move(0, 0, 1);
    work.dataset.item = item.id;
    say($("asked").textContent);
  };
  const listed = (words) => (words.length > 1 ? words.slice(0, -1).join(", ") + " and " + words.at(-1) : words[0]);
  const article = (word) => (/^[aeiou]/i.test(word) ? "an " : "a ") + word;

  // How maps are shown: filled, as outlines, not at all; blended, flickering; the class marked.
  const put = (image, address) => { // until a picture is there nothing is shown, since it would be another item's
    if (image.getAttribute("src") !== address) image.src = address;
    image.style.visibility = image.complete ? "" : "hidden";
    image.onload = image.onerror = () => { image.style.visibility = ""; tell_outlines(); };
  };
  const lay = () => {
    if (!choices || !current) return;
    for (const stage of stages) {
      const over = stage.querySelector(".over"), mark = stage.querySelector(".mark"), side = current[over.dataset.side];
      over.hidden = way === "none";
      over.style.opacity = way === "outline" ? "1" : String($("blend").value / 100);
      put(over, side[way === "outline" ? way : "fill"]);
      mark.hidden = !(marked && side.mark && way !== "none");
      if (side.mark) put(mark, side.mark);
    }
    tell_outlines();
    for (const button of all("[data-way]")) button.setAttribute("aria-pressed", String(button.dataset.way === way));
    $("mark").setAttribute("aria-pressed", String(marked));
  };
  const show_as = (chosen) => {
    way = chosen;
    [current, ...ahead].filter(Boolean).forEach(fetch_pictures);
    lay();
  };
  const turn = () => {
    clearInterval(flicker);
    flicker = flicker ? 0 : setInterval(() => { for (const over of all(".over", work)) over.hidden = !over.hidden; }, 450);
    $("flicker").setAttribute("aria-pressed", String(Boolean(flicker)));
    if (!flicker) lay();
  };

  const peek = (on) => { // the image alone, or more of it, as long as a key or a finger stays down
    if (!$("peek")) return;
    if (on && current) current.peeked = true;
    work.classList.toggle("peeking", on);
    $("peek").setAttribute("aria-pressed", String(on));
  };

  // Points: the classes that models predict come first, the others in the order of their list; two of them are a border.
  const classes = all("[data-class]", work), likely = () => all("#likely [data-class]");
  let border = null; // not asked for, else the first of its two classes, '' before that
  const set_border = (to) => {
    border = to;
    $("border").setAttribute("aria-pressed", String(border !== null));
    $("border").firstElementChild.textContent = border === null ? "On a border between …" : border ? "… " + border + ", and which class?" : "A border: of which two classes?";
    for (const button of classes) if (border && button.dataset.say === border) button.setAttribute("aria-pressed", "true"); else button.removeAttribute("aria-pressed");
    if (border !== null) say(border ? "a border of " + border + " and which class?" : "a border between which two classes?");
  };
  const sought = () => { // of the classes that are meant, the one of this very name, else one that begins so
    const words = $("search").value.trim().toLowerCase(), name = (button) => button.dataset.say.toLowerCase();
    const found = all("[data-class]", work).filter((button) => name(button).includes(words));
    return [found, words && (found.find((button) => name(button) === words) || found.find((button) => name(button).startsWith(words)) || found[0])];
  };
  const filter = () => {
    const [found, first] = sought();
    for (const button of classes) { button.hidden = !found.includes(button); button.classList.toggle("sought", button === first); }
  };
  const offer = (predicted) => {
    const focused = classes.includes(document.activeElement);
    const first = predicted.map((name) => classes.find((button) => button.dataset.say === name)).filter(Boolean);
    $("likely").replaceChildren(...first);
    $("classes").replaceChildren(...classes.filter((button) => !first.includes(button)));
    for (const button of classes) button.querySelector("kbd").textContent = first.includes(button) && first.indexOf(button) < 9 ? first.indexOf(button) + 1 : button.dataset.letter;
    $("search").value = "";
    filter();
    set_border(null);
    if (focused) (first[0] || classes[0]).focus(); // a button that moves loses it
  };
  const choose = (chosen, event) => {
    if (border === null || !classes.some((button) => button.dataset.say === chosen)) { answer(chosen, event); return; }
    if (border && border !== chosen) { answer(border + "|" + chosen, event); return; }
    if (!bounces("pick", event)) set_border(border ? "" : chosen);
  };

  // Zoom and movement, the same on both sides.
  let x = 0, y = 0, scale = 1;
  const move = (to_x, to_y, to_scale) => {
    [x, y, scale] = to_scale <= 1 ? [0, 0, 1] : [to_x, to_y, Math.min(to_scale, 16)];
    for (const stage of stages) stage.style.transform = "translate(" + x + "px," + y + "px) scale(" + scale + ")";
    show("whole", scale > 1);
    work.classList.toggle("zoomed", scale > 1);
  };
  const zoom = (frame, at_x, at_y, by) => {
    const box = frame.getBoundingClientRect(), px = at_x - box.left, py = at_y - box.top, to = Math.max(1, Math.min(16, scale * by));
    move(px - (px - x) * to / scale, py - (py - y) * to / scale, to);
  };
  const fingers = new Map();
  let moved = false, apart = 0;
  for (const frame of all(".frame", work)) {
    frame.addEventListener("wheel", (event) => { event.preventDefault(); zoom(frame, event.clientX, event.clientY, event.deltaY < 0 ? 1.25 : 0.8); }, { passive: false });
    frame.addEventListener("pointerdown", (event) => { fingers.set(event.pointerId, event); moved = false; });
    frame.addEventListener("pointermove", (event) => {
      const before = fingers.get(event.pointerId);
      if (!before) return;
      fingers.set(event.pointerId, event);
      if (fingers.size === 2) {
        const [one, other] = [...fingers.values()], now = Math.hypot(one.clientX - other.clientX, one.clientY - other.clientY);
        if (apart) zoom(frame, (one.clientX + other.clientX) / 2, (one.clientY + other.clientY) / 2, now / apart);
        apart = now;
        moved = true;
      } else if (scale > 1) {
        const by_x = event.clientX - before.clientX, by_y = event.clientY - before.clientY;
        moved ||= Math.hypot(by_x, by_y) > 2;
        move(x + by_x, y + by_y, scale);
      }
    });
    for (const end of ["pointerup", "pointercancel", "pointerleave"]) frame.addEventListener(end, (event) => { fingers.delete(event.pointerId); apart = 0; });
    frame.addEventListener("dragstart", (event) => event.preventDefault());
  }

  const tell = (words) => {
    say(words);
    if (!work.hidden) refuse(words); else $(resting() ? "paused" : "finished-words").textContent = words;
  };
  let telling = 0;
  const pressed = { answer: -Infinity, undo: -Infinity, pick: -Infinity };
  const bounces = (act, event) => { // the second of a double click, or a key that bounces: nobody meant it
    const before = pressed[act];
    pressed[act] = event.timeStamp;
    return event.timeStamp < before + SETTLE || event.detail > 1;
  };
  const answer = (chosen, event) => {
    if (!current || work.hidden || $("reasons").open || $("help").open || !understood) return;
    if (bounces("answer", event) || event.timeStamp < begun + SETTLE) { // nobody can have looked at the item
      clearTimeout(telling);
      telling = setTimeout(() => show("ignored", false), 2000);
      show("ignored", true);
      say($("ignored").textContent);
      return;
    }
    show("feedback", false);
    voted = false;
    const item = current, shown = choices ? { way, marked, zoomed: scale > 1 } : points ? { peeked: Boolean(item.peeked), zoomed: scale > 1 } : {};
    leave(item);
    add({ id: item.id, repeat: item.repeat, chosen, seconds: Math.round(item.looked) / 1000, shown });
    last = item;
    left -= 1;
    done += 1;
    if (item.training && item.expected) {
      const right = item.expected === chosen;
      const words = (said_) => (said_ === "left" || said_ === "right" ? side_words(said_) : [said_]);
      if (right) refuse("Yes, ", ...words(chosen), " is the expected answer."); else refuse("Expected: ", ...words(item.expected), ". You answered ", ...words(chosen), ".");
      if (!right) { // the item stays until the person has looked
        understood = false;
        show("understood", true);
        $("understood").focus();
        return;
      }
    }
    next();
  };
  const undo = (event) => {
    if (bounces("undo", event)) return;
    if (voted) { // else what is taken back would be another answer than the one in mind
      voted = false;
      tell("A vote to discard cannot be undone." + (last ? " Press Undo again to undo the answer before it." : ""));
      return;
    }
    if (!last) { tell("There is nothing to undo."); return; }
    const rows = waiting(), at = rows.findLastIndex((row) => row.id === last.id && row.repeat === last.repeat && !row.undo);
    if (at >= 0 && !rows[at].tried) keep(rows.filter((_, k) => k !== at));
    else add({ id: last.id, repeat: last.repeat, undo: true });
    left += 1;
    done -= 1;
    if (current) leave(current);
    if (current && current !== last) ahead.unshift(current);
    ahead.unshift(last);
    last = null;
    show("feedback", false);
    show("finished", false);
    show("pause", false);
    next();
    say("the last answer is undone");
  };
  let opened = 0; // when the dialog was
  const discard = (event) => { if (!current || work.hidden || !understood) return; opened = event.timeStamp; $("reason-text").value = ""; $("reasons").showModal(); };
  $("reasons").querySelector("form").addEventListener("submit", (event) => {
    event.preventDefault(); // else all this is done a moment after the dialog is closed, when a key may have brought the next item
    if (event.timeStamp < opened + SETTLE) return; // by the key or the click that opened it
    $("reasons").close();
    if (event.submitter.value !== "discard" || !current) return;
    const reason = $("reasons").querySelector("[name=reason]:checked").value;
    add({ id: current.id, repeat: current.repeat, discard: reason, text: $("reason-text").value.trim(), seconds: Math.round((current.looked || 0) + performance.now() - begun) / 1000 });
    discarded.add(current.image_id);
    for (const item of ahead) if (item.image_id === current.image_id) skipped.add(name(item));
    left -= 1 + ahead.filter((item) => item.image_id === current.image_id).length;
    ahead = ahead.filter((item) => item.image_id !== current.image_id);
    if (last && last.image_id === current.image_id) last = null; // its other items are asked no more
    voted = true;
    next();
  });
  const go_on = (event) => { if (bounces("answer", event)) return; show("pause", false); session = null; next(); };
  const help = () => { if ($("help").open) $("help").close(); else if (!work.hidden && !$("reasons").open) $("help").showModal(); };

  for (const button of all("button", work)) button.addEventListener("click", (event) => { if (event.detail) button.blur(); }); // else the space bar would press it once more
  for (const button of all("[data-say]", work)) button.addEventListener("click", (event) => { if (moved) { moved = false; event.preventDefault(); return; } choose(button.dataset.say, event); });
  for (const button of all("[data-way]", work)) button.addEventListener("click", () => show_as(button.dataset.way));
  $("undo").addEventListener("click", undo);
  $("undo-last").addEventListener("click", undo);
  $("undo-rest").addEventListener("click", undo);
  $("understood").addEventListener("click", (event) => { if (!bounces("answer", event)) next(); });
  $("discard").addEventListener("click", discard);
  $("go-on").addEventListener("click", go_on);
  $("ask").addEventListener("click", help);
  for (const button of all(".unsent")) button.addEventListener("click", send);
  $("whole").addEventListener("click", () => move(0, 0, 1));
  if (choices) {
    $("flicker").addEventListener("click", turn);
    $("mark").addEventListener("click", () => { marked = !marked; lay(); });
    $("blend").addEventListener("input", lay);
  }
  if (points) {
    $("border").addEventListener("click", () => set_border(border === null ? "" : null));
    $("search").addEventListener("input", filter);
    $("search").addEventListener("keydown", (event) => {
      if (event.isComposing || event.repeat || (event.key !== "Enter" && event.key !== "Escape")) return;
      event.preventDefault();
      const found = event.key === "Enter" && sought()[1];
      $("search").value = "";
      filter();
      $("search").blur();
      if (found) choose(found.dataset.say, event);
    });
  }
  if ($("peek")) {
    const button = $("peek"), down = (event) => { event.preventDefault(); peek(true); };
    button.addEventListener("pointerdown", (event) => { button.setPointerCapture(event.pointerId); down(event); });
    button.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") down(event); });
    for (const end of ["pointerup", "pointercancel", "keyup", "blur"]) button.addEventListener(end, () => peek(false));
    button.addEventListener("contextmenu", (event) => event.preventDefault()); // a long touch opens none
    document.addEventListener("keyup", (event) => { if (event.key.toLowerCase() === "i") peek(false); });
    window.addEventListener("blur", () => peek(false)); // the key may come up elsewhere
  }

  const forced = "forced" in work.dataset;
  const keys = choices
    ? { 1: "left", ArrowLeft: "left", 2: "right", ArrowRight: "right", ...(forced ? {} : { 3: "both good", 4: "both bad", 5: "not sure", s: "skip" }) }
    : points ? Object.fromEntries(all("[data-say]:not([data-class])", work).map((button) => [button.querySelector("kbd").textContent, button.dataset.say])) : { y: "yes", n: "no", 5: "unsure" };
  document.addEventListener("keydown", (event) => {
    if (event.repeat && event.key === "Enter" && event.target.tagName === "BUTTON") event.preventDefault(); // a key that is held presses a button once
    if (event.ctrlKey || event.metaKey || event.altKey || event.repeat || $("reasons").open) return; // for a moment after it is closed, keys still go to its fields
    if (event.key === "?" && event.target.type !== "search") { event.preventDefault(); help(); return; }
    if ($("help").open) return;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (resting()) {
      if (key === "u") { event.preventDefault(); undo(event); } else if (key === "Enter" && event.target.tagName !== "BUTTON") { event.preventDefault(); go_on(event); }
      return;
    }
    if (event.target.type === "search") return;
    if (event.target.type === "range" && key.startsWith("Arrow")) return;
    if (key === "u") { event.preventDefault(); undo(event); return; }
    if (!current) return;
    if (key in keys) { event.preventDefault(); answer(keys[key], event); return; }
    if (key === "x") { event.preventDefault(); discard(event); return; }
    if (key === "0") { move(0, 0, 1); return; }
    if (key === "i" && $("peek")) { event.preventDefault(); peek(true); return; }
    if (points) {
      const meant = classes.find((button) => button.dataset.letter === key) || (key >= "1" && key <= "9" && likely()[key - 1]);
      if (key === "/") { event.preventDefault(); $("search").focus(); } else if (key === "b") set_border(border === null ? "" : null); else if (key === "Escape") set_border(null); else if (meant) choose(meant.dataset.say, event);
      return;
    }
    if (!choices) return;
    if (key === " " && event.target.tagName !== "BUTTON") { event.preventDefault(); turn(); } else if (key === "f" || key === "o" || key === "p") { show_as({ f: "fill", o: "outline", p: "none" }[key]); } else if (key === "h" && !$("mark").hidden) { marked = !marked; lay(); }
  });
  window.addEventListener("online", send);
  window.addEventListener("beforeunload", (event) => { if (memory && memory.length) event.preventDefault(); });

  if (matchMedia("(max-width: 40rem)").matches) for (const one of all("details.many")) one.open = false;
  keep(waiting());
  send();
  load();
})();
