// Loaded into a process before anything else, this gives it a machine whose clock is wrong by FALSE_TIME_AHEAD_MS, and
// is set by FALSE_TIME_JUMP_MS when the process gets SIGUSR2. What a machine cannot have wrong, its monotonic time, is
// left alone.

let aheadMs = Number(process.env.FALSE_TIME_AHEAD_MS ?? 0);
process.on('SIGUSR2', () => {
  aheadMs += Number(process.env.FALSE_TIME_JUMP_MS ?? 0);
});

const TrueDate = Date;
const now = () => TrueDate.now() + aheadMs;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new TrueDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
TrueDate.prototype.constructor = globalThis.Date;
