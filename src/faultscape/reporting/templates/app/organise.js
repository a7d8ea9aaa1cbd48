// What pages of organisers do beyond links and forms: copying a link, results that follow.
(() => {
  const say = (words) => { document.getElementById("said").textContent = words; };
  for (const button of document.querySelectorAll("[data-copy-text]")) {
    button.addEventListener("click", async () => {
      try { await navigator.clipboard.writeText(document.getElementById(button.dataset.copyText).textContent.trim()); say("copied"); button.textContent = "Copied"; } catch { say("the browser does not let this page copy"); }
    });
  }
  const live = document.getElementById("live");
  if (live) {
    setInterval(async () => {
      if (document.hidden) return;
      try {
        const answer = await fetch("/results/part");
        if (answer.ok) live.innerHTML = await answer.text();
      } catch { say("the server does not answer"); }
    }, 15000);
  }
})();
