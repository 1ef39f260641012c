import type { Overview } from '#shared/insights/overview.ts';
import { type RefundStatus, refundStatuses } from '#shared/refunds/model/states.ts';
import { StackedBars } from '../../charts/stacked-bars.tsx';
import type { Context } from '../../http/access.ts';
import { statusWords } from '../../layout/badge.tsx';
import { Switch } from '../../layout/button.tsx';
import { Card } from '../../layout/card.tsx';
import { fromMajor, inMajor, inMoney, inShort, inWhole } from '../../layout/numbers.ts';
import { type Column, Table } from '../../layout/table.tsx';

/** The address of the overview. @param options `currency` of the amounts per day; null for the most used one. */
export function overviewPath(
  { base }: Pick<Context, 'base'>,
  { days, currency }: { days: number; currency: string | null },
): string {
  return `${base}?${new URLSearchParams({ days: String(days), ...(currency === null ? {} : { currency }) })}`;
}

interface OverTimeProps {
  context: Context;
  overview: Overview;
}

/** Refunds over time. */
export function PerDayCard({ overview: { perDay } }: Pick<OverTimeProps, 'overview'>) {
  return (
    <Card id="per-day" title="Refunds per day">
      <StackedBars
        title="Refunds per day by status"
        unit="Day"
        bars={perDay.map(({ day, counts }) => ({ label: dayInWords(day), values: counts }))}
        series={refundStatuses.map(seriesOf)}
        format={inWhole}
      />
      <p class="muted small">By creation date in UTC.</p>
    </Card>
  );
}

/** Money that has moved or may still move. */
const moneyStatuses = ['pending', 'processing', 'completed'] as const satisfies readonly RefundStatus[];

/** Refund amounts by currency, and one currency over time. Amounts of different currencies are never added. */
export function MoneyCard({ context, overview }: OverTimeProps) {
  const { money, currency, moneyPerDay } = overview;
  return (
    <section class="card stack" aria-labelledby="money">
      <div class="spread">
        <h2 id="money">Refund amounts per day{currency === null ? '' : ` in ${currency.toUpperCase()}`}</h2>
        <CurrencySwitch context={context} overview={overview} />
      </div>
      {currency === null ? null : (
        <StackedBars
          title={`Refund amounts per day in ${currency.toUpperCase()}`}
          unit="Day"
          bars={moneyPerDay.map(({ day, amounts }) => ({
            label: dayInWords(day),
            values: Object.fromEntries(
              moneyStatuses.map((status) => [status, inMajor(amounts[status], currency)]),
            ),
          }))}
          series={moneyStatuses.map(seriesOf)}
          format={(major) => inMoney(fromMajor(major, currency), currency)}
          formatShort={inShort}
        />
      )}
      <div class="table-scroll">
        <Table
          caption="Refund amounts by currency"
          columns={moneyColumns}
          rows={money.map(({ currency: each, amounts }) => ({
            key: each,
            cells: [
              each.toUpperCase(),
              inMoney(amounts.completed, each),
              inMoney(amounts.processing, each),
              inMoney(amounts.pending, each),
            ],
          }))}
        />
      </div>
    </section>
  );
}

const moneyColumns: readonly Column[] = [
  { title: 'Currency' },
  { title: statusWords.completed, kind: 'number' },
  { title: statusWords.processing, kind: 'number' },
  { title: statusWords.pending, kind: 'number' },
];

function CurrencySwitch({ context, overview: { money, currency, window } }: OverTimeProps) {
  if (money.length < 2) return null;
  const links = money.map(({ currency: each }) => ({
    to: overviewPath(context, { days: window.days.length, currency: each }),
    text: each.toUpperCase(),
    isCurrent: each === currency,
  }));
  return <Switch label="Currency" links={links} />;
}

function seriesOf(name: RefundStatus) {
  return { name, label: statusWords[name] };
}

const dayFormat = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

function dayInWords(day: string): string {
  return dayFormat.format(new Date(`${day}T00:00:00Z`));
}
