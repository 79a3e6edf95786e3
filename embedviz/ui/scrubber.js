// One slider for the frames of several Plotly figures. It moves them in the browser, at once, and tells Python only where
// it comes to rest. Streamlit calls this again for every change of the data and keeps what is in the page, so the state
// hangs on the slider; only the newest call's cleanup may end it.

const REST = 500;
const PLAY = 400;
const TYPING = "input:not([type=range]), textarea, select, [contenteditable=true]";
const ACTING = "a, button, summary, input, [role=option], [role=slider], [role=menuitem]";

function focused() {
  let element = document.activeElement;
  while (element?.shadowRoot?.activeElement) element = element.shadowRoot.activeElement;
  return element;
}

function create(root, part) {
  const state = { told: null, sent: new Set(), turn: 0, known: new Map(), playing: 0, later: 0 };
  const { slider, name, sentence, back, on, play } = part;

  const animate = (figure) => {
    const step = String(+slider.value);
    const has = figure._transitionData?._frames?.some((frame) => frame.name === step);
    if (!has) return;
    window.Plotly.animate(figure, [step], {
      mode: "immediate", frame: { duration: 0, redraw: state.data.redraw }, transition: { duration: 0 },
    }).catch(() => {}); // A newer step, or a figure that has gone, ends the promise of an older one.
  };

  // A figure that Python drew for this moment is left alone: drawing it again would make it flicker.
  const catchUp = (figure) => { if (figure.layout.sliders?.[0]?.active !== +slider.value) animate(figure); };

  // Figures come late, go, and are drawn anew with other data: each is then put to the moment shown here.
  state.look = () => {
    for (const key of state.data.figures) {
      const figure = document.querySelector(`.st-key-${CSS.escape(key)} .js-plotly-plot`);
      // Plotly draws its slider last: before that, a frame would cut the drawing of bars and strips off.
      if (!figure?.querySelector(".slider-container") || state.known.get(key) === figure) continue;
      state.known.set(key, figure);
      if (window.Plotly?.animate) {
        figure.on("plotly_react", () => catchUp(figure));
        catchUp(figure);
      } else {
        // Nothing to drive it with: the figure's own slider is shown and leads.
        document.documentElement.dataset.figureSliders = "shown";
        figure.on("plotly_sliderchange", (event) => state.put(event.slider.active));
      }
    }
  };

  state.put = (k) => {
    slider.value = k;
    const moment = state.data.moments[+slider.value];
    name.textContent = moment.name;
    sentence.textContent = moment.sentence;
    slider.setAttribute("aria-valuetext", `${moment.name}. ${moment.sentence}`);
    // Not `disabled`: that would take the focus from under a reader's keys.
    back.setAttribute("aria-disabled", +slider.value === 0);
    on.setAttribute("aria-disabled", +slider.value === +slider.max);
  };
  state.drive = () => { if (window.Plotly?.animate) state.known.forEach((figure) => figure.isConnected && animate(figure)); };

  const move = (k) => {
    state.put(k);
    state.drive();
    clearTimeout(state.later);
    state.later = setTimeout(() => { state.sent.add(+slider.value); part.tell("rest", +slider.value); }, REST);
  };
  const step = (by) => { stop(); move(+slider.value + by); };
  const stop = () => { clearInterval(state.playing); state.playing = 0; play.textContent = "Play"; };

  slider.oninput = () => { stop(); move(+slider.value); };
  slider.onkeydown = (event) => {
    const by = { PageUp: 5, PageDown: -5 }[event.key];
    if (by) {
      event.preventDefault();
      step(by);
    } else if (/^[a-z0-9]$/i.test(event.key)) {
      // The page's shortcuts (P) take a slider for a field in which one types: show them the key beside it.
      event.stopPropagation();
      root.getRootNode().host.dispatchEvent(new KeyboardEvent("keydown", event));
    }
  };
  // On a projector the slider let go of gives the keys back to the presenter's remote.
  slider.onpointerup = () => { if (state.data.projector) slider.blur(); };
  back.onclick = () => step(-1);
  on.onclick = () => step(1);
  play.onclick = () => {
    if (state.playing) return stop();
    if (+slider.value >= +slider.max) move(0);
    play.textContent = "Pause";
    state.playing = setInterval(() => {
      move(+slider.value + 1);
      if (+slider.value >= +slider.max) stop();
    }, PLAY);
  };

  const remote = (event) => {
    const by = { PageUp: -1, PageDown: 1, " ": 1 }[event.key];
    if (!state.data.projector || !by || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const element = focused();
    if (element?.matches(event.key === " " ? `${TYPING}, ${ACTING}` : `${TYPING}, input`)) return;
    event.preventDefault();
    step(by);
  };
  document.addEventListener("keydown", remote);
  const watch = new MutationObserver(() => state.look());
  watch.observe(document.body, { childList: true, subtree: true });

  state.end = () => {
    stop();
    clearTimeout(state.later);
    watch.disconnect();
    document.removeEventListener("keydown", remote);
    delete root.scrubber;
  };
  return state;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const find = (selector) => parentElement.querySelector(selector);
  const part = {
    slider: find("input"), name: find(".name"), sentence: find(".sentence"),
    back: find(".back"), on: find(".on"), play: find(".play"), tell: null,
  };
  const root = part.slider;
  const state = (root.scrubber ??= create(root, (root.parts = part)));
  root.parts.tell = setTriggerValue;
  const turn = ++state.turn;
  const first = state.told === null;
  state.data = data;

  const last = data.moments.length - 1;
  part.slider.max = last;
  part.slider.setAttribute("aria-label", data.label);
  find(".row").setAttribute("aria-label", data.label);
  find(".ticks").replaceChildren(...data.ticks.map(([k, text]) => {
    const tick = document.createElement("span");
    tick.textContent = text;
    tick.className = k === 0 ? "first" : k === last ? "last" : "";
    tick.style.left = `${(100 * k) / Math.max(1, last)}%`;
    return tick;
  }));

  // A new place from Python is taken; an echo of where we rested is not, for the reader may be further on by now.
  const told = first || (data.at !== state.told && !state.sent.delete(data.at));
  state.put(told ? data.at : Math.min(+part.slider.value, last));
  if (told) clearTimeout(state.later);
  if (data.at === +part.slider.value) state.sent.clear();
  state.told = data.at;
  if (told) state.drive();
  state.look();
  return () => { if (state.turn === turn) state.end(); };
}
