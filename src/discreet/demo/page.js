// The page stands without this script; with it, the day can be replayed and pointed at.
(() => {
  const data = JSON.parse(document.getElementById("moments").textContent);
  const slots = data.times.length - 1;
  const wide = 10;
  const y = (p) => 100 - 100 * p;
  const percent = (p) => (p > 0 && p < 0.005 ? "under 1 %" : p >= 0.995 && p < 1 ? "over 99 %" : Math.round(100 * p) + " %");
  document.documentElement.classList.add("js");

  // The belief that is drawn in each slot after `seen` outputs: at="any" is a history, and stops where the day stands.
  const drawn = (secret, seen) =>
    secret.at === "any"
      ? Array.from({ length: slots }, (_, u) => (u < seen ? secret.moments[u + 1][0] : null))
      : secret.moments[seen];
  const limit = (secret, u) => (secret.at === "any" ? secret.limit[0] : secret.limit[u]);
  const prior = (secret, u) => (secret.at === "any" ? secret.prior[0] : secret.prior[u]);

  const step = (values, closed) => {
    let path = "";
    values.forEach((p, u) => {
      if (p === null) return;
      const fresh = u === 0 || values[u - 1] === null;
      path += fresh ? (closed ? `M${u * wide},100V${y(p)}` : `M${u * wide},${y(p)}`) : `V${y(p)}`;
      path += `H${(u + 1) * wide}`;
      if (closed && (u === slots - 1 || values[u + 1] === null)) path += "V100Z";
    });
    return path;
  };
  const over = (secret, values) =>
    values
      .map((p, u) => {
        if (p === null || p <= limit(secret, u) + 1e-4) return "";
        return `M${u * wide},${y(p)}H${(u + 1) * wide}V${y(limit(secret, u))}H${u * wide}Z`;
      })
      .join("");

  // What is said of a secret and of all of them, of the hours that the observer has watched.
  const judged = (secret, seen) => {
    const any = secret.at === "any";
    const beliefs = any ? [secret.moments[seen][0]] : secret.moments[seen].slice(0, seen);
    const gaps = beliefs.map((p, u) => (p === null ? -Infinity : p - limit(secret, u)));
    const worst = gaps.indexOf(Math.max(...gaps));
    if (seen === 0 || !(gaps[worst] > -Infinity)) return { over: false, words: "nothing was seen yet" };
    const breached = gaps[worst] > 1e-4;
    const when = any ? "" : ` at ${data.times[worst]}`;
    const words = `${breached ? "✗" : "✓"} ${percent(beliefs[worst])}${when}, limit ${percent(limit(secret, worst))}`;
    return { over: breached, words };
  };
  const badges = (seen) => {
    document.querySelectorAll("article[data-mechanism]").forEach((article) => {
      const { secrets } = data.mechanisms[article.dataset.mechanism];
      const found = secrets.map((secret) => judged(secret, seen));
      article.querySelectorAll(".verdict").forEach((badge, number) => {
        badge.className = `verdict ${found[number].over ? "over" : "under"}`;
        badge.textContent = found[number].words.replaceAll(" %", "\u00a0%");
      });
      const out = found.filter((one) => one.over).length;
      const chip = article.querySelector(".chip");
      chip.className = `chip ${out ? "bad" : "good"}`;
      const all = secrets.length;
      chip.textContent = out ? `✗ ${out} of ${all} secrets given away` : `✓ ${all} of ${all} secrets kept`;
    });
  };

  const slider = document.querySelector(".watch input");
  const until = document.querySelector(".watch output");
  const show = () => {
    const seen = Number(slider.value);
    until.textContent = seen === 0 ? "nothing yet" : data.times[seen];
    badges(seen);
    document.querySelectorAll(".later").forEach((veil) => {
      veil.style.display = seen < slots ? "block" : "none";
      veil.style.left = `${(100 * seen) / slots}%`;
    });
    document.querySelectorAll(".plot").forEach((plot) => {
      const secret = data.mechanisms[plot.dataset.mechanism].secrets[plot.dataset.secret];
      const values = drawn(secret, seen);
      plot.querySelector(".belief").setAttribute("d", step(values, false));
      plot.querySelector(".area").setAttribute("d", step(values, true));
      plot.querySelector(".over-area").setAttribute("d", over(secret, values));
    });
  };
  slider.addEventListener("input", show);
  show();

  document.querySelectorAll("article").forEach((article) => {
    const read = article.querySelector(".read");
    const point = (event) => {
      const plot = event.target.closest(".plot, .ribbon");
      if (!plot) return;
      const box = plot.getBoundingClientRect();
      const slot = Math.min(slots - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * slots)));
      const mechanism = data.mechanisms[article.dataset.mechanism];
      const seen = Number(slider.value);
      const beliefs = mechanism.secrets
        .map((secret) => [secret, drawn(secret, seen)[slot]])
        .filter(([, p]) => p !== null)
        .map(([secret, p]) => `${secret.name} ${percent(p)} (guess ${percent(prior(secret, slot))}, limit ${percent(limit(secret, slot))})`);
      const shown = slot < seen ? mechanism.shown[slot] || "silence" : "not yet";
      read.textContent = `${data.times[slot]} · truth: ${data.truth[slot]} · seen: ${shown} · ${beliefs.join(" · ")}`;
      article.querySelectorAll(".cursor").forEach((line) => {
        line.style.display = "inline";
        line.setAttribute("x1", (slot + 0.5) * wide);
        line.setAttribute("x2", (slot + 0.5) * wide);
      });
    };
    const leave = () => article.querySelectorAll(".cursor").forEach((line) => (line.style.display = "none"));
    article.addEventListener("pointermove", point);
    article.addEventListener("pointerdown", point);
    article.addEventListener("pointerleave", leave);
  });
})();
