// Moves the system clock of a process by FALSE_TIME_AHEAD_MS. The monotonic clock stays right.

const aheadMs = Number(process.env.FALSE_TIME_AHEAD_MS ?? 0);

const TrueDate = Date;
const now = () => TrueDate.now() + aheadMs;

globalThis.Date = new Proxy(TrueDate, {
  construct: (target, args, newTarget) =>
    Reflect.construct(target, args.length === 0 ? [now()] : args, newTarget),
  apply: () => new TrueDate(now()).toString(),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
TrueDate.prototype.constructor = globalThis.Date;
