(() => {
  const unfold = () => { // a term that is asked for is never folded
    const asked = location.hash && document.getElementById(location.hash.slice(1));
    if (asked) for (let one = asked.closest("details"); one; one = one.parentElement.closest("details")) one.open = true;
    if (asked) asked.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  unfold();
})();
