import { inMoney } from './numbers.ts';

/** Money in the currency's own decimals. @param amount minor units. */
export function Amount({ amount, currency }: { amount: bigint; currency: string }) {
  return <span class="nowrap">{inMoney(amount, currency)}</span>;
}

/** A moment, as the time since; the exact one shows on hover, and is what a reader without scripts gets. */
export function Moment({ at }: { at: Date }) {
  const exact = `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
  return (
    <time class="nowrap" dateTime={at.toISOString()} title={exact} data-relative>
      {exact}
    </time>
  );
}

/** A sentence of the service, with the moments in it as people write them. */
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

/** A text that is there to be taken along, such as an id. */
export function Copyable({ text, label }: { text: string; label: string }) {
  return (
    <span class="copyable">
      <code>{text}</code>
      <CopyButton text={text} label={label} />
    </span>
  );
}

/**
 * Stands right behind what it copies, so that the text can be selected where a page may not copy.
 * @param label what is copied, for people who hear the page.
 */
export function CopyButton({ text, label }: { text: string; label: string }) {
  return (
    <span class="copy">
      <button type="button" class="button" data-kind="quiet" data-copy={text}>
        Copy<span class="visually-hidden"> {label}</span>
      </button>
      <span role="status" class="small muted" />
    </span>
  );
}
