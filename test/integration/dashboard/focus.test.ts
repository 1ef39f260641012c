import { expect, test } from 'vitest';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });

/** The names of the fields that have the focus. */
const focusedIn = ({ text }: { text: string }) =>
  [...text.matchAll(/<input[^>]*? id="([^"]+)"[^>]* autofocus/g)].map(([, name]) => name);

test('the first field of a page that is a form has the focus, and the first wrong one of a refused form', async () => {
  const base = `/dashboard/${service.organization.id}/test`;
  const { visitor } = await signInMember(service, 'owner');
  expect(focusedIn(await new DashboardVisitor(service).get('/dashboard/sign-in'))).toEqual(['email']);
  for (const [path, field] of [
    ['/refunds/new', 'transactionId'],
    ['/policies/new', 'name'],
    ['/settings/api-keys/agent', 'name'],
    ['/settings/accounts/new/stripe', 'name'],
  ]) {
    expect(focusedIn(await visitor.get(`${base}${path}`)), path).toEqual([field]);
  }
  const refused = await visitor.post(`${base}/settings/api-keys/agent`, { currency: 'xxx' });
  expect(focusedIn(refused)).toEqual(['currency']);
});
