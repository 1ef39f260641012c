import { describe, expect, test } from 'vitest';
import { testProvider } from '#shared/people/company-sign-in/authorization.ts';
import { findProvider, setProvider } from '#shared/people/company-sign-in/provider.ts';
import { useCompanySignIn } from '#test/support/company-sign-in/company-sign-in-stage.ts';
import { mostGroupsOfEntra, providerKinds } from '#test/support/company-sign-in/provider-kinds.ts';
import type { DashboardVisitor } from '#test/support/dashboard/dashboard-visitor.ts';
import { setUpSecondFactor } from '#test/support/dashboard/second-factor.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });
const newRefund = (organizationId: string) => `/dashboard/${organizationId}/test/refunds/new`;
const fields = 'name="transactionId"';

/** Opens the form of a refund, which needs a confirmed session, and confirms at the provider. */
async function confirmAtProvider(
  company: ReturnType<typeof useCompanySignIn>,
  visitor: DashboardVisitor,
): Promise<string> {
  const page = newRefund(company.organizationId);
  expect((await visitor.get(page)).text).toContain('Sign in again');
  await company.signIn(visitor, { query: `?confirm=yes&next=${encodeURIComponent(page)}` });
  return (await visitor.get(page)).text;
}

describe.each(providerKinds)('with $name as it is by default', (kind) => {
  const company = useCompanySignIn(service, kind);
  const { actAs, signIn, newVisitor } = company;
  const roleOf = async (subject: string) =>
    (await service.deps.db.companyAccount.findFirst({ where: { subject }, include: { membership: true } }))
      ?.membership.role;

  test('a member joins, signs in again with another role, and confirms; others are refused with their reason', async () => {
    const person = newVisitor();
    expect((await signIn(person)).status).toBe(303);
    const { sub } = company.provider.account;
    expect(await roleOf(sub)).toBe('operator');

    actAs(['admins'], { sub });
    const again = newVisitor();
    await signIn(again);
    expect(await roleOf(sub)).toBe('admin');

    const confirmed = await confirmAtProvider(company, again);
    if (kind.signInTime !== 'never') expect(confirmed).toContain(fields);
    else {
      expect(confirmed).toContain('Set up a second factor');
      await again.get('/dashboard/you');
      await setUpSecondFactor(again, service.deps.clock);
      expect((await again.get(newRefund(company.organizationId))).text).toContain(fields);
    }

    actAs(['strangers']);
    const refused = await signIn(newVisitor());
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('has no role here')]);
    expect(await roleOf(company.provider.account.sub)).toBeUndefined();
    const { detail } = await service.deps.db.auditLog.findFirstOrThrow({
      where: { organizationId: company.organizationId, action: 'company_sign_in.refused' },
    });
    expect(detail).toEqual({ cause: 'no_role', subject: company.provider.account.sub });
  });

  test('its connection can be tested up to the token endpoint, which names a wrong client secret', async () => {
    const { organizationId } = company;
    const tested = async () => {
      const provider = await findProvider(service.deps.db, organizationId);
      if (provider === null) throw new Error('no provider');
      await testProvider(service.deps, provider, 'http://localhost/callback');
    };
    await tested();
    const settings = { ...company.provider.settings, clientSecret: 'another' };
    await setProvider(service.deps, { organizationId, actor: 'test', settings });
    await expect(tested()).rejects.toMatchObject({ cause: 'client_refused' });
  });
});

describe('with a provider that always says when someone signed in', () => {
  const company = useCompanySignIn(
    service,
    providerKinds.find(({ name }) => name === 'Okta'),
  );

  test('an earlier sign-in confirms nothing', async () => {
    const visitor = company.newVisitor();
    await company.signIn(visitor);
    const change = (address: string) => address.replace(/&(prompt|max_age)=[^&]*/g, '');
    const refused = await company.signIn(visitor, { query: '?confirm=yes', change });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('did not ask who you are')]);
  });
});

describe('with more groups than Entra ID sends', () => {
  const entra = providerKinds.find(({ name }) => name === 'Entra ID');
  const company = useCompanySignIn(service, entra);
  const { actAs, signIn, newVisitor, membersByEmail } = company;
  const many = Array.from({ length: mostGroupsOfEntra + 1 }, (_, index) => `group ${index}`);

  test('a member keeps the role of the last sign-in, and a newcomer is refused with the reason', async () => {
    await signIn(newVisitor());
    const { sub, email } = company.provider.account;
    actAs(many, { sub, email });
    expect((await signIn(newVisitor())).status).toBe(303);
    expect(await membersByEmail()).toMatchObject([{ role: 'operator' }]);
    actAs(many);
    const refused = await signIn(newVisitor());
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('in too many groups')]);
    expect(await membersByEmail()).toEqual([]);
  });
});
