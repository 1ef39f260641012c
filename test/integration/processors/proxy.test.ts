import type { Socket } from 'node:net';
import { afterEach, describe, expect, test, vi } from 'vitest';
import { proxyResponses, useProxies } from '../../support/http/proxy-server.ts';
import { startTlsFront } from '../../support/http/tls-front.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { creditXml, refundJson, transactionXml } from '../../support/processors/processor-replies.ts';
import {
  braintreeCredentials,
  connect,
  options,
  stripeCredentials,
} from '../../support/processors/processor-variants.ts';
import {
  json,
  type ScriptedServer,
  useScriptedServers,
  xml,
} from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';

const serve = useScriptedServers();
const newProxy = useProxies();
afterEach(() => void vi.useRealTimers());

const processors = [
  {
    name: 'stripe',
    credentials: stripeCredentials,
    host: 'api.stripe.com',
    submission: submissionFor('ch_1'),
    // Connections are kept for the next request.
    connectsPerRefund: 1,
  },
  {
    name: 'braintree',
    credentials: braintreeCredentials,
    host: 'api.sandbox.braintreegateway.com',
    submission: submissionFor('sale1'),
    // One to read the sale, and one to refund it.
    connectsPerRefund: 2,
  },
] as const;

/** Both processors; a refund succeeds. */
const startProcessors = () =>
  serve(({ method, path }, response) => {
    if (path.startsWith('/v1/')) return json(response, 200, refundJson({ amount: 1_500 }));
    xml(response, method === 'GET' ? 200 : 201, method === 'GET' ? transactionXml({}) : creditXml());
  });

const writes = ({ seen }: ScriptedServer) => seen.filter(({ method }) => method !== 'GET');

/** A proxy that refuses nothing until the refund itself is sent. */
function onceSending(connectsPerRefund: number, respond: (client: Socket) => void) {
  let count = 0;
  return (client: Socket, open: () => void) => {
    count += 1;
    if (count < connectsPerRefund) open();
    else respond(client);
  };
}

describe.each(processors)(
  '$name behind a proxy',
  ({ name, credentials, host, submission, connectsPerRefund }) => {
    const address = `https://${host}`;
    const proxiesOf = (url: string, NO_PROXY = '') => ({ HTTPS_PROXY: url, HTTP_PROXY: url, NO_PROXY });

    async function stage() {
      const [proxy, processor] = await Promise.all([newProxy(), startProcessors()]);
      const adapter = connect(name, credentials, address, proxiesOf(proxy.url));
      return { proxy, processor, adapter };
    }

    test('is called through it, by its name and with its certificate verified', async () => {
      const { proxy, processor, adapter } = await stage();
      const front = await startTlsFront(processor.port);
      proxy.stands = { [`${host}:443`]: front.port };
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      const authorities = proxy.connects.map(({ authority }) => authority);
      expect(authorities).toEqual(Array(connectsPerRefund).fill(`${host}:443`));
      expect(front.names).toEqual(Array(connectsPerRefund).fill(host));
      expect(new Set(processor.seen.map(({ headers }) => headers.host))).toEqual(new Set([host]));
      vi.restoreAllMocks();
      const distrustful = connect(name, credentials, address, proxiesOf(proxy.url));
      expect(await distrustful.createRefund(submission, options)).not.toMatchObject({ kind: 'accepted' });
      expect(writes(processor)).toHaveLength(1);
    });

    test('is called through a proxy that speaks TLS', async () => {
      const { proxy, processor } = await stage();
      const [front, proxyFront] = [
        await startTlsFront(processor.port),
        await startTlsFront(Number(new URL(proxy.url).port)),
      ];
      proxy.stands = { [`${host}:443`]: front.port };
      const adapter = connect(name, credentials, address, proxiesOf(`https://localhost:${proxyFront.port}`));
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(proxyFront.names).toEqual(Array(connectsPerRefund).fill('localhost'));
      expect(front.names).toEqual(Array(connectsPerRefund).fill(host));
    });

    test('is given the credentials of the proxy, decoded', async () => {
      const { proxy, processor } = await stage();
      const url = proxy.url.replace('//', '//refunds:p%40ss%3A@');
      const adapter = connect(name, credentials, processor.url, proxiesOf(url));
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      const authorization = `Basic ${Buffer.from('refunds:p@ss:').toString('base64')}`;
      expect(proxy.connects[0]).toEqual({ authority: new URL(processor.url).host, authorization });
      expect(processor.seen[0]?.headers).not.toHaveProperty('proxy-authorization');
    });

    test('is called directly where it is excepted', async () => {
      const { proxy, processor } = await stage();
      const adapter = connect(name, credentials, processor.url, proxiesOf(proxy.url, '127.0.0.1'));
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(proxy.connects).toEqual([]);
    });

    test.each([
      ...[301, 401, 403, 404, 407, 429, 500, 502, 503, 504].map(
        (status) => [`answers ${status}`, proxyResponses.refuse(status)] as const,
      ),
      ['breaks the connection', proxyResponses.reset],
      ['does not speak HTTP', proxyResponses.nonsense],
    ] as const)('has certainly not been called when the proxy %s', async (_what, respond) => {
      const { proxy, processor, adapter } = await stage();
      const front = await startTlsFront(processor.port);
      proxy.stands = { [`${host}:443`]: front.port };
      proxy.respond = onceSending(connectsPerRefund, respond);
      const answer = await adapter.createRefund(submission, options);
      expect(answer).toMatchObject({ kind: 'unavailable', cause: 'unreachable', retryAfterMs: null });
      expect(JSON.stringify(answer)).toMatch(/PROXY_|ProxyError/);
      expect(proxy.connects).toHaveLength(connectsPerRefund);
      expect(writes(processor)).toEqual([]);
    });

    test('has certainly not been called when the proxy is not there', async () => {
      const adapter = connect(name, credentials, address, proxiesOf(`http://127.0.0.1:${await freePort()}`));
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'unavailable' });
    });

    test('has certainly not been called when the proxy does not answer within five seconds', async () => {
      const { proxy, processor, adapter } = await stage();
      const front = await startTlsFront(processor.port);
      proxy.stands = { [`${host}:443`]: front.port };
      proxy.respond = onceSending(connectsPerRefund, proxyResponses.hang);
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const answering = adapter.createRefund(submission, options);
      await waitFor('the request to the proxy', () => proxy.connects.length === connectsPerRefund);
      vi.advanceTimersByTime(5_000);
      vi.useRealTimers();
      expect(await answering).toMatchObject({ kind: 'unavailable', cause: 'unreachable' });
    });

    test('is not called after the deadline, when the proxy connects late', async () => {
      const { proxy, processor, adapter } = await stage();
      const front = await startTlsFront(processor.port);
      proxy.stands = { [`${host}:443`]: front.port };
      let openLate = () => {};
      proxy.respond = (_client, open) => {
        if (proxy.connects.length < connectsPerRefund) return open();
        openLate = open;
      };
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const answering = adapter.createRefund(submission, { timeoutMs: 4_000 });
      await waitFor('the request to the proxy', () => proxy.connects.length === connectsPerRefund);
      vi.advanceTimersByTime(4_000);
      vi.useRealTimers();
      expect(['unavailable', 'unknown']).toContain((await answering).kind);
      openLate();
      proxy.respond = (_client, open) => open();
      // What was late would have been sent by the time that another refund is done.
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'accepted' });
      expect(writes(processor)).toHaveLength(1);
    });

    test('may have been called when the connection breaks once the proxy has opened it', async () => {
      const { proxy, processor, adapter } = await stage();
      const front = await startTlsFront(processor.port);
      proxy.stands = { [`${host}:443`]: front.port };
      proxy.respond = onceSending(connectsPerRefund, proxyResponses.resetOnceOpen);
      expect(await adapter.createRefund(submission, options)).toMatchObject({ kind: 'unknown' });
    });
  },
);
