import type { Overview } from '#shared/insights/overview.ts';
import { type RefundStatus, refundStatuses } from '#shared/refunds/model/states.ts';
import { statusWords } from '../../components/badge.tsx';
import { BarChart } from '../../components/bar-chart.tsx';
import { Switch } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { withQuery } from '../../http/paths.ts';
import { fromMajor, inMajor, inMoney, inShort, inWhole } from '../../words/numbers.ts';
import { capitalized } from '../../words/words.ts';

/** The path of the overview. @param options `currency` of the amounts over time; null for the most used one. */
export function overviewPath(options: { days: number; currency: string | null }): string {
  return withQuery('', options);
}

interface OverTimeProps {
  overview: Overview;
}

/** Refunds over time. */
export function CountCard({ overview: { perStep, window } }: OverTimeProps) {
  const unit = unitOf(window);
  return (
    <Card id="per-step" title={`Refunds per ${unit}`}>
      <BarChart
        title={`Refunds per ${unit} by status`}
        unit={capitalized(unit)}
        bars={perStep.map(({ step, counts }) => ({ ...barOf(step), values: counts }))}
        series={refundStatuses.map(seriesOf)}
        format={inWhole}
      />
    </Card>
  );
}

/** Money that has moved or may still move. */
const moneyStatuses = ['completed', 'processing', 'pending'] as const satisfies readonly RefundStatus[];

/** Refund amounts in one currency over time. Amounts of different currencies are never added. */
export function MoneyCard({ overview }: OverTimeProps) {
  const { money, currency, moneyPerStep, window } = overview;
  if (currency === null) return null;
  const unit = unitOf(window);
  const links = money.map(({ currency: each }) => ({
    to: overviewPath({ days: window.length, currency: each }),
    text: each.toUpperCase(),
    isCurrent: each === currency,
  }));
  const title = `Amounts per ${unit} in ${currency.toUpperCase()}`;
  return (
    <section class="card stack" aria-labelledby="money">
      <div class="spread">
        <h2 id="money">{title}</h2>
        {links.length < 2 ? null : <Switch label="Currency" links={links} />}
      </div>
      <BarChart
        title={title}
        unit={capitalized(unit)}
        bars={moneyPerStep.map(({ step, amounts }) => ({
          ...barOf(step, { currency }),
          values: Object.fromEntries(moneyStatuses.map((each) => [each, inMajor(amounts[each], currency)])),
        }))}
        series={moneyStatuses.map(seriesOf)}
        format={(major) => inMoney(fromMajor(major, currency), currency)}
        formatShort={inShort}
      />
    </section>
  );
}

const dayFormat = new Intl.DateTimeFormat('en-GB', { month: 'short', day: 'numeric', timeZone: 'UTC' });

/** A bar leads to the refunds of its day. `2026-11-21` becomes "21 Nov", `2026-11-21T14` "14:00". */
function barOf(step: string, filter: Record<string, string> = {}) {
  const [day = '', hour] = step.split('T');
  return {
    label: hour === undefined ? dayFormat.format(new Date(`${day}T00:00:00Z`)) : `${hour}:00`,
    to: `/refunds?${new URLSearchParams({ ...filter, from: day, to: day })}`,
  };
}

function unitOf({ length }: Overview['window']): 'hour' | 'day' {
  return length === 1 ? 'hour' : 'day';
}

function seriesOf(name: RefundStatus) {
  return { name, label: statusWords[name] };
}
