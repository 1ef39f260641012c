import { userInfo } from 'node:os';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { createApiKey } from '#shared/organizations/api-keys.ts';
import { createUser } from '#shared/people/members/users.ts';
import type { Refund } from '#shared/platform/database.ts';
import { setPolicies } from '#shared/policies/stored-policies.ts';
import { setProcessorAccount } from '#shared/processors/accounts/manage-accounts.ts';
import { approveRefund } from '#shared/refunds/decisions/approve.ts';
import { sandboxCredentials } from '../../sandbox/processors.ts';
import { auditOf } from '../../support/audit-log.ts';
import { adminCliOf, onlyLine } from '../../support/processes/admin-cli.ts';
import { expectInvariants } from '../../support/refunds/invariants.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { rowOf, untilStatus } from '../../support/refunds/refund-records.ts';
import { useService } from '../../support/use-service.ts';
import { waitFor } from '../../support/wait-for.ts';

// Only new credentials may continue a refund that waits for them.
const service = useService({ settings: { MISCONFIGURED_RETRY_MS: 3_600_000 } });
const admin = adminCliOf(service);

beforeAll(async () => {
  await service.sandbox.settings({ autoSettleMs: 100 });
  // Above 20.00 approval is required.
  const policy = { name: 'Ask', priority: 1, approvalAbove: { api: 2_000 } };
  const { id: organizationId } = service.organization;
  await setPolicies(service.deps, { organizationId, file: { policies: [policy] }, actor: 'test' });
});
afterAll(() => expectInvariants(service));

async function createRefund(amount: number, transactionId?: string): Promise<Refund> {
  const payment = transactionId ?? (await newPayment(service));
  const body = { transactionId: payment, amount, reason: 'other', metadata: { order: '4711' } };
  const headers = { prefer: 'respond-async' };
  const { status, body: answer } = await service.call('POST', '/v1/refunds', { body, headers });
  expect(status, JSON.stringify(answer)).toBe(200);
  return await rowOf(service, answer.data.id);
}

async function movedFor({ transactionId }: Refund): Promise<number> {
  return (await service.sandbox.refunds({ transactionId })).length;
}

describe('a refund that awaits approval', () => {
  let refund: Refund;
  beforeEach(async () => {
    refund = await createRefund(2_500);
    expect(refund.status).toBe('pending');
  });

  test('is never sent once it was rejected, gives its amount back, and stores the reason', async () => {
    const reason = 'The customer wants an exchange';
    const rejected = await admin(['refund', 'reject', refund.id, '--reason', reason]);
    expect(rejected.code, rejected.stderr).toBe(0);
    const late = await admin(['refund', 'approve', refund.id]);
    expect(late.code).toBe(1);
    expect(onlyLine(late.stderr)).toContain('is not awaiting approval: its status is cancelled');
    expect((await rowOf(service, refund.id)).status).toBe('cancelled');
    expect(await movedFor(refund)).toBe(0);
    const [payment] = await service.deps.db.payment.findMany({
      where: { names: { some: { name: refund.transactionId } } },
    });
    expect(payment?.reserved).toBe(0n);
    const events = await service.deps.db.refundEvent.findMany({
      where: { refundId: refund.id, type: 'refund.cancelled' },
    });
    expect(events).toMatchObject([{ previousStatus: 'pending', detail: { reason } }]);
    expect(await auditOf(service, refund.id)).toMatchObject([
      { action: 'refund.rejected', detail: { reason } },
    ]);
  });

  test('is not approved on the command line by who created the key that requested it', async () => {
    const owner = { organizationId: service.organization.id, environment: 'test' } as const;
    const { id } = await createApiKey(service.deps, { ...owner, actor: `cli:${userInfo().username}` });
    // As if that key had requested it.
    await service.deps.db.$executeRaw`
      UPDATE api_key SET created_by = ${`key:${id}`} WHERE id = ${service.organization.keys.test.id}`;
    const refused = await admin(['refund', 'approve', refund.id]);
    expect(refused).toMatchObject({ code: 1, stdout: '' });
    expect(onlyLine(refused.stderr)).toBe(
      'An API key of yours requested this refund, and no other member can approve it. An owner or admin can invite another member. You can reject it.',
    );
    expect((await rowOf(service, refund.id)).status).toBe('pending');
    await service.deps.db.$executeRaw`
      UPDATE api_key SET created_by = 'test' WHERE id = ${service.organization.keys.test.id}`;
    expect((await admin(['refund', 'reject', refund.id, '--reason', 'Done'])).code).toBe(0);
  });

  test('is on the list of what needs attention', async () => {
    const listed = await admin(['refund', 'attention', '--organization', service.organization.id, '--json']);
    const ids = JSON.parse(listed.stdout).refunds.map((item: { refund: { id: string } }) => item.refund.id);
    expect(ids).toContain(refund.id);
    await approveRefund(service.deps, refund, 'cli:a');
  });
});

test('shows a refund with its fields, its state and its timeline', async () => {
  const refund = await createRefund(1_050);
  await untilStatus(service, refund.id, 'completed');
  const { stdout, code } = await admin(['refund', 'show', refund.id]);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^amount +10\.50 USD \(1050 in minor units\)$/m);
  expect(stdout).toMatch(/^metadata +\{"order":"4711"\}$/m);
  expect(stdout).toMatch(/^attemptCount +1$/m);
  const time = String.raw`\d{4}-\d\d-\d\dT[\d:.]+Z`;
  expect(stdout).toMatch(new RegExp(`^${time} +refund\\.created +processing +key:key_`, 'm'));
  expect(stdout).toMatch(
    new RegExp(`^${time} .* attempt=\\{"number":1,"outcome":"accepted","startedAt":"${time}"\\}`, 'm'),
  );
  expect(stdout).toMatch(
    new RegExp(
      `^${time} +refund\\.completed +processing -> completed +worker +.*processorStatus="succeeded"`,
      'm',
    ),
  );
  const json = JSON.parse((await admin(['refund', 'show', refund.id, '--json'])).stdout);
  expect(json).toMatchObject({ refund: { id: refund.id, amount: 1050 }, state: { attemptCount: 1 } });
  expect(json.events[0]).toMatchObject({ seq: 1, type: 'refund.created' });
});

test('continues refunds that wait for credentials when new ones are set', async () => {
  const { id: organizationId } = service.organization;
  const request = { organizationId, environment: 'test', processor: 'stripe', actor: 'test' } as const;
  const good = sandboxCredentials('test', service.sandboxUrl).stripe;
  const refund = await createRefund(1_000);
  await untilStatus(service, refund.id, 'completed');
  await setProcessorAccount(service.deps, {
    ...request,
    credentials: { ...good, secretKey: 'sk_test_wrong!' },
  });
  const { id: waiting } = await createRefund(500, refund.transactionId);
  await waitFor('the refund to be flagged', async () => (await rowOf(service, waiting)).flaggedAt !== null);
  const listed = await admin(['refund', 'attention']);
  expect(listed.stdout).toMatch(new RegExp(`^${waiting} .*cannot be used`, 'm'));

  const { resumedRefunds } = await setProcessorAccount(service.deps, { ...request, credentials: good });
  expect(resumedRefunds).toBe(1);
  await untilStatus(service, waiting, 'completed');
  const account = await service.deps.db.processorAccount.findFirstOrThrow({
    where: { organizationId, environment: 'test', processor: 'stripe' },
  });
  expect(account.misconfiguredAt).toBeNull();
});

describe('users', () => {
  const newUser = (email: string, password = 'correct horse battery') =>
    createUser(service.deps, {
      organizationId: service.organization.id,
      email,
      password,
      role: 'owner',
      actor: 'test',
    });

  test('a password is kept as argon2id alone, an address in lowercase', async () => {
    const { id } = await newUser(' Ada@Example.COM ');
    const user = await service.deps.db.user.findUniqueOrThrow({
      where: { id },
      include: { memberships: true },
    });
    expect(user).toMatchObject({ email: 'ada@example.com', memberships: [{ role: 'owner' }] });
    expect(user.passwordHash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
    expect(JSON.stringify(await auditOf(service, id))).not.toMatch(/horse|argon2/);
  });

  test('an address has one user, whatever its case, and a refused one leaves nothing behind', async () => {
    await newUser('grace@example.com');
    const before = await service.deps.db.auditLog.count();
    await expect(newUser('Grace@example.com')).rejects.toThrow('already has a user');
    await expect(newUser('nobody')).rejects.toThrow('must be a valid email address');
    await expect(newUser('new@example.com', 'short')).rejects.toThrow('12 to 128');
    expect(await service.deps.db.auditLog.count()).toBe(before);
  });
});
