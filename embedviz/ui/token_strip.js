// The tokens of a text as chips: one tab stop, arrow keys move and choose. Text goes in as text, never as HTML.
// Streamlit calls this again for every change of the data and keeps what is in the page, so the state hangs on the strip.

const STEP = { ArrowRight: 1, ArrowLeft: -1, Home: -Infinity, End: Infinity };
// Holding an arrow key passes many chips; only the one it rests on is worth a run of the page.
const REST = 150;

function element(tag, className, text) {
  const made = document.createElement(tag);
  made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function chip(token) {
  const made = element("button", "chip " + token.kind);
  made.type = "button";
  made.setAttribute("role", "option");
  made.setAttribute("aria-label", token.say);
  const text = element("span", "shown");
  text.dir = "auto";
  text.append(...token.parts.map(([isMark, part]) => element("span", isMark ? "mark" : "", part)));
  made.append(text, element("span", "id", String(token.id)));
  return made;
}

// Pieces of one character in a box of their own, with the character below.
function group(characters) {
  const made = element("div", "group");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", characters);
  const whole = element("div", "whole", characters);
  whole.setAttribute("aria-hidden", "true");
  made.append(element("div", "pieces"), whole);
  made.firstChild.setAttribute("role", "presentation");
  return made;
}

function draw(strip, tokens) {
  const chips = tokens.map(chip);
  const boxes = [];
  tokens.forEach((token, k) => {
    if (token.opens) boxes.push(group(token.group));
    if (token.group) boxes[boxes.length - 1].firstChild.append(chips[k]);
    else boxes.push(chips[k]);
    if (token.breaks && k < tokens.length - 1) {
      boxes.push(element("div", "break"));
      boxes[boxes.length - 1].setAttribute("role", "presentation");
    }
  });
  strip.replaceChildren(...boxes);
  return chips;
}

export default function ({ data, parentElement, setTriggerValue }) {
  const strip = parentElement.querySelector(".strip");
  const count = parentElement.querySelector(".count");
  const state = (strip.state ??= { drawn: "", told: null, sent: new Set(), chips: [], later: 0 });

  const choose = (k) => {
    state.chips[state.chosen]?.setAttribute("aria-selected", "false");
    if (state.chips[state.chosen]) state.chips[state.chosen].tabIndex = -1;
    state.chosen = k;
    state.chips[k].setAttribute("aria-selected", "true");
    state.chips[k].tabIndex = 0;
  };
  const move = (k, rest) => {
    if (k === state.chosen) return;
    choose(k);
    state.chips[k].focus();
    state.chips[k].scrollIntoView({ block: "nearest" });
    clearTimeout(state.later);
    state.later = setTimeout(() => { state.sent.add(k); setTriggerValue("chosen", k); }, rest);
  };

  strip.setAttribute("aria-label", data.label);
  const drawn = JSON.stringify(data.tokens);
  if (drawn !== state.drawn) {
    const focused = strip.contains(strip.getRootNode().activeElement);
    clearTimeout(state.later);
    state.chips = draw(strip, data.tokens);
    state.chips.forEach((one) => { one.tabIndex = -1; one.setAttribute("aria-selected", "false"); });
    state.drawn = drawn;
    state.sent.clear();
    choose(data.chosen);
    if (focused) state.chips[data.chosen].focus();
    count.textContent = data.count;
  } else if (data.chosen !== state.told && !state.sent.delete(data.chosen)) {
    // Python chose. An echo of our own choice is left alone: the reader may be further on by now.
    choose(data.chosen);
  }
  if (data.chosen === state.chosen) state.sent.clear();
  state.told = data.chosen;

  strip.onclick = (event) => {
    const k = state.chips.indexOf(event.target.closest(".chip"));
    if (k >= 0) move(k, 0);
  };
  strip.onkeydown = (event) => {
    const step = STEP[event.key];
    if (step === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    move(Math.max(0, Math.min(state.chips.length - 1, state.chosen + step)), REST);
  };

  const fits = () => { count.hidden = strip.scrollHeight <= strip.clientHeight + 1; };
  if (!state.watch) {
    state.watch = new ResizeObserver(fits);
    state.watch.observe(strip);
  }
  fits();
}
