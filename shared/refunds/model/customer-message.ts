import { exponentOf, toDecimal } from '../../money/money.ts';
import type { Refund, RefundWork } from '../../platform/database.ts';
import { arrivalOf } from './arrival.ts';
import type { CustomerText, CustomerTexts, LanguageTexts } from './customer-texts.ts';
import { waitsForCustomer } from './waiting.ts';

type MessageRefund = Pick<
  Refund,
  'status' | 'amount' | 'currency' | 'processorStatus' | 'acceptedAt' | 'completedAt' | 'arrival'
>;

type MessageWork = Pick<RefundWork, 'waitingFor' | 'flaggedAt' | 'cancelRequestedAt'>;

/** What a customer may be told about a refund, by language; null while nothing can be promised. */
type MessagesOf = (refund: MessageRefund, work: MessageWork | null) => Record<string, string> | null;

/**
 * Composes the message to the customer of refunds: the amount, what happens and by when, and what the bank finds it by. Null for a
 * refund that awaits approval, failed, was cancelled, is flagged, or is being cancelled.
 */
export function customerMessages(texts: CustomerTexts): MessagesOf {
  const writers = Object.entries(texts).map(
    ([language, each]) => [language, writerIn(language, each)] as const,
  );
  return (refund, work) => {
    const content = contentOf(refund, work);
    return content && Object.fromEntries(writers.map(([language, write]) => [language, write(content)]));
  };
}

interface Content extends Pick<Refund, 'amount' | 'currency'> {
  text: Exclude<CustomerText, 'reference'>;
  /** `YYYY-MM-DD`; null where the text names none. */
  date: string | null;
  reference: string | null;
}

function contentOf(refund: MessageRefund, work: MessageWork | null): Content | null {
  const { status, amount, currency } = refund;
  if (work?.flaggedAt != null || work?.cancelRequestedAt != null) return null;
  if (status !== 'processing' && status !== 'completed') return null;
  const waitingFor = work?.waitingFor ?? null;
  const content = (text: Content['text'], date: string | null = null, reference: string | null = null) => ({
    ...{ text, amount, currency, date, reference },
  });
  if (waitsForCustomer(refund, waitingFor)) return content('actionNeeded');
  const arrival = arrivalOf(refund, waitingFor);
  if (arrival?.kind === 'reversal') return content('reversed');
  if (arrival === null || arrival.expectedBy === null) return content('started');
  return content('onItsWay', arrival.expectedBy, arrival.reference);
}

/** Writes amounts and dates as people do in a language. Its formats are kept, because making one takes longer than using it. */
function writerIn(language: string, texts: LanguageTexts): (content: Content) => string {
  const days = new Intl.DateTimeFormat(language, { dateStyle: 'long', timeZone: 'UTC' });
  const formats = new Map<string, Intl.NumberFormat>();
  const inMoney = (amount: bigint, currency: string) => {
    const format = formats.get(currency) ?? moneyFormat(language, currency);
    formats.set(currency, format);
    return format.format(toDecimal(amount, currency) as `${number}`);
  };
  return ({ text, amount, currency, date, reference }) => {
    const values: Record<string, string> = {
      amount: inMoney(amount, currency),
      date: date === null ? '' : days.format(new Date(date)),
      reference: reference ?? '',
    };
    const sentences = reference === null ? [texts[text]] : [texts[text], texts.reference];
    return sentences.join(' ').replace(/\{(\w+)\}/g, (_, name: string) => values[name] ?? '');
  };
}

/** With the decimals of processors, which differ from those that are usual in a language. */
function moneyFormat(language: string, currency: string): Intl.NumberFormat {
  const decimals = exponentOf(currency);
  return new Intl.NumberFormat(language, {
    ...{ style: 'currency', currency, minimumFractionDigits: decimals, maximumFractionDigits: decimals },
  });
}
