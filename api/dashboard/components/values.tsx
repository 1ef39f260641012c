import { inMoney } from '../words/numbers.ts';

/** An amount of money. @param amount minor units. */
export function Amount({ amount, currency }: { amount: bigint; currency: string }) {
  return <span class="nowrap">{inMoney(amount, currency)}</span>;
}

/** A point in time, shown relative to now by the page's script; the exact time shows on hover. */
export function Moment({ at }: { at: Date }) {
  const exact = `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return (
    <time class="nowrap" dateTime={at.toISOString()} title={exact} data-relative>
      {exact}
    </time>
  );
}

/** A message of the service, with its ISO timestamps formatted. */
export function Sentence({ text }: { text: string }) {
  const parts = text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/);
  return (
    <>
      {parts.map((part, index) =>
        index % 2 === 0 ? (
          part
        ) : (
          <time key={part} class="nowrap" dateTime={part}>
            {part.slice(0, 16).replace('T', ' ')} UTC
          </time>
        ),
      )}
    </>
  );
}

/** A text to copy, such as an id. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/**
 * Place it right after the element that it copies: where copying is not allowed, it selects that instead.
 * @param label what is copied, for screen readers.
 */
export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <span class="copy">
      <button type="button" class="button ghost" data-kind="quiet" data-copy={text}>
        Copy<span class="visually-hidden"> {label}</span>
      </button>
      <span role="status" class="small muted" />
    </span>
  );
}
