// A page that a running program moves: it listens to what the program says, from a server or from the page around it.

/** What answers questions about formulas: the program that serves the page, or nobody. */
export function asker(from) {
  if (from !== "events") return null;
  return async question => {
    const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) };
    try {
      const answer = await fetch("formula", options);
      return answer.ok ? await answer.json() : { error: `the program does not answer this (${answer.status})` };
    } catch {
      return { error: "the program that served this page is gone" };
    }
  };
}

export function follow(page, from) {
  const hear = told => {
    if (told.show) {
      page.stopPlaying();
      page.show(told.show);
    }
    if (told.play) page.play([told.play], told.panels);
  };
  if (from === "parent") {
    window.addEventListener("message", event => event.source === window.parent && hear(event.data));
    window.parent.postMessage("here", "*");
    return null;
  }
  const source = new EventSource("events");
  source.addEventListener("message", event => hear(JSON.parse(event.data)));
  return source;
}
