// Requests to the viewer's own server, and to nothing else. Writing needs the token of the address winnow printed.
const KEY = "winnow token";
const given = new URLSearchParams(location.hash.slice(1)).get("token");
if (given && remember("sessionStorage", KEY, given)) history.replaceState(null, "", location.pathname);
const token = given || recall("sessionStorage", KEY) || "";
export const canWrite = Boolean(token);

// Some browsers forbid storage in the frame of a notebook; then nothing is remembered, and the address keeps the token.
export function remember(where, key, value) {
  try { window[where].setItem(key, value); return true; } catch { return false; }
}
export function recall(where, key) {
  try { return window[where].getItem(key); } catch { return null; }
}

const address = (path, parameters) => {
  const words = Object.entries(parameters || {}).filter(([, value]) => value !== undefined && value !== null);
  return words.length ? `${path}?${new URLSearchParams(words)}` : path;
};

async function checked(response) {
  if (response.ok) return response;
  let said = `the server answered ${response.status}`;
  try { said = (await response.json()).error || said; } catch { /* no sentence */ }
  throw new Error(said);
}

export const get = async (path, parameters, signal) => (await checked(await fetch(address(path, parameters), { signal }))).json();
export const bytes = async (path, parameters) => {
  const response = await checked(await fetch(address(path, parameters)));
  return { buffer: await response.arrayBuffer(), kind: response.headers.get("x-kind") };
};
export const post = async (path, body) => (await checked(await fetch(path, {
  method: "POST", headers: { "content-type": "application/json", "x-winnow-token": token }, body: JSON.stringify(body),
}))).json();
export { address };
