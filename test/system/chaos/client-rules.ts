import type { Refund } from '#shared/platform/database.ts';
import { requestDigestOf } from '#shared/platform/secrets/request-digest.ts';
import { isTerminal } from '#shared/refunds/model/states.ts';
import { groupBy } from '../../support/group-by.ts';
import type { Ledger } from '../../support/refunds/ledger.ts';
import type { Violation } from '../../support/refunds/ledger-rules.ts';
import { type Answer, acceptedIdOf, type ClientLog } from './client.ts';

/**
 * Compares the answers of clients with our records: every accepted request has exactly one refund, a refused request has
 * none that is alive, a key stands for one refund, and a final status in an answer is the status on record.
 */
export function clientViolations(
  logs: readonly ClientLog[],
  { refunds, accounts }: Pick<Ledger, 'refunds' | 'accounts'>,
): Violation[] {
  const byRequest = groupBy(refunds, requestOf);
  const byKey = new Map(refunds.map((refund) => [refund.idempotencyKey, refund]));
  const known = new Set(logs.map(({ creation }) => creation.name));
  return [
    ...logs.flatMap((log) => {
      const { name, environment } = log.creation;
      const rows = byRequest.get(name) ?? [];
      const owner = { organizationId: refunds[0]?.organizationId ?? '', environment };
      const key = byKey.get(requestDigestOf(owner, `create-${name}`)) ?? null;
      const rules = [acceptanceFindings, refusalFindings, answerFindings, statusFindings];
      const misplaced = rows.filter(
        (row) => ![null, accounts.get(row.accountId)].includes(log.creation.account),
      );
      return rules
        .flatMap((findings) => findings(log, rows, key))
        .concat(misplaced.map((row) => ['misdirected', `it is of ${accounts.get(row.accountId)}`]))
        .map(([kind, what]) => ({
          kind,
          refundId: acceptedIdOf(log) ?? rows[0]?.id ?? null,
          what: `request ${name}: ${what}: answers ${JSON.stringify(log.answers.creation)}`,
        }));
    }),
    ...refunds
      .filter((refund) => !known.has(requestOf(refund)))
      .map(({ id }): Violation => ({ kind: 'wrong', refundId: id, what: 'no client requested it' })),
  ];
}

/** The name that its client put into the metadata. */
function requestOf({ metadata }: Refund): string {
  return String((metadata as { request?: unknown } | null)?.request);
}

type Finding = [kind: Violation['kind'], what: string];

function acceptanceFindings(log: ClientLog, rows: readonly Refund[], key: Refund | null): Finding[] {
  const { creation, answers } = log;
  const findings: Finding[] = [];
  if (rows.length > 1) {
    findings.push(['doubled', `it has ${rows.length} refunds: ${rows.map(describe)}`]);
  }
  const ids = new Set(answers.creation.filter(isSuccess).map(({ refundId }) => refundId));
  if (ids.size > 1) findings.push(['doubled', 'its answers name several refunds']);
  for (const id of ids) {
    const row = rows.find((refund) => refund.id === id);
    if (row === undefined) findings.push(['lost', 'it was accepted and is not on record']);
    else if (!isAsRequested(row, log))
      findings.push(['wrong', `its refund differs from the request: ${describe(row)}`]);
    if (creation.keyed && key?.id !== id) findings.push(['wrong', `its key stands for ${key?.id}`]);
  }
  return findings;
}

function isAsRequested(row: Refund, { creation }: ClientLog): boolean {
  const { transactionId, amount, currency } = creation.body;
  return (
    row.transactionId === transactionId &&
    row.amount === BigInt(Number(amount)) &&
    row.currency === currency &&
    row.environment === creation.environment
  );
}

/** The last answer counts: a request with a key is repeated until its outcome is known. */
function refusalFindings({ creation, answers }: ClientLog, rows: readonly Refund[]): Finding[] {
  const last = answers.creation.at(-1)?.httpStatus ?? null;
  const alive = rows.filter(({ status }) => status !== 'failed');
  const isRefused = last !== null && last >= 400 && last !== 500;
  if (!isRefused || creation.copies > 1 || alive.length === 0) return [];
  return [['wrong', `it was refused and is alive: ${alive.map(describe)}`]];
}

const duringOutages = ['500 internal_error', '503 service_unavailable'];

/** The errors that each request may be answered with. */
const allowed: Record<keyof ClientLog['answers'], readonly string[]> = {
  creation: [...duringOutages, '400 validation_error', '409 refund_already_processed', '502 processor_error'],
  cancel: [...duringOutages, '409 refund_not_cancellable'],
  read: duringOutages,
};

function answerFindings({ answers, isConcluded }: ClientLog): Finding[] {
  const unexpected = Object.entries(allowed).flatMap(([kind, errors]) =>
    answers[kind as keyof typeof allowed].filter(
      ({ httpStatus, errorCode }) =>
        httpStatus !== null && httpStatus !== 200 && !errors.includes(`${httpStatus} ${errorCode}`),
    ),
  );
  return [
    ...unexpected.map((answer): Finding => ['wrong', `unexpected answer ${JSON.stringify(answer)}`]),
    ...(isConcluded ? [] : [['lost', 'its client never got an answer'] satisfies Finding]),
  ];
}

/** A final status is reported only once it is true, and stays. So does a confirmed cancellation. */
function statusFindings({ answers }: ClientLog, rows: readonly Refund[]): Finding[] {
  const findings: Finding[] = [];
  for (const { refundId, refundStatus } of Object.values(answers).flat().filter(isSuccess)) {
    const row = rows.find(({ id }) => id === refundId);
    if (row === undefined || refundStatus === null || refundStatus === row.status) continue;
    if (isTerminal(refundStatus as Refund['status'])) {
      findings.push(['wrong', `${refundStatus} was reported for ${describe(row)}`]);
    }
  }
  if (answers.cancel.some((answer) => isSuccess(answer) && answer.refundStatus !== 'cancelled')) {
    findings.push(['wrong', 'a cancellation was confirmed with another status']);
  }
  return findings;
}

function isSuccess({ httpStatus }: Answer): boolean {
  return httpStatus === 200;
}

function describe({ id, status }: Refund): string {
  return `${id} (${status})`;
}
