import type { Refund } from '../../../shared/platform/database.ts';
import { isTerminal } from '../../../shared/refunds/model/states.ts';
import { groupBy } from '../../support/group-by.ts';
import type { Violation } from '../../support/refunds/ledger-rules.ts';
import { acceptedIdOf, type Page, type Told } from './diary.ts';

/**
 * Holds what clients were told against our records: every accepted request has exactly one refund, a request that was
 * refused has none that lives, a key stands for one refund for good, and a final status that somebody was told is true.
 */
export function clientViolations(pages: readonly Page[], refunds: readonly Refund[]): Violation[] {
  const byRequest = groupBy(refunds, requestOf);
  const byKey = new Map(refunds.map((refund) => [refund.idempotencyKey, refund]));
  const known = new Set(pages.map(({ creation }) => creation.name));
  return [
    ...pages.flatMap((page) => {
      const rows = byRequest.get(page.creation.name) ?? [];
      const key = byKey.get(`create-${page.creation.name}`) ?? null;
      return violationsOf(page, rows, key).map(([kind, what]) => ({
        kind,
        refundId: acceptedIdOf(page) ?? rows[0]?.id ?? null,
        what: `request ${page.creation.name}: ${what}: told ${JSON.stringify(page.creationAnswers)}`,
      }));
    }),
    ...refunds
      .filter((refund) => !known.has(requestOf(refund)))
      .map(({ id }): Violation => ({ kind: 'wrong', refundId: id, what: 'nobody asked for it' })),
  ];
}

/** The name that its client put into the metadata. */
function requestOf({ metadata }: Refund): string {
  return String((metadata as { request?: unknown } | null)?.request);
}

type Finding = [kind: Violation['kind'], what: string];

function violationsOf(page: Page, rows: readonly Refund[], key: Refund | null): Finding[] {
  return [
    ...acceptanceFindings(page, rows, key),
    ...refusalFindings(page, rows),
    ...answerFindings(page),
    ...statusFindings(page, rows),
  ];
}

function acceptanceFindings(page: Page, rows: readonly Refund[], key: Refund | null): Finding[] {
  const { creation, creationAnswers } = page;
  const findings: Finding[] = [];
  if (rows.length > 1) {
    findings.push(['doubled', `it has ${rows.length} refunds: ${rows.map(describe)}`]);
  }
  const ids = new Set(creationAnswers.filter(isAccepted).map(({ refundId }) => refundId));
  if (ids.size > 1) findings.push(['doubled', 'it was told of several refunds']);
  for (const id of ids) {
    const row = rows.find((refund) => refund.id === id);
    if (row === undefined) findings.push(['lost', 'it was accepted and is not on record']);
    else if (!isAsAsked(row, page)) findings.push(['wrong', `its refund is another one: ${describe(row)}`]);
    if (creation.keyed && key?.id !== id) findings.push(['wrong', `its key stands for ${key?.id}`]);
  }
  return findings;
}

function isAsAsked(row: Refund, { creation }: Page): boolean {
  const { transactionId, amount, currency } = creation.body;
  return (
    row.transactionId === transactionId &&
    row.amount === BigInt(Number(amount)) &&
    row.currency === currency &&
    row.environment === creation.environment
  );
}

/** The last answer counts: a keyed request is repeated until there is one that leaves nothing open. */
function refusalFindings({ creation, creationAnswers }: Page, rows: readonly Refund[]): Finding[] {
  const last = creationAnswers.at(-1)?.httpStatus ?? null;
  const live = rows.filter(({ status }) => status !== 'failed');
  const isRefused = last !== null && last >= 400 && last !== 500;
  if (isRefused && creation.copies === 1 && live.length > 0) {
    return [['wrong', `it was refused and lives: ${live.map(describe)}`]];
  }
  return [];
}

/** What a client of this kind may be told; everything else is a fault of the service. */
const foreseen: ReadonlySet<string> = new Set([
  '400 validation_error',
  '409 refund_already_processed',
  '500 internal_error',
  '502 processor_error',
  '503 service_unavailable',
]);

const foreseenOfCancel: ReadonlySet<string> = new Set([
  '409 refund_not_cancellable',
  '500 internal_error',
  '503 service_unavailable',
]);

const foreseenOfRead: ReadonlySet<string> = new Set(['500 internal_error', '503 service_unavailable']);

function answerFindings({ creationAnswers, cancelAnswers, readAnswers, isConcluded }: Page): Finding[] {
  const strange = [
    ...creationAnswers.filter((told) => isStrange(told, foreseen)),
    ...cancelAnswers.filter((told) => isStrange(told, foreseenOfCancel)),
    ...readAnswers.filter((told) => isStrange(told, foreseenOfRead)),
  ];
  return [
    ...strange.map((told): Finding => ['wrong', `an answer that nobody foresees: ${JSON.stringify(told)}`]),
    ...(isConcluded ? [] : [['lost', 'its client never got an answer'] satisfies Finding]),
  ];
}

function isStrange({ httpStatus, errorCode }: Told, expected: ReadonlySet<string>): boolean {
  return httpStatus !== null && httpStatus !== 200 && !expected.has(`${httpStatus} ${errorCode}`);
}

/** A final status is told once it is true, and stays so; a cancellation that is confirmed is one, too. */
function statusFindings(page: Page, rows: readonly Refund[]): Finding[] {
  const { creationAnswers, cancelAnswers, readAnswers } = page;
  const findings: Finding[] = [];
  for (const told of [...creationAnswers, ...cancelAnswers, ...readAnswers].filter(isAccepted)) {
    const row = rows.find(({ id }) => id === told.refundId);
    if (row === undefined || told.refundStatus === null) continue;
    if (isTerminal(told.refundStatus as Refund['status']) && told.refundStatus !== row.status) {
      findings.push(['wrong', `${told.refundStatus} was told of ${describe(row)}`]);
    }
  }
  if (cancelAnswers.some((told) => isAccepted(told) && told.refundStatus !== 'cancelled')) {
    findings.push(['wrong', 'a cancellation was confirmed with another status']);
  }
  return findings;
}

function isAccepted({ httpStatus }: Told): boolean {
  return httpStatus === 200;
}

function describe({ id, status }: Refund): string {
  return `${id} (${status})`;
}
