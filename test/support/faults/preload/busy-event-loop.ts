// Loaded into a process before anything else, this keeps its event loop busy for BUSY_FOR_MS once it gets SIGUSR2: in
// pieces of BUSY_PIECE_MS, between which it gets to do something else, as it does with too many requests.

const forMs = Number(process.env.BUSY_FOR_MS ?? 0);
const pieceMs = Number(process.env.BUSY_PIECE_MS ?? 0);

function spin(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

function keepBusy(until: number): void {
  if (performance.now() >= until) return;
  spin(pieceMs);
  setImmediate(keepBusy, until);
}

process.on('SIGUSR2', () => keepBusy(performance.now() + forMs));
