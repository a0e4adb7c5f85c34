"use strict";
// The filter lives in the address (#node=…&severity=…), so that a view can be linked, kept and opened again. Hidden rows still print.
(() => {
  const FIELDS = ["node", "rack", "concern", "severity", "verdict", "cause", "q", "order"];
  const LIMIT = 400;
  const $ = (id) => document.getElementById(id);
  const hosts = JSON.parse($("hosts").textContent);
  const body = $("findings");
  const rows = Array.from(body.rows, (tr, place) => ({
    tr, place, ...tr.dataset,
    spans: tr.dataset.n ? tr.dataset.n.split(",").map((part) => part.split("-").map(Number)) : [],
    text: null,
  }));
  let order = "severity";
  let everything = false;

  const read = () => {
    const given = new URLSearchParams(location.hash.slice(1));
    return Object.fromEntries(FIELDS.map((name) => [name, given.get(name) || ""]));
  };

  // How many chosen hosts come before each place: a row's span holds one if the sums at its ends differ.
  const chosen = (state) => {
    const node = state.node.trim().toLowerCase();
    const exact = hosts.some(([name]) => name.toLowerCase() === node);
    const sums = [0];
    hosts.forEach(([name, rack], i) => {
      const low = name.toLowerCase();
      const fits = (!node || (exact ? low === node : low.includes(node))) && (!state.rack || rack === state.rack);
      sums[i + 1] = sums[i] + (fits ? 1 : 0);
    });
    return sums;
  };

  const matcher = (state) => {
    const sums = state.node || state.rack ? chosen(state) : null;
    const words = state.q.toLowerCase().split(/\s+/).filter(Boolean);
    return (row) => {
      if (state.concern && row.concern !== state.concern) return false;
      if (state.severity && row.severity !== state.severity) return false;
      if (state.verdict && row.verdict !== state.verdict) return false;
      if (state.cause && row.cause !== state.cause) return false;
      if (sums && !row.spans.some(([a, b = a]) => sums[b + 1] > sums[a])) return false;
      if (!words.length) return true;
      if (row.text === null) row.text = row.tr.textContent.toLowerCase();
      return words.every((word) => row.text.includes(word));
    };
  };

  const arrange = (by) => {
    if (by === order) return;
    order = by;
    const first = (row) => (row.spans.length ? row.spans[0][0] : -1);
    const sorted = [...rows].sort((a, b) => (by === "node" && first(a) - first(b)) || a.place - b.place);
    body.append(...sorted.map((row) => row.tr));
  };

  const apply = () => {
    const state = read();
    for (const name of FIELDS) if ($("f-" + name)) $("f-" + name).value = state[name] || (name === "order" ? "severity" : "");
    arrange(state.order === "node" ? "node" : "severity");
    const fits = matcher(state);
    let found = 0;
    for (const tr of body.rows) {
      const row = rows[tr.dataset.i];
      const show = fits(row) && (++found <= LIMIT || everything);
      tr.classList.toggle("off", !show);
    }
    const shown = everything ? found : Math.min(found, LIMIT);
    const filtered = FIELDS.some((name) => name !== "order" && state[name]);
    $("count").textContent = `${shown} of ${rows.length} findings` + (state.cause ? ` with the cause ${state.cause}` : "");
    $("more").hidden = shown === found;
    $("more").textContent = `Show all ${found}`;
    $("clear").disabled = !filtered;
    $("none").hidden = found > 0;
  };

  const fromHash = () => {
    apply();
    if (location.hash.includes("=")) $("punch-list").scrollIntoView();
  };

  $("filter").hidden = false;
  $("filter").addEventListener("input", () => {
    const state = new URLSearchParams();
    const cause = read().cause;
    for (const name of FIELDS) {
      const value = name === "cause" ? cause : $("f-" + name).value;
      if (value && !(name === "order" && value === "severity")) state.set(name, value);
    }
    history.replaceState(null, "", "#" + state);
    apply();
  });
  $("filter").addEventListener("submit", (event) => event.preventDefault());
  $("clear").addEventListener("click", () => { history.replaceState(null, "", "#"); apply(); $("f-q").focus(); });
  $("more").addEventListener("click", () => { everything = true; apply(); });
  addEventListener("hashchange", fromHash);

  const fold = (button, open) => {
    button.setAttribute("aria-expanded", open);
    $(button.getAttribute("aria-controls")).classList.toggle("off", !open);
  };
  const racks = document.querySelectorAll("button.rack");
  for (const button of racks) {
    button.disabled = false;
    fold(button, hosts.length <= 96);
    button.addEventListener("click", () => fold(button, button.getAttribute("aria-expanded") !== "true"));
  }
  $("unfold").hidden = false;
  $("unfold").addEventListener("click", () => {
    const open = Array.from(racks).some((button) => button.getAttribute("aria-expanded") !== "true");
    racks.forEach((button) => fold(button, open));
  });

  // Paper has no folds: open what is folded, and close it again afterwards.
  let folded = [];
  addEventListener("beforeprint", () => {
    folded = Array.from(document.querySelectorAll("details:not([open])"));
    folded.forEach((details) => { details.open = true; });
  });
  addEventListener("afterprint", () => folded.forEach((details) => { details.open = false; }));

  fromHash();
})();
