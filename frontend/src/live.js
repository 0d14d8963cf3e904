// A page that a running program moves: it listens to what the program says, from a server or from the page around it.

/** What answers questions about formulas: the program that serves the page, by either way; nobody if there is none. */
export function asker(from) {
  return { events: fromServer, parent: fromParent }[from] ?? null;
}

async function fromServer(question) {
  const options = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(question) };
  try {
    const answer = await fetch("formula", options);
    return answer.ok ? await answer.json() : { error: `the program does not answer this (${answer.status})` };
  } catch {
    return { error: "the program that served this page is gone" };
  }
}

let asked = 0;

function fromParent(question) {
  const number = ++asked;
  return new Promise(resolve => {
    const hear = event => {
      if (event.source !== window.parent || event.data?.answers !== number) return;
      window.removeEventListener("message", hear);
      clearTimeout(clock);
      resolve(event.data.answer);
    };
    const clock = setTimeout(() => resolve({ error: "the program does not answer; is its kernel running?" }), 30_000);
    window.addEventListener("message", hear);
    window.parent.postMessage({ question, number }, "*");
  });
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
