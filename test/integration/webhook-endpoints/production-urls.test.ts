import { expect, test } from 'vitest';
import { useService } from '../../support/use-service.ts';
import { newEndpoint, refusalOf } from '../../support/webhooks/api-endpoints.ts';

const service = useService({ workers: 0, settings: { NODE_ENV: 'production' } });

const url = 'https://example.com/webhooks';

test.each([
  ['http://example.com/', 'must begin with https://'],
  ['ftp://example.com/', 'must begin with https://'],
  ['https://10.0.0.1/', 'must not be a private, local or reserved address'],
  ['https://localhost/', 'must not be a private, local or reserved address'],
])('in production, %s is refused with every other invalid field', async (refused, problem) => {
  const { id } = await newEndpoint(service, { url });
  const refusal = [400, 'validation_error', `url: ${problem}; description: must be a string or null`];
  const body = { url: refused, description: 1 };
  expect(refusalOf(await service.call('POST', '/v1/webhook-endpoints', { body }))).toEqual(refusal);
  const path = `/v1/webhook-endpoints/${id}`;
  expect(refusalOf(await service.call('PATCH', path, { body }))).toEqual(refusal);
  expect((await service.call('GET', path)).body.data).toMatchObject({ url, description: null });
});
