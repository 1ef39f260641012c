import { expect, test } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, refusalOf } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0, settings: { NODE_ENV: 'production' } });

const url = 'https://example.com/webhooks';

test('in production, an address that is not public is refused with every other invalid field', async () => {
  const { id } = await newEndpoint(service, { url });
  const path = `/v1/webhook-endpoints/${id}`;
  const body = { url: 'https://10.0.0.1/', description: 1 };
  const problem =
    'url: must not be a private, local or reserved address; description: must be a string or null';
  for (const [method, at] of [
    ['POST', '/v1/webhook-endpoints'],
    ['PATCH', path],
  ] as const) {
    expect(refusalOf(await service.call(method, at, { body }))).toEqual([400, 'validation_error', problem]);
  }
  expect((await service.call('GET', path)).body.data).toMatchObject({ url, description: null });
});
