// At SIGUSR2, keeps the event loop busy for BUSY_FOR_MS in pieces of BUSY_PIECE_MS, as too many requests do.

const forMs = Number(process.env.BUSY_FOR_MS ?? 0);
const pieceMs = Number(process.env.BUSY_PIECE_MS ?? 0);

function spin(ms) {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function keepBusy(until) {
  if (performance.now() >= until) return;
  spin(pieceMs);
  setImmediate(keepBusy, until);
}

process.on('SIGUSR2', () => keepBusy(performance.now() + forMs));
