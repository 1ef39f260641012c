// Enhancements. Every page also works without this script.

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
const units = [
  ['hour', 3_600],
  ['minute', 60],
  ['second', 1],
];

/** Formats a time of less than a day before or after now. */
function timeAgo(seconds) {
  const [unit, size] = units.find((each) => Math.abs(seconds) >= each[1]) ?? ['second', 1];
  return relative.format(Math.trunc(seconds / size), unit);
}

const exactTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });
const shortTime = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'short' });

/** Shows times in the zone of the browser; without this script they are in UTC. */
function refreshTimes() {
  for (const time of document.querySelectorAll('time')) {
    const moment = new Date(time.dateTime);
    const isShort = 'relative' in time.dataset;
    const seconds = (moment.getTime() - Date.now()) / 1_000;
    time.title = isShort ? exactTime.format(moment) : '';
    if (!isShort) time.textContent = exactTime.format(moment);
    else time.textContent = Math.abs(seconds) < 86_400 ? timeAgo(seconds) : shortTime.format(moment);
  }
}

setInterval(refreshTimes, 15_000);
document.addEventListener('htmx:after:swap', refreshTimes);
refreshTimes();

// Copy buttons. Over plain HTTP browsers refuse to copy; the text before the button is selected instead.
const copyTimers = new WeakMap();
document.addEventListener('click', async ({ target }) => {
  const button = target instanceof Element ? target.closest('button[data-copy]') : null;
  if (button === null) return;
  const status = button.nextElementSibling;
  const shown = button.parentElement.previousElementSibling;
  let shownForMs = 1500;
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    status.textContent = 'Copied';
  } catch {
    getSelection().selectAllChildren(shown);
    status.textContent = 'Selected. Press Ctrl+C to copy.';
    shownForMs = 6000;
  }
  clearTimeout(copyTimers.get(button));
  copyTimers.set(
    button,
    setTimeout(() => {
      status.textContent = '';
    }, shownForMs),
  );
});

// A dialog that the server opened to show an error becomes modal again.
for (const dialog of document.querySelectorAll('dialog[open]')) {
  dialog.close();
  dialog.showModal();
}

// A click elsewhere or Escape closes a filter.
const closeFilters = (inside) => {
  for (const open of document.querySelectorAll('.filters details[open]')) open.open = open.contains(inside);
};
document.addEventListener('click', ({ target }) => closeFilters(target));
document.addEventListener('keydown', ({ key }) => key === 'Escape' && closeFilters(null));

// Select all boxes of a form without loading the page again, or none when all are selected.
document.addEventListener('click', (event) => {
  const link = event.target instanceof Element ? event.target.closest('a[data-select]') : null;
  if (link === null) return;
  event.preventDefault();
  const { elements } = document.getElementById(link.dataset.select);
  const boxes = [...elements].filter(({ type }) => type === 'checkbox');
  const isChecked = boxes.some(({ checked }) => !checked);
  for (const box of boxes) box.checked = isChecked;
});

// Ignore a second click on a submit button; the server would refuse the form as a duplicate.
document.addEventListener('submit', ({ target, submitter }) => {
  if (target.method !== 'post' || target.hasAttribute('hx-post')) return;
  setTimeout(() => {
    if (submitter !== null) submitter.disabled = true;
  });
});
// Re-enable the buttons when the browser restores the page from its cache.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll('button[disabled]')) button.disabled = false;
});

// Ctrl-K opens the search; the arrow keys move through its results and through the bars of a chart.
document.addEventListener('keydown', (event) => {
  const { key, target } = event;
  const isCommand = key.toLowerCase() === 'k' && (event.ctrlKey || event.metaKey);
  if (isCommand) {
    const search = document.getElementById('search');
    if (search === null || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    search.showModal();
    return;
  }
  const [step, isBar] = arrows[key] ?? [];
  const list = target.closest(isBar ? '.chart' : '.search-dialog');
  if (step === undefined || list === null) return;
  const stops = [...list.querySelectorAll(isBar ? '.bar' : 'input, .hits a')];
  const next = stops[stops.indexOf(target) + step];
  if (next === undefined) return;
  event.preventDefault();
  next.focus();
});

// When the page came on screen; never, as long as it is in the background.
let seenAt = Number.POSITIVE_INFINITY;
function noteSeen() {
  seenAt = Number.POSITIVE_INFINITY;
  requestAnimationFrame(() => {
    seenAt = performance.now();
  });
}
document.addEventListener('visibilitychange', noteSeen);
noteSeen();

/** Pressed twice, a key must not decide about the next refund, which no one has read. */
const readingMs = 1_000;

// The keys of buttons and links, such as those of the approvals.
document.addEventListener('keydown', (event) => {
  const { key, target, repeat, ctrlKey, metaKey, altKey } = event;
  if (repeat || ctrlKey || metaKey || altKey || target.matches('input, select, textarea')) return;
  if (document.querySelector('dialog[open]')) return;
  const button = document.querySelector(`[aria-keyshortcuts~="${CSS.escape(key)}"]`);
  if (button === null) return;
  if (button.type === 'submit' && event.timeStamp - seenAt < readingMs) return;
  // The key is not typed into a dialog that it opens.
  event.preventDefault();
  button.click();
});

/** Which way an arrow key moves, and whether it does so in a chart or in the search. */
const arrows = { ArrowDown: [1, false], ArrowUp: [-1, false], ArrowRight: [1, true], ArrowLeft: [-1, true] };
