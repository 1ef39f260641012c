import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { type NeedsAttention, readNeedsAttention } from '#shared/insights/needs-attention.ts';
import { type Overview, type OverviewDays, overviewDays, readOverview } from '#shared/insights/overview.ts';
import { isCurrency } from '#shared/money/money.ts';
import { countRefunds } from '#shared/refunds/queries/search-refunds.ts';
import { type Context, contextOf } from '../../http/access.ts';
import { originOf } from '../../http/paths.ts';
import { sendPage } from '../../http/render.ts';
import { Switch } from '../../layout/button.tsx';
import { FirstCommand } from '../../layout/first-command.tsx';
import { Frame } from '../../layout/frame.tsx';
import { Empty } from '../../layout/notice.tsx';
import { Breakdowns } from './breakdowns.tsx';
import { Figures } from './figures.tsx';
import { NeedsAttentionCard } from './needs-attention.tsx';
import { MoneyCard, overviewPath, PerDayCard } from './over-time.tsx';

const querySchema = z.object({
  days: z.coerce
    .number()
    .transform((days) => overviewDays.find((each) => each === days) ?? 30)
    .catch(30),
  currency: z.string().refine(isCurrency).optional().catch(undefined),
});

/** The overview of an organization: what needs attention, and figures of recent refunds. */
export function overviewPages(scope: Api, deps: ApiDependencies): void {
  scope.get('', { config: { role: 'viewer' } }, async (request, reply) => {
    const context = contextOf(request);
    const { days, currency = null } = querySchema.parse(request.query);
    const { owner } = context;
    const [needsAttention, everCreated, overview] = await Promise.all([
      readNeedsAttention(deps.db, owner),
      countRefunds(deps.db, owner, {}, 1),
      readOverview(deps.db, owner, { now: deps.clock.now(), days, currency }),
    ]);
    const origin = originOf(request);
    const isNew = everCreated.count === 0;
    return sendPage(
      reply,
      <OverviewPage {...{ context, days, currency, needsAttention, isNew, overview, origin }} />,
    );
  });
}

interface OverviewPageProps {
  context: Context;
  days: OverviewDays;
  /** The selected currency of the chart of amounts per day. */
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
  return (
    <Frame
      context={context}
      title="Overview"
      section="overview"
      actions={<WindowSwitch {...{ context, days, currency }} />}
    >
      <NeedsAttentionCard context={context} needsAttention={needsAttention} />
      {isNew ? <FirstRefund context={context} origin={origin} /> : null}
      {!isNew && overview.total === 0 ? <QuietDays context={context} days={days} /> : null}
      {overview.total === 0 ? null : (
        <>
          <Figures overview={overview} />
          <PerDayCard overview={overview} />
          <MoneyCard context={context} overview={overview} />
          <Breakdowns context={context} overview={overview} />
        </>
      )}
    </Frame>
  );
}

function WindowSwitch({ context, days, currency }: Pick<OverviewPageProps, 'context' | 'days' | 'currency'>) {
  const links = overviewDays.map((each) => ({
    to: overviewPath(context, { days: each, currency }),
    text: `${each} days`,
    isCurrent: each === days,
  }));
  return <Switch label="Time range" links={links} />;
}

/** Shown instead of the figures when no refund is in the time range. */
function QuietDays({ context, days }: { context: Context; days: OverviewDays }) {
  return (
    <section class="card">
      <Empty title={`No ${context.environment} refunds in the last ${days} days`}>
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
      <Empty title={`No ${context.environment} refunds yet`}>
        <p>
          Set up a <a href={`${context.base}/settings/accounts`}>processor account</a>, create an{' '}
          <a href={`${context.base}/settings/api-keys`}>API key</a>, and create the first refund:
        </p>
        <FirstCommand environment={context.environment} origin={origin} />
      </Empty>
    </section>
  );
}
