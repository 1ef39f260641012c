import { maxReplayed, type PolicyOutcome, type Replay, replayedDays } from '#shared/insights/replay.ts';
import type { Environment } from '#shared/platform/environment.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Amount, Moment, Sentence } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';
import { dashboardPath } from '../../http/paths.ts';
import { inWhole } from '../../words/numbers.ts';

/** How many refunds the page lists. */
const mostShown = 25;

const outcomes: Readonly<Record<PolicyOutcome, readonly [words: string, tone: Tone]>> = {
  blocked: ['Blocked', 'bad'],
  approval_required: ['Requires approval', 'wait'],
  not_blocked: ['Denied, but still created', 'warn'],
  allowed: ['Allowed', 'good'],
};

/** What the edited policies would have decided about the refunds of the last days in an environment, beside the saved ones. */
export function ReplayCard({ environment, replay }: { environment: Environment; replay: Replay }) {
  const { organization } = useMember();
  const refunds = `${dashboardPath}/${organization.id}/${environment}/refunds`;
  const { refundCount, skippedCount, isCutOff, current, proposed, changedCount, affected, unknown } = replay;
  const shown = affected.slice(0, mostShown);
  const period = `the last ${replayedDays} days`;
  return (
    <Card id={`replay-${environment}`} title={`Replay of ${period}, ${environment}`}>
      <p>
        <strong>
          Would have blocked {inWhole(proposed.blocked)} of {inWhole(refundCount)} {environment} refunds, and
          required approval for {inWhole(proposed.approval_required)}.
        </strong>{' '}
        {inWhole(changedCount)} would get a different decision than with the saved policies.
        {isCutOff
          ? ` There are more refunds in ${period}; these are the newest ${inWhole(maxReplayed)}.`
          : ''}
      </p>
      <Facts
        facts={Object.entries(outcomes).map(([outcome, [words]]) => {
          const [now, then] = [current[outcome as PolicyOutcome], proposed[outcome as PolicyOutcome]];
          return [words, now === then ? `${inWhole(now)}, no change` : `${inWhole(now)} → ${inWhole(then)}`];
        })}
      />
      {shown.length === 0 ? null : (
        <details class="more">
          <summary>Show the newest {shown.length}</summary>
          <ul class="stack">
            {shown.map(({ refund, reason, ...decided }) => (
              <li key={refund.id} class="stack-tight">
                <div class="row">
                  <Link to={`${refunds}/${refund.id}`}>
                    <Amount amount={refund.amount} currency={refund.currency} />
                  </Link>
                  <Moment at={refund.createdAt} />
                  <span class="row">
                    {decided.current === decided.proposed ? null : <Outcome outcome={decided.current} />}
                    {decided.current === decided.proposed ? null : '→'}
                    <Outcome outcome={decided.proposed} />
                  </span>
                </div>
                <p class="small">
                  <Sentence text={reason} />
                </p>
              </li>
            ))}
          </ul>
        </details>
      )}
      <ul class="small muted">
        {skippedCount === 0 ? null : (
          <li>Left out: {inWhole(skippedCount)} refunds whose payment is not known.</li>
        )}
        {unknown.map((sentence) => (
          <li key={sentence}>{sentence}</li>
        ))}
      </ul>
    </Card>
  );
}

function Outcome({ outcome }: { outcome: PolicyOutcome }) {
  const [words, tone] = outcomes[outcome];
  return <Badge tone={tone}>{words}</Badge>;
}
