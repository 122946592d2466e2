// What pages do without being sent again: the slider, advice and pictures while typing, waiting for a fit.
// Every page works without it.
"use strict";

function part(selector) {
  return document.querySelector(selector);
}

// Fields that belong to a choice are shown while it is chosen.
function showFields() {
  for (const field of document.querySelectorAll("[data-shown-by]")) {
    const by = document.getElementById(field.dataset.shownBy);
    const wanted = field.dataset.shownFor;
    field.hidden = by !== null && (wanted === undefined ? !by.checked : by.value !== wanted);
  }
}

function later(work, wait) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(work, wait);
  };
}

// Put what the server answers into a place; an older answer never takes the place of a newer one.
function filler(place) {
  let last = 0;
  return async (address, options) => {
    const mine = ++last;
    const answer = await fetch(address, { credentials: "same-origin", ...options });
    const text = await answer.text();
    if (mine === last && answer.ok) place.innerHTML = text;
  };
}

function advise() {
  const form = part("#bounds");
  if (form === null) return;
  const fill = filler(part("#advice"));
  const ask = later(() => fill(form.dataset.advice, { method: "POST", body: new URLSearchParams(new FormData(form)) }), 300);
  form.addEventListener("input", ask);
}

function draw() {
  const form = part("#plan");
  if (form === null) return;
  const place = part("#picture"), slider = part("#slider"), epsilon = part("#epsilon");
  const low = Math.log(slider.dataset.smallest), high = Math.log(slider.dataset.largest);
  const fill = filler(place);
  let waiting = 0;
  const ask = async () => {
    clearTimeout(waiting);
    await fill(`${form.dataset.picture}?${new URLSearchParams(new FormData(form))}`);
    const shown = place.querySelector("[data-done]");
    if (shown !== null && shown.dataset.done === "no") waiting = setTimeout(ask, 250);
  };
  const soon = later(ask, 80);
  const follow = () => {
    const value = Number(epsilon.value);
    if (value > 0) slider.value = String(Math.round((100 * (Math.log(value) - low)) / (high - low)));
  };
  slider.hidden = false;
  follow();
  slider.addEventListener("input", () => {
    epsilon.value = String(Number(Math.exp(low + (slider.value / 100) * (high - low)).toPrecision(2)));
  });
  epsilon.addEventListener("input", follow);
  form.addEventListener("input", soon);
  ask();
}

// A second click sends nothing; the server would not spend twice either.
function once() {
  for (const form of document.querySelectorAll("form[data-once]")) {
    form.addEventListener("submit", (event) => {
      if (form.dataset.sent) event.preventDefault();
      form.dataset.sent = "yes";
      form.querySelector("button").setAttribute("aria-disabled", "true");
    });
  }
}

function wait() {
  const place = part("#running");
  if (place === null) return;
  const look = async () => {
    try {
      const answer = await fetch(place.dataset.state, { credentials: "same-origin" });
      const state = await answer.json();
      if (state.status !== "running") return location.reload();
      const text = state.pass ? `Pass ${state.pass}: ${state.rows.toLocaleString("en")} of ${state.of.toLocaleString("en")} rows.` : "Starting.";
      place.querySelector("p").textContent = text;
    } catch {
      place.querySelector("p").textContent = "The app does not answer. If it was stopped, start it again: the result will be there.";
    }
    setTimeout(look, 500);
  };
  look();
}

document.addEventListener("DOMContentLoaded", () => {
  showFields();
  document.addEventListener("input", showFields);
  document.addEventListener("change", showFields);
  advise();
  draw();
  once();
  wait();
  const problems = part("#problems");
  if (problems !== null) problems.focus();
});
// A page that the browser kept, and shows again after "back", must not stay locked.
window.addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
