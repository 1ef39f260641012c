import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { ApiDependencies } from '#api/http/dependencies.ts';
import type { Api } from '#api/http/route.ts';
import { recordedExport } from '#shared/audit/recorded-export.ts';
import { toDecimal } from '#shared/money/money.ts';
import { ServiceError } from '#shared/platform/errors.ts';
import { csvLine } from '#shared/platform/formats/csv.ts';
import { displayNameOf } from '#shared/processors/registry.ts';
import { type ReportRow, readReport, type Total } from '#shared/reconciliation/report.ts';
import { ButtonLink } from '../components/button.tsx';
import { FilterForm } from '../components/filter-form.tsx';
import { List } from '../components/list.tsx';
import { Empty, Notice } from '../components/notice.tsx';
import { contextOf, needs, useMember } from '../http/access.ts';
import type { Downloads } from '../http/downloads.ts';
import { dayField, endOfRange, type Filter, filterIn } from '../http/filter.ts';
import { page } from '../http/page.ts';
import { withQuery } from '../http/paths.ts';
import { Frame } from '../layout/frame.tsx';
import { inMoney, inWhole } from '../words/numbers.ts';

const path = '/refunds/report';

/** The first and the last day in UTC. */
const rangeSchema = z
  .object({ from: dayField('Accepted from (UTC)'), to: dayField('Accepted to (UTC)') })
  .transform((range, context) => ({ from: range.from, to: endOfRange(range, context) }));

interface Range {
  from?: Date | undefined;
  to?: Date | undefined;
}

/** `/refunds/report`: what processors accepted in a range of days, the month before by default, and the same as CSV. */
export function reportPages(scope: Api, deps: ApiDependencies, downloads: Downloads): void {
  const read = async (request: FastifyRequest) => {
    const filter = rangeIn(deps, request);
    const { reading } = filter;
    return { filter, rows: reading.kind === 'invalid' ? [] : await rowsOf(deps, request, reading.value) };
  };
  page(scope, path, 'viewer', read, ReportPage);
  // A HEAD request must not start an export.
  const options = { ...needs('viewer'), exposeHeadRoute: false };
  scope.get(`${path}/export`, options, async (request, reply) => {
    const { organization, actor, user, environment } = contextOf(request);
    const { entered, reading } = rangeIn(deps, request);
    if (reading.kind === 'invalid') {
      throw new ServiceError('validation_error', 'The days are invalid. Go back to the report and fix them.');
    }
    const lines = recordedExport(
      deps,
      {
        ...{ organizationId: organization.id, actor },
        actions: ['refunds.export_started', 'refunds.exported'],
        detail: { environment, report: entered },
      },
      async function* (onRows) {
        const rows = await rowsOf(deps, request, reading.value);
        onRows(rows.length);
        yield [Object.keys(csvColumns), ...rows.map((row) => Object.values(csvColumns).map((of) => of(row)))]
          .map(csvLine)
          .join('');
      },
    );
    const name = `report-${environment}-${entered.from}-to-${entered.to}`;
    return downloads.send(reply, { userId: user.id, name, lines });
  });
}

/** The range of an address; the month before by default. */
function rangeIn({ clock }: ApiDependencies, { query }: FastifyRequest): Filter<Range> {
  const now = clock.now();
  const dayOf = (month: number, day: number) =>
    new Date(Date.UTC(now.getUTCFullYear(), month, day)).toISOString().slice(0, 10);
  const usual = { from: dayOf(now.getUTCMonth() - 1, 1), to: dayOf(now.getUTCMonth(), 0) };
  const { entered } = filterIn(rangeSchema, query);
  return filterIn(rangeSchema, entered.from === undefined && entered.to === undefined ? usual : entered);
}

async function rowsOf(
  { db, clock, slowReads }: ApiDependencies,
  request: FastifyRequest,
  { from = new Date(0), to = clock.now() }: Range,
): Promise<ReportRow[]> {
  const { owner } = contextOf(request);
  return await slowReads(owner.organizationId, () => readReport(db, owner, { from, to }));
}

/** Amounts in major units. */
const csvColumns: Readonly<Record<string, (row: ReportRow) => string>> = {
  currency: ({ currency }) => currency,
  processor: ({ processor }) => processor,
  account: ({ account }) => account,
  ...totalColumns('sent'),
  ...totalColumns('completed'),
  ...totalColumns('processing'),
  ...totalColumns('ended'),
};

function totalColumns(name: 'sent' | 'completed' | 'processing' | 'ended') {
  return {
    [`${name}Count`]: (row: ReportRow) => row[name].count.toString(),
    [`${name}Amount`]: (row: ReportRow) => toDecimal(row[name].amount, row.currency),
  };
}

function ReportPage({ filter, rows }: { filter: Filter<Range>; rows: readonly ReportRow[] }) {
  const { environment } = useMember();
  const { entered, reading } = filter;
  const isValid = reading.kind !== 'invalid';
  return (
    <Frame
      title="Report"
      section="refunds"
      actions={isValid && <ButtonLink to={withQuery(`${path}/export`, entered)}>Export as CSV</ButtonLink>}
    >
      <p class="muted">
        The {environment} refunds that processors accepted in these days, with their current status. Sent is
        what reconciliation compares with the processor.
      </p>
      <FilterForm to={path} schema={rangeSchema} filter={filter} />
      {!isValid ? (
        <Notice tone="bad">Fix the highlighted fields.</Notice>
      ) : rows.length === 0 ? (
        <Empty title="No refunds in these days">
          <p>Choose other days above.</p>
        </Empty>
      ) : (
        <List
          caption="Totals per currency, processor and account"
          items={rows}
          columns={[
            ['Currency', ({ currency }) => currency.toUpperCase()],
            ['Account', ({ processor, account }) => [displayNameOf(processor), account].join(', ')],
            ['Sent', totalIn('sent'), 'number'],
            ['Completed', totalIn('completed'), 'number'],
            ['Processing', totalIn('processing'), 'number'],
            ['Failed or cancelled since', totalIn('ended'), 'number'],
          ]}
        />
      )}
    </Frame>
  );
}

function totalIn(name: 'sent' | 'completed' | 'processing' | 'ended') {
  return (row: ReportRow) => <TotalCell total={row[name]} currency={row.currency} />;
}

function TotalCell({ total: { count, amount }, currency }: { total: Total; currency: string }) {
  return (
    <span>
      <span class="nowrap">{inMoney(amount, currency)}</span>
      <span class="detail small muted">
        {inWhole(count)} {count === 1 ? 'refund' : 'refunds'}
      </span>
    </span>
  );
}
