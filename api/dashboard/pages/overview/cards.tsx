import type { Overview } from '../../../../shared/insights/overview.ts';
import { formatAmount } from '../../../../shared/money.ts';
import type { InitiatedBy } from '../../../../shared/refunds/reasons.ts';
import { refundStatuses } from '../../../../shared/refunds/states.ts';
import type { Context } from '../../access.ts';
import { StackedBars } from '../../charts/stacked-bars.tsx';
import { StatusBadge, statusWords } from '../../layout/badge.tsx';
import { initiatorWords, processorWord } from '../../layout/words.ts';

interface CardProps {
  overview: Overview;
}

/** The few numbers that tell how it goes. */
export function Figures({ overview: { total, counts, outcomes, completion } }: CardProps) {
  const completed = outcomes.find(({ status }) => status === 'completed');
  return (
    <section class="figures" aria-label="In numbers">
      <Figure name="Refunds" value={whole(total)} />
      <Figure name="Under way" value={whole(counts.pending + counts.processing)} />
      <Figure
        name="Completed"
        value={outcomes.some(({ count }) => count > 0) ? percent(completed?.share ?? 0) : '-'}
        detail="of those that have ended"
      />
      <Figure
        name="Time to completion"
        value={completion === null ? '-' : duration(completion.medianMs)}
        detail={completion === null ? undefined : `median; 90 % within ${duration(completion.p90Ms)}`}
      />
    </section>
  );
}

function Figure({ name, value, detail }: { name: string; value: string; detail?: string | undefined }) {
  return (
    <div class="card">
      <p class="muted small">{name}</p>
      <p class="figure-value">{value}</p>
      {detail === undefined ? null : <p class="muted small">{detail}</p>}
    </div>
  );
}

/** Refunds over time. */
export function PerDayCard({ overview: { perDay } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="per-day">
      <h2 id="per-day">Refunds per day</h2>
      <StackedBars
        title="Refunds per day by their status"
        bars={perDay.map(({ day, counts }) => ({ label: dayInWords(day), values: counts }))}
        series={refundStatuses.map((name) => ({ name, label: statusWords[name] }))}
        format={whole}
      />
      <p class="muted small">By the day on which they were created, in UTC.</p>
    </section>
  );
}

/** Money by currency; amounts of different currencies are never added. */
export function MoneyCard({ overview: { money } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="money">
      <h2 id="money">Money</h2>
      <div class="table-scroll">
        <table>
          <thead>
            <tr>
              <th>Currency</th>
              <th class="number">Completed</th>
              <th class="number">Under way</th>
            </tr>
          </thead>
          <tbody>
            {money.map(({ currency, amounts }) => (
              <tr key={currency}>
                <td>{currency.toUpperCase()}</td>
                <td class="number">{formatAmount(amounts.completed, currency)}</td>
                <td class="number">{formatAmount(amounts.pending + amounts.processing, currency)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </section>
  );
}

/** How refunds ended, and through whom they came and went. */
export function SharesCard({ overview: { outcomes, byProcessor, byInitiator } }: CardProps) {
  return (
    <section class="card stack" aria-labelledby="outcomes">
      <h2 id="outcomes">Outcomes</h2>
      <ul class="stack-tight">
        {outcomes.map(({ status, count, share }) => (
          <li key={status} class="spread">
            <StatusBadge status={status} />
            <span class="number">
              {whole(count)} <span class="muted">{percent(share)}</span>
            </span>
          </li>
        ))}
      </ul>
      <Counts
        title="Processor"
        rows={byProcessor.map(({ processor, counts }) => [processorWord(processor), counts])}
      />
      <Counts
        title="Asked through"
        rows={byInitiator.map(({ initiatedBy, counts }) => [
          initiatorWords[initiatedBy as InitiatedBy],
          counts,
        ])}
      />
    </section>
  );
}

function Counts({ title, rows }: { title: string; rows: [string, Overview['counts']][] }) {
  return (
    <div class="stack-tight">
      <h3>{title}</h3>
      <ul class="stack-tight">
        {rows.map(([name, counts]) => (
          <li key={name} class="spread">
            <span>{name}</span>
            <span class="number">{whole(Object.values(counts).reduce((sum, count) => sum + count, 0))}</span>
          </li>
        ))}
      </ul>
    </div>
  );
}

/** Why refunds failed. */
export function TroubleCard({ context, overview: { failureCodes } }: CardProps & { context: Context }) {
  return (
    <section class="card stack" aria-labelledby="failures">
      <h2 id="failures">Why refunds failed</h2>
      {failureCodes.length === 0 ? (
        <p class="muted">None has failed.</p>
      ) : (
        <ul class="stack-tight">
          {failureCodes.map(({ code, count }) => (
            <li key={code} class="spread">
              <code>{code}</code>
              <span class="number">{whole(count)}</span>
            </li>
          ))}
        </ul>
      )}
      <p>
        <a href={`${context.base}/refunds?status=failed`}>All that failed</a>
      </p>
    </section>
  );
}

function whole(value: number): string {
  return value.toLocaleString('en-US');
}

function percent(share: number): string {
  return `${(share * 100).toFixed(share > 0 && share < 1 ? 1 : 0)} %`;
}

const units = [
  { name: 'd', ms: 86_400_000 },
  { name: 'h', ms: 3_600_000 },
  { name: 'min', ms: 60_000 },
  { name: 's', ms: 1_000 },
] as const;

/** A span of time in its two greatest units. */
function duration(ms: number): string {
  const first = units.findIndex((unit) => ms >= unit.ms);
  const [unit, below] = [units[first], units[first + 1]];
  if (unit === undefined) return '< 1 s';
  const count = Math.floor(ms / unit.ms);
  const rest = below === undefined ? 0 : Math.floor((ms % unit.ms) / below.ms);
  return rest === 0 || below === undefined
    ? `${count} ${unit.name}`
    : `${count} ${unit.name} ${rest} ${below.name}`;
}

const dayFormat = new Intl.DateTimeFormat('en-US', { month: 'short', day: 'numeric', timeZone: 'UTC' });

function dayInWords(day: string): string {
  return dayFormat.format(new Date(`${day}T00:00:00Z`));
}
