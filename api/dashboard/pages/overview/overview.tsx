import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { type NeedsAttention, readNeedsAttention } from '#shared/insights/needs-attention.ts';
import {
  findFirstRefund,
  type Overview,
  type OverviewDays,
  overviewDays,
  readOverview,
  timedRefunds,
} from '#shared/insights/overview.ts';
import { isCurrency } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { Link, Switch } from '../../components/button.tsx';
import { Empty } from '../../components/notice.tsx';
import { CopyButton, Moment } from '../../components/values.tsx';
import { contextOf, useMember } from '../../http/access.ts';
import { page } from '../../http/page.ts';
import { originOf } from '../../http/paths.ts';
import { Frame } from '../../layout/frame.tsx';
import { inWhole } from '../../words/numbers.ts';
import { NeedsAttentionCard } from './needs-attention.tsx';
import { CountCard, MoneyCard, overviewPath } from './over-time.tsx';
import { cacheSlowReads } from './slow-reads.ts';
import { Breakdowns, Tiles } from './summary.tsx';

const querySchema = z.object({
  days: z.coerce
    .number()
    .transform((days, context) => {
      const known = overviewDays.find((each) => each === days);
      if (known === undefined) context.addIssue('not offered');
      return known;
    })
    .optional(),
  currency: z.string().refine(isCurrency).optional().catch(undefined),
});

const dayMs = 86_400_000;

/** The overview of an organization: what needs attention, and figures of recent refunds. */
export function overviewPages(scope: Api, deps: ApiDependencies): void {
  const cached = cacheSlowReads<Overview>();
  const read = async (request: FastifyRequest) => {
    const context = contextOf(request);
    const query = querySchema.safeParse(request.query);
    if (!query.success) {
      throw new ServiceError('validation_error', `days: must be one of ${overviewDays.join(', ')}.`);
    }
    const { days: chosen, currency = null } = query.data;
    const { owner } = context;
    const now = deps.clock.now();
    const firstAt = await findFirstRefund(deps.db, owner);
    // A first day is a picture of its hours.
    const days = chosen ?? (firstAt !== null && now.getTime() - firstAt.getTime() < dayMs ? 1 : 30);
    const [needsAttention, overview] = await Promise.all([
      readNeedsAttention(deps.db, owner),
      cached([owner.organizationId, owner.environment, days, currency].join(), () =>
        deps.slowReads(owner.organizationId, () => readOverview(deps.db, owner, { now, days, currency })),
      ),
    ]);
    const origin = originOf(request);
    const isNew = firstAt === null;
    return { days, currency, needsAttention, isNew, overview, origin };
  };
  page(scope, '', 'viewer', read, OverviewPage);
}

interface OverviewPageProps {
  days: OverviewDays;
  /** The selected currency of the amounts over time. */
  currency: string | null;
  needsAttention: NeedsAttention;
  /** True until the first refund is created. */
  isNew: boolean;
  overview: Overview;
  /** The API's origin, for the example. */
  origin: string;
}

function OverviewPage(props: OverviewPageProps) {
  const { days, currency, needsAttention, isNew, overview, origin } = props;
  const links = overviewDays.map((each) => ({
    to: overviewPath({ days: each, currency }),
    text: inWords(each),
    isCurrent: each === days,
  }));
  const period = isNew ? undefined : <Switch label="Time range" links={links} />;
  return (
    <Frame title="Overview" section="overview" actions={period}>
      <NeedsAttentionCard needsAttention={needsAttention} />
      {isNew ? <FirstRefund origin={origin} /> : null}
      {!isNew && overview.total === 0 ? <QuietDays days={days} /> : null}
      {overview.total === 0 ? null : (
        <>
          <Tiles overview={overview} />
          <div class="columns">
            <CountCard overview={overview} />
            <MoneyCard overview={overview} />
          </div>
          <Breakdowns overview={overview} />
          <p class="muted small">
            By creation date in UTC, as of <Moment at={overview.window.to} />. Compared with the previous
            period of the same length.
            {overview.total > timedRefunds &&
              ` The times of this period are of the newest ${inWhole(timedRefunds)} that completed.`}
          </p>
        </>
      )}
    </Frame>
  );
}

function inWords(days: OverviewDays): string {
  return days === 1 ? '24 hours' : `${days} days`;
}

/** Shown instead of the figures when no refund is in the time range. */
function QuietDays({ days }: { days: OverviewDays }) {
  const { environment } = useMember();
  return (
    <section class="card">
      <Empty title={`No ${environment} refunds in the last ${inWords(days)}`}>
        <p>
          Select a longer time range, or view <Link to="/refunds">all refunds</Link>.
        </p>
      </Empty>
    </section>
  );
}

/** The first steps of a new organization. */
function FirstRefund({ origin }: { origin: string }) {
  const { environment } = useMember();
  const command = [
    `curl ${origin}/v1/refunds \\`,
    `  -H "Authorization: Bearer svc_${environment}_..." \\`,
    '  -H "Idempotency-Key: $(uuidgen)" \\',
    '  -H "Content-Type: application/json" \\',
    `  -d '{"transactionId": "ch_...", "amount": 1500, "currency": "usd", "reason": "other"}'`,
  ].join('\n');
  return (
    <section class="card">
      <Empty title={`No ${environment} refunds yet`} icon="undo">
        <p>
          Set up a <Link to="/settings/accounts">processor account</Link>, create an{' '}
          <Link to="/settings/api-keys">API key</Link>, and create the first refund:
        </p>
        <div class="example">
          <pre>
            <code>{command}</code>
          </pre>
          <CopyButton text={command} label="the command" />
        </div>
      </Empty>
    </section>
  );
}
