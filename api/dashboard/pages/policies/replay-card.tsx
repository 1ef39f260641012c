import { maxReplayed, type PolicyOutcome, type Replay, replayedDays } from '#shared/policies/replay.ts';
import { Badge, type Tone } from '../../components/badge.tsx';
import { Link } from '../../components/button.tsx';
import { Card, Facts } from '../../components/card.tsx';
import { Amount, Moment, Sentence } from '../../components/values.tsx';
import { useMember } from '../../http/access.ts';

const outcomes: Readonly<Record<PolicyOutcome, readonly [words: string, tone: Tone]>> = {
  blocked: ['Blocked', 'bad'],
  approval_required: ['Needs an approval', 'wait'],
  not_blocked: ['Denied, not blocked', 'warn'],
  allowed: ['Allowed', 'good'],
};

/** What the edited policies would have decided about the refunds of the last days, beside the saved ones. */
export function ReplayCard({ replay }: { replay: Replay }) {
  const { environment } = useMember();
  const { refundCount, skippedCount, isCutOff, current, proposed, changedCount, affected, unknown } = replay;
  const period = `the last ${replayedDays} days`;
  return (
    <Card id="replay" title={`Replay of ${period}`}>
      <p>
        <strong>
          Would have blocked {proposed.blocked} of {refundCount} {environment} refunds, and asked for an
          approval of {proposed.approval_required}.
        </strong>{' '}
        {changedCount} would get a different decision than with the saved policies.
        {isCutOff ? ` There are more refunds in ${period}; these are the newest ${maxReplayed}.` : ''}
      </p>
      <Facts
        facts={Object.entries(outcomes).map(([outcome, [words]]) => {
          const [now, then] = [current[outcome as PolicyOutcome], proposed[outcome as PolicyOutcome]];
          return [words, now === then ? `${now}, no change` : `${now} → ${then}`];
        })}
      />
      {affected.length < changedCount ? <p class="small">The newest {affected.length} that change:</p> : null}
      <ul class="stack">
        {affected.map(({ refund, reason, ...decided }) => (
          <li key={refund.id} class="stack-tight">
            <div class="row">
              <Link to={`/refunds/${refund.id}`}>
                <Amount amount={refund.amount} currency={refund.currency} />
              </Link>
              <Moment at={refund.createdAt} />
              {decided.current === decided.proposed ? null : <Outcome outcome={decided.current} />}
              {decided.current === decided.proposed ? null : '→'}
              <Outcome outcome={decided.proposed} />
            </div>
            <p class="small">
              <Sentence text={reason} />
            </p>
          </li>
        ))}
      </ul>
      <ul class="small muted">
        {skippedCount === 0 ? null : <li>Left out: {skippedCount} refunds whose payment is not known.</li>}
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
