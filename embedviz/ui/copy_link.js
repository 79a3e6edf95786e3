// Copies the page's address as it stands when pressed, so that what the slider has just written is in it.

const OWN = ["localhost", "127.0.0.1", "[::1]"];
// How long the answer stays.
const SHOWN = 4000;

// Browsers give the clipboard only to localhost and https; a class reaches this page by http.
function copyByHand(text) {
  const field = document.createElement("textarea");
  field.value = text;
  document.body.append(field);
  field.select();
  const done = document.execCommand("copy");
  field.remove();
  return done;
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return copyByHand(text);
  }
}

export default function ({ data, parentElement }) {
  const button = parentElement.querySelector("button");
  const said = parentElement.querySelector("[role=status]");
  button.onclick = async () => {
    const address = new URL(window.location.href);
    if (OWN.includes(address.hostname) && data.host) address.hostname = data.host;
    const alone = OWN.includes(address.hostname);
    const done = await copy(address.href);
    if (!done) said.textContent = `Copy it by hand: ${address.href}`;
    else said.textContent = "Link copied. It opens this view" + (alone ? ", on this machine only." : ".");
    clearTimeout(button.again);
    button.again = setTimeout(() => (said.textContent = ""), done ? SHOWN : 6 * SHOWN);
  };
}
