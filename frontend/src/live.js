// A page that a running program moves: it listens to what the program says, from a server or from the page around it.

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
