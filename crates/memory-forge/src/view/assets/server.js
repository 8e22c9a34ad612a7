// Sends requests for data to the server, with the token of this tab. In an
// exported copy, `copy.js` answers instead.

import { answerFromCopy, copy } from "./copy.js";
import { RequestError } from "./errors.js";

const TOKEN_IN_HASH = /[#&]token=([0-9a-f]+)/;

// The token arrives in the fragment of the address, which no request contains.
// Another tab of this page may ask for it; pages of other origins cannot.
let token = null;
const tabs = !copy && "BroadcastChannel" in window ? new BroadcastChannel("memory-forge") : null;

/** Returns whether the address contains a token. */
export function hasTokenInAddress() {
  return TOKEN_IN_HASH.test(location.hash);
}

/** Takes the token from the address, from this tab's storage, or from another tab. */
export function takeToken() {
  const found = TOKEN_IN_HASH.exec(location.hash);
  if (found) {
    keepToken(found[1]);
    // A token in the address would end up in the history and in screenshots.
    history.replaceState(null, "", `${location.pathname}#/overview`);
  } else {
    token = storedToken();
  }
  if (!token && tabs) tabs.postMessage("token?");
}

/** Calls `callback` when another tab has shared its token with this one. */
export function onTokenShared(callback) {
  tabs?.addEventListener("message", ({ data }) => {
    if (data === "token?" && token) tabs.postMessage({ token });
    if (data?.token && !token) {
      keepToken(data.token);
      callback();
    }
  });
}

function keepToken(value) {
  token = value;
  try {
    sessionStorage.setItem("token", value);
  } catch {
    // Without storage the token lasts until a reload.
  }
}

function storedToken() {
  try {
    return sessionStorage.getItem("token");
  } catch {
    return null;
  }
}

/** Sends a request and returns the response; fails with a `RequestError`. */
export async function request(target, options = {}) {
  let response;
  try {
    response = await fetch(`/api/${target}`, {
      ...options,
      cache: "no-store",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      headers: { Authorization: `Bearer ${token || "none"}`, ...options.headers },
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new RequestError(0, "The server has stopped. Run `memory-forge view` again.");
  }
  if (response.ok) return response;
  throw new RequestError(response.status, errorMessage(await response.text()));
}

function errorMessage(text) {
  try {
    return JSON.parse(text).error || text;
  } catch {
    // Requests that are refused before routing have a plain text.
    return text;
  }
}

/** Reads data by name; empty parameters are left out. */
export async function query(name, params = {}, signal = undefined) {
  if (copy) return answerFromCopy(name, params);
  const pairs = Object.entries(params).filter(([, value]) => ![null, undefined, ""].includes(value));
  const search = pairs.map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&");
  const response = await request(search ? `${name}?${search}` : name, { signal });
  return response.json();
}

/** Sends a change and returns the server's answer. */
export async function send(name, body) {
  if (copy) throw new RequestError(403, "This copy is read-only.");
  const response = await request(name, {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
  return response.json();
}
