// A page that a running program moves: it listens to what the program says, one line of JSON after the other.

export function follow(page) {
  const source = new EventSource("events");
  source.addEventListener("message", event => {
    const told = JSON.parse(event.data);
    if (told.show) {
      page.stopPlaying();
      page.show(told.show);
    }
    if (told.play) page.play([told.play], told.panels);
  });
  return source;
}
