import { inMoney } from '../words/numbers.ts';
import { Icon } from './icon.tsx';

/** An amount of money. @param amount minor units. */
export function Amount({ amount, currency }: { amount: bigint; currency: string }) {
  return <span class="nowrap">{inMoney(amount, currency)}</span>;
}

/** A point in time. The page's script shows it relative to now, and on hover exactly, in the zone of the browser. */
export function Moment({ at }: { at: Date }) {
  const exact = inUtc(at);
  return (
    <time class="nowrap" dateTime={at.toISOString()} title={exact} data-relative>
      {exact}
    </time>
  );
}

/** A point in time to the second. The page's script shows it in the zone of the browser. */
export function ExactTime({ at }: { at: Date }) {
  return (
    <time class="nowrap" dateTime={at.toISOString()}>
      {inUtc(at)}
    </time>
  );
}

/** When something was created, and by whom. */
export function Made({ at, by }: { at: Date; by: string | null | undefined }) {
  return (
    <span>
      <Moment at={at} />
      <bdi class="detail small muted">{by}</bdi>
    </span>
  );
}

function inUtc(at: Date): string {
  return `${at.toISOString().slice(0, 19).replace('T', ' ')} UTC`;
}

/** A message of the service, with its ISO timestamps formatted. */
export function Sentence({ text }: { text: string }) {
  const parts = text.split(/(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z)/);
  return (
    <>{parts.map((part, index) => (index % 2 === 0 ? part : <ExactTime key={part} at={new Date(part)} />))}</>
  );
}

/** An id in a list: its prefix and its end, where ids of one kind differ. */
export function ShortId({ id }: { id: string }) {
  const [, prefix = '', end = ''] = /^([a-z]{2,5}_)?.{4,}(.{8})$/.exec(id) ?? [];
  return (
    <code class="nowrap" title={id}>
      {end === '' ? id : `${prefix}…${end}`}
    </code>
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

interface CopyButtonProps {
  text: string;
  label: string;
}

/**
 * Place it right after the element that it copies: where copying is not allowed, it selects that instead.
 * @param label what is copied, for screen readers and on hover.
 */
export function CopyButton({ text, label }: CopyButtonProps) {
  return (
    <span class="copy">
      <button type="button" class="button ghost" data-kind="quiet" data-copy={text} title={`Copy ${label}`}>
        <Icon name="copy" />
        <span class="visually-hidden">Copy {label}</span>
      </button>
      <span role="status" class="small muted" />
    </span>
  );
}
