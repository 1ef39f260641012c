import { expect, test } from 'vitest';
import { operations } from '#api/operations/operations.ts';
import { RefundClient } from '#shared/client/index.ts';

type AnyMethods = Record<string, (...given: string[]) => Promise<unknown>>;

test('the client has a method for each operation, which sends its method and path', async () => {
  const sent = new Set<string>();
  const fetch = async (url: string | URL | Request, { method }: RequestInit = {}) => {
    sent.add(`${method} ${new URL(String(url)).pathname}`);
    return Response.json({ data: [] });
  };
  const client = new RefundClient({ baseUrl: 'https://example.com', apiKey: 'svc_test_1', fetch });
  for (const methods of Object.values(client) as AnyMethods[]) {
    const names = Object.getOwnPropertyNames(Object.getPrototypeOf(methods));
    // Iterations send what the lists send.
    const calls = names.filter((name) => name !== 'constructor' && name !== 'all');
    for (const name of calls) await methods[name]?.('x', 'x', 'x');
  }
  const expected = operations.map(({ method, path }) => `${method} ${path.replace(/:\w+/g, 'x')}`);
  expect([...sent].toSorted()).toEqual([...new Set(expected)].toSorted());
});
