// What a page cannot do by HTML alone. Without it everything still works, with less comfort.

/** Says in a few words how long ago a moment is. */
function timeAgo(moment) {
  const seconds = Math.round((moment - Date.now()) / 1000);
  const words = new Intl.RelativeTimeFormat('en', { numeric: 'auto' });
  const units = [
    ['second', 60],
    ['minute', 60],
    ['hour', 24],
    ['day', 30],
    ['month', 12],
  ];
  let count = seconds;
  for (const [unit, size] of units) {
    if (Math.abs(count) < size) return words.format(Math.round(count), unit);
    count /= size;
  }
  return words.format(Math.round(count), 'year');
}

function refreshTimes() {
  for (const time of document.querySelectorAll('time[data-relative]')) {
    time.textContent = timeAgo(new Date(time.dateTime).getTime());
  }
}

setInterval(refreshTimes, 15_000);
document.addEventListener('htmx:after:swap', refreshTimes);
refreshTimes();

// Copies what stands in front of the button, and says so where a screen reader hears it. Over plain HTTP a page may not
// copy; the text is selected then, for the person to copy it.
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
    status.textContent = 'Selected: copy it by hand';
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

// A dialog that came back to be mended is above the page again, as it was when it was sent.
for (const dialog of document.querySelectorAll('dialog[open]')) {
  dialog.close();
  dialog.showModal();
}

// A menu closes when something else is clicked, or with Escape.
function closeMenus(except) {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!menu.contains(except)) menu.open = false;
  }
}
document.addEventListener('click', ({ target }) => closeMenus(target));
document.addEventListener('keydown', ({ key }) => {
  if (key === 'Escape') closeMenus(null);
});

// A form that was sent is not sent again by a second click; the server would refuse it, and that would look like a fault.
document.addEventListener('submit', ({ target, submitter }) => {
  if (target.method !== 'post' || target.hasAttribute('hx-post')) return;
  setTimeout(() => {
    if (submitter !== null) submitter.disabled = true;
  });
});
// Coming back to a page that the browser has kept makes it usable again.
addEventListener('pageshow', ({ persisted }) => {
  if (!persisted) return;
  for (const button of document.querySelectorAll('button[disabled]')) button.disabled = false;
});

// Keys for people who come here every day: / searches, g and a letter goes to a page.
let isGoing = false;
document.addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.matches('input, select, textarea, [contenteditable]'))
    return;
  if (isGoing) {
    isGoing = false;
    document.querySelector(`.nav a[data-key="${CSS.escape(event.key)}"]`)?.click();
    return;
  }
  if (event.key === 'g') {
    isGoing = true;
    setTimeout(() => {
      isGoing = false;
    }, 1000);
  }
  if (event.key === '/') {
    const search = document.querySelector('input[type="search"]');
    if (search === null) return;
    event.preventDefault();
    search.focus();
  }
});
