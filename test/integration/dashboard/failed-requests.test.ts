import { expect, test } from 'vitest';
import { newRequestId } from '#shared/platform/ids.ts';
import { signInMember } from '#test/support/dashboard/dashboard-member.ts';
import { useService } from '#test/support/use-service.ts';

const service = useService({ workers: 0 });

test('lists the failed requests of the organization and environment alone, by filter, with a page for each', async () => {
  const { db } = service.deps;
  const other = await service.addOrganization('Another');
  const store = async (more: object = {}) => {
    const { id: organizationId, keys } = service.organization;
    const request = {
      ...{ organizationId, environment: 'test' as const, apiKeyId: keys.test.id, path: '/v1/refunds' },
      ...{ operation: 'POST /v1/refunds', status: 400, code: 'validation_error', createdAt: new Date() },
      ...{ id: newRequestId(), message: '<b>amount</b>', body: '{"note":"<script>"}', ...more },
    };
    return (await db.failedRequest.create({ data: request })).id;
  };
  const own = await store();
  const unavailable = await store({ status: 503, code: 'service_unavailable' });
  const hidden = [
    await store({ organizationId: other.id, apiKeyId: other.keys.test.id, operation: 'GET /v1/hidden' }),
    await store({ environment: 'live' }),
  ];
  const { visitor } = await signInMember(service, 'operator');
  const base = `/dashboard/${service.organization.id}/test/failed-requests`;
  const listed = async (query = '') => {
    const { text } = await visitor.get(`${base}${query}`);
    expect(text).not.toContain('/v1/hidden');
    return [...text.matchAll(/failed-requests\/(req_\w+)/g)].map(([, id]) => id);
  };
  expect(await listed()).toEqual([unavailable, own]);
  expect(await listed(`?id=${own}`)).toEqual([own]);
  expect(await listed('?code=service_unavailable&operation=POST+%2Fv1%2Frefunds')).toEqual([unavailable]);
  expect(await listed(`?apiKeyId=${other.keys.test.id}`)).toEqual([]);
  expect(await listed(`?id=${'r'.repeat(256)}`), 'an invalid filter').toEqual([]);
  const { text } = await visitor.get(`${base}/${own}`);
  for (const shown of [
    own,
    'validation_error',
    '&lt;b>amount&lt;/b>',
    '{\n  "note": "&lt;script>"\n}'.replaceAll('"', '&quot;'),
  ]) {
    expect(text).toContain(shown);
  }
  for (const id of hidden) expect(await visitor.get(`${base}/${id}`)).toMatchObject({ status: 404 });
});
