import { expect, test } from 'vitest';
import { setPolicies } from '../../shared/organizations/policies.ts';
import { signInMember } from '../harness/dashboard-member.ts';
import { newPayment } from '../harness/payments.ts';
import { untilStatus } from '../harness/refund-records.ts';
import { useService } from '../harness/use-service.ts';

const service = useService();
const signedIn = async (organizationId?: string) =>
  (await signInMember(service, 'viewer', organizationId)).visitor;

test('an organization without refunds is told how to make the first one', async () => {
  const { id } = await service.addOrganization('New');
  const visitor = await signedIn(id);
  const page = await visitor.get(`/dashboard/${id}/live`);
  expect(page.text).toContain('No live refund in the last 30 days');
  expect(page.text).toContain('svc_live_...');
  expect(page.text).toContain('data-environment="live"');
});

test('numbers, money and what needs a person are those of the organization and the environment alone', async () => {
  const transactionId = await newPayment(service, { processor: 'stripe' });
  const ask = (amount: number) =>
    service.call('POST', '/v1/refunds', { body: { transactionId, amount, reason: 'other' } });
  await untilStatus(service, (await ask(1_500)).body.data.id, 'completed');
  const asking = { name: 'Ask', priority: 1, approvalAbove: { api: 0 } };
  const organizationId = service.organization.id;
  await setPolicies(service.deps, { organizationId, file: { policies: [asking] }, actor: 'test' });
  const waiting = (await ask(2_500)).body.data;
  expect(waiting.status).toBe('pending');
  const visitor = await signedIn();
  const page = await visitor.get(`/dashboard/${organizationId}/test?days=7`);
  expect(page.text).toContain('15.00 USD');
  expect(page.text).toContain('Needs a person');
  expect(page.text).toContain(`/dashboard/${organizationId}/test/refunds/${waiting.id}`);
  expect(page.text).toContain('aria-label="Refunds per day by their status"');
  const live = await visitor.get(`/dashboard/${organizationId}/live?days=7`);
  expect(live.text).not.toContain('15.00 USD');
  expect(live.text).not.toContain(waiting.id);
});

test.each(['?days=1000000', '?days=x', '?currency=%3Cscript%3E', '?days=7&currency=eur'])(
  'an address that was made up shows the page all the same: %s',
  async (query) => {
    const { id } = await service.addOrganization('Made up');
    const visitor = await signedIn(id);
    const page = await visitor.get(`/dashboard/${id}/test${query}`);
    expect(page.status).toBe(200);
    expect(page.text).not.toContain('<script>');
  },
);
