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
} from '#shared/insights/overview.ts';
import { isCurrency } from '#shared/money/money.ts';
import { Switch } from '../../components/button.tsx';
import { FirstCommand } from '../../components/first-command.tsx';
import { Empty } from '../../components/notice.tsx';
import { type Context, contextOf } from '../../http/access.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { Frame } from '../../layout/frame.tsx';
import { NeedsAttentionCard } from './needs-attention.tsx';
import { CountCard, MoneyCard, overviewPath } from './over-time.tsx';
import { Breakdowns, Tiles } from './summary.tsx';

const querySchema = z.object({
  days: z.coerce
    .number()
    .transform((days) => overviewDays.find((each) => each === days))
    .optional()
    .catch(undefined),
  currency: z.string().refine(isCurrency).optional().catch(undefined),
});

const dayMs = 86_400_000;

/** The overview of an organization: what needs attention, and figures of recent refunds. */
export function overviewPages(scope: Api, deps: ApiDependencies): void {
  scope.get('', { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    const { days: chosen, currency = null } = querySchema.parse(request.query);
    const { owner } = context;
    const now = deps.clock.now();
    const firstAt = await findFirstRefund(deps.db, owner);
    // A first day is a picture of its hours.
    const days = chosen ?? (firstAt !== null && now.getTime() - firstAt.getTime() < dayMs ? 1 : 30);
    const [needsAttention, overview] = await Promise.all([
      readNeedsAttention(deps.db, owner),
      readOverview(deps.db, owner, { now, days, currency }),
    ]);
    const origin = originOf(request);
    const isNew = firstAt === null;
    return sendPage(
      reply,
      <OverviewPage {...{ context, days, currency, needsAttention, isNew, overview, origin }} />,
    );
  });
}

interface OverviewPageProps {
  context: Context;
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
  const { context, days, currency, needsAttention, isNew, overview, origin } = props;
  const links = overviewDays.map((each) => ({
    to: overviewPath(context, { days: each, currency }),
    text: inWords(each),
    isCurrent: each === days,
  }));
  const period = isNew ? undefined : <Switch label="Time range" links={links} />;
  return (
    <Frame context={context} title="Overview" section="overview" actions={period}>
      <NeedsAttentionCard context={context} needsAttention={needsAttention} />
      {isNew ? <FirstRefund context={context} origin={origin} /> : null}
      {!isNew && overview.total === 0 ? <QuietDays context={context} days={days} /> : null}
      {overview.total === 0 ? null : (
        <>
          <Tiles context={context} overview={overview} />
          <div class="columns">
            <CountCard context={context} overview={overview} />
            <MoneyCard context={context} overview={overview} />
          </div>
          <Breakdowns context={context} overview={overview} />
          <p class="muted small">
            By creation date in UTC. Compared with the period of the same length before.
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
function QuietDays({ context, days }: { context: Context; days: OverviewDays }) {
  return (
    <section class="card">
      <Empty title={`No ${context.environment} refunds in the last ${inWords(days)}`}>
        <p>
          Select a longer time range, or view <a href={`${context.base}/refunds`}>all refunds</a>.
        </p>
      </Empty>
    </section>
  );
}

/** The first steps of a new organization. */
function FirstRefund({ context, origin }: { context: Context; origin: string }) {
  return (
    <section class="card">
      <Empty title={`No ${context.environment} refunds yet`} icon="undo">
        <p>
          Set up a <a href={`${context.base}/settings/accounts`}>processor account</a>, create an{' '}
          <a href={`${context.base}/settings/api-keys`}>API key</a>, and create the first refund:
        </p>
        <FirstCommand environment={context.environment} origin={origin} />
      </Empty>
    </section>
  );
}
