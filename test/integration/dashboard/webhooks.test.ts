import { beforeAll, expect, test } from 'vitest';
import { createRefund } from '#shared/refunds/lifecycle/create.ts';
import { systemClock } from '../../support/clocks.ts';
import { type DashboardMember, signInMember } from '../../support/dashboard/dashboard-member.ts';
import { statementsOfPages } from '../../support/dashboard/page-statements.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { refundRequest } from '../../support/refunds/refund-requests.ts';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, storeDelivery } from '../../support/webhooks/api-endpoints.ts';
import { addEndpoint } from '../../support/webhooks/endpoints.ts';

// Roles, CSRF tokens and foreign organizations are covered for every route by access.test.ts.

const service = useService({ workers: 0, overrides: { clock: systemClock } });
let admin: DashboardMember;
let operator: DashboardMember;
let base: string;
beforeAll(async () => {
  admin = await signInMember(service, 'admin');
  operator = await signInMember(service, 'operator');
  base = `/dashboard/${service.organization.id}/test/webhooks`;
});

const text = '<script>alert(1)</script>';

test('an endpoint is created with the events that were chosen, and its secret is shown once', async () => {
  const form: [string, string][] = [
    ['url', 'https://shop.example.com/hooks'],
    ['events', 'refund.failed'],
    ['events', 'refund.completed'],
    ['description', text],
  ];
  const created = await admin.visitor.post(base, form);
  const [secret = ''] = /whsec_[\w+/=]+/.exec(created.text) ?? [];
  expect(secret).not.toBe('');
  const { visitor, userId } = admin;
  const [row] = await service.deps.db.webhookEndpoint.findMany({ where: { createdBy: `user:${userId}` } });
  expect(row).toMatchObject({ events: ['refund.completed', 'refund.failed'], status: 'enabled' });
  for (const path of [base, `${base}/${row?.id}`]) {
    const page = await visitor.get(path);
    expect(page.text).toContain(admin.email);
    expect(page.text).not.toContain(secret);
    expect(page.text).not.toContain(text);
  }
  for (const [url, problem] of [
    ['https://user:secret@example.com', 'Must not contain a user name or password.'],
    ['ftp://example.com', 'Must begin with'],
  ] as const) {
    const refused = await visitor.post(base, { url, events: '*' });
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining(problem) });
  }
});

test('a delivery is shown with its escaped body and response, and not to another organization or environment', async () => {
  const { id } = await addEndpoint(service, { url: 'https://shop.example.com/other' });
  const transactionId = await newPayment(service);
  const { refund } = await createRefund(
    service.deps,
    refundRequest(service, transactionId, { metadata: { text } }),
  );
  const event = await service.deps.db.refundEvent.findFirstOrThrow({ where: { refundId: refund.id } });
  const attempt = { number: 1, startedAt: new Date().toISOString(), durationMs: 7, responseBody: text };
  const delivery = await storeDelivery(service, id, {
    ...{ eventId: event.id, type: event.type, refundId: refund.id, position: event.position },
    attempts: [{ ...attempt, responseStatus: 500, error: 'unsuccessful_status' }],
  });
  const page = await operator.visitor.get(`${base}/${id}/deliveries/${delivery.id}`);
  expect(page.status).toBe(200);
  expect(page.text).not.toContain(text);
  const escaped = text.replaceAll('<', '&lt;');
  expect(page.text.split(escaped)).toHaveLength(3);
  expect(page.text).toContain(transactionId);

  const { id: organizationId } = await service.addOrganization('Others');
  const theirs = await addEndpoint(service, { url: 'https://example.com', organizationId });
  const foreign = await storeDelivery(service, theirs.id);
  const live = base.replace('/test/', '/live/');
  const paths = [
    `${base}/${theirs.id}`,
    `${base}/${theirs.id}/deliveries/${foreign.id}`,
    `${base}/${id}/deliveries/${foreign.id}`,
    `${live}/${id}`,
    `${live}/${id}/deliveries/${delivery.id}`,
  ];
  for (const path of paths) {
    expect((await operator.visitor.get(path)).status, path).toBe(404);
    if (path.includes('deliveries')) {
      expect((await operator.visitor.post(`${path}/retry`)).status, path).toBe(404);
    }
  }
  expect(await service.deps.db.webhookDelivery.findUnique({ where: { id: foreign.id } })).toEqual(foreign);
});

test('an operator sends what an endpoint missed while an admin had disabled it', async () => {
  const { id } = await newEndpoint(service);
  const page = `${base}/${id}`;
  await admin.visitor.post(`${page}/status`, { status: 'disabled' });
  const { id: failed } = await storeDelivery(service, id);
  await createRefund(service.deps, refundRequest(service, await newPayment(service), {}));
  // As the worker has read them.
  await service.deps.db
    .$executeRaw`UPDATE webhook_cursor SET position = (SELECT max(position) FROM refund_event)`;
  expect((await operator.visitor.post(`${page}/recover`, { days: '1' })).status).toBe(400);
  await admin.visitor.post(`${page}/status`, { status: 'enabled' });
  const recovered = await operator.visitor.post(`${page}/recover`, { days: '1' });
  const due = await service.deps.db.webhookDelivery.findMany({
    where: { endpointId: id, status: 'pending' },
  });
  expect(due.map((each) => each.id)).toContain(failed);
  expect(due.map(({ type }) => type)).toContain('refund.created');
  expect(recovered.text).toContain(`${due.length} events are being sent.`);
  expect((await operator.visitor.post(`${page}/recover`, { days: '1' })).text).toContain(
    'Nothing was missed.',
  );
});

test('the pages take as many statements for many endpoints and deliveries as for one', async () => {
  const { id: organizationId } = await service.addOrganization('Many');
  const { visitor } = await signInMember(service, 'operator', organizationId);
  const pages = `/dashboard/${organizationId}/test/webhooks`;
  const add = () => addEndpoint(service, { url: 'https://shop.example.com/many', organizationId });
  const { id } = await add();
  await storeDelivery(service, id);
  const costs = () => statementsOfPages(service, visitor, [pages, `${pages}/${id}`]);
  const first = await costs();
  for (let count = 0; count < 10; count += 1) {
    await add();
    await storeDelivery(service, id);
  }
  expect(await costs()).toEqual(first);
});
