import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import net from 'node:net';
import { afterAll, beforeAll, describe, expect, inject, onTestFinished, test } from 'vitest';
import { batchLimitBytes } from '#api/operations/refund-batches.ts';
import { openLog } from '#shared/platform/log.ts';
import '../../support/processes/run-servers.ts';
import { useExposedService } from '../../support/http/exposed-service.ts';
import { rawRequest } from '../../support/http/raw-http.ts';
import type { StartedProcess } from '../../support/processes/child-process.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { startNginx } from '../../support/processes/nginx.ts';
import { newPayment } from '../../support/refunds/payments.ts';
import { waitFor } from '../../support/wait-for.ts';

const sample = readFileSync('docs/operations/nginx/refund-service.conf', 'utf8');

/** Requests under way of one address that the sample passes on. */
const limitPerAddress = Number(/limit_conn refund_clients (\d+);/.exec(sample)?.[1]);

describe.runIf(inject('nginx'))('an API behind the nginx of docs/operations', () => {
  const logged: { msg: string; req?: { remoteAddress: string } }[] = [];
  const log = openLog('info', 'test', { write: (line) => logged.push(JSON.parse(line)) });
  const exposed = useExposedService({ TRUSTED_PROXIES: ['127.0.0.1'] }, { log });
  let nginx: StartedProcess;
  let port: number;
  /** Requests of which the API has read the header. */
  let requests = 0;

  beforeAll(async () => {
    port = await freePort();
    nginx = await startNginx(sampleFor(port, exposed.port, await freePort()), port);
    exposed.service.app.server.on('request', () => {
      requests += 1;
    });
  });
  afterAll(() => nginx.stop());

  /** Opens a connection to nginx, from one of this machine's addresses, and sends bytes. */
  function connect(bytes: Uint8Array, localAddress = '127.0.0.1') {
    const socket = net.connect({ port, host: '127.0.0.1', localAddress });
    let received = '';
    socket.setEncoding('latin1').on('data', (chunk) => {
      received += chunk;
    });
    socket.on('error', () => undefined);
    const closed = new Promise<void>((resolve) => socket.once('close', () => resolve()));
    socket.write(bytes);
    return {
      socket,
      closed,
      received: () => received,
      status: () => Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? 0),
    };
  }

  /** A request that passes nginx, which has then read what was sent to it before. */
  async function health(localAddress?: string, ...headers: string[]): Promise<number> {
    const client = connect(rawRequest(exposed.head('GET /healthz', ...headers)), localAddress);
    await client.closed;
    return client.status();
  }

  /** A creation, of which all but the last byte of the body is the start. */
  async function creation(): Promise<{ start: Buffer; end: Buffer }> {
    const transactionId = await newPayment(exposed.service);
    const bytes = exposed.creation(JSON.stringify({ transactionId, amount: 1_000, reason: 'other' }));
    return { start: bytes.subarray(0, -1), end: bytes.subarray(-1) };
  }

  const unfinishedHeader = Buffer.from('GET /healthz HTTP/1.1\r\nHost: refunds.example\r\nX-Pad: ');

  test('gets a request whose body is sent slowly once it is complete', async () => {
    const { start, end } = await creation();
    const slow = connect(start);
    const before = requests;
    expect(await health()).toBe(200);
    expect(requests).toBe(before + 1);
    slow.socket.write(end);
    await slow.closed;
    expect(slow.status(), slow.received()).toBe(200);
    expect(requests).toBe(before + 2);
  });

  test('gets a refund batch of the largest size', async () => {
    const row = { transactionId: await newPayment(exposed.service), amount: 1_000, reason: 'other' };
    const response = await fetch(`http://127.0.0.1:${port}/v1/refund-batches`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${exposed.service.organization.keys.test.plaintext}`,
        'content-type': 'application/json',
      },
      body: JSON.stringify({ rows: [row] }).padEnd(batchLimitBytes),
    });
    expect(response.status, await response.text()).toBe(200);
  });

  test('gets nothing of a header or a body that never ends, and nginx ends the connection', async () => {
    const before = requests;
    const { start } = await creation();
    const unfinished = [connect(unfinishedHeader), connect(start)];
    await Promise.all(unfinished.map(({ closed }) => closed));
    expect(requests).toBe(before);
  });

  test('gets the address of the client, whatever the client claims', async () => {
    expect(await health('127.0.0.2', 'X-Forwarded-For: 203.0.113.9')).toBe(200);
    expect(logged.findLast(({ req }) => req !== undefined)?.req?.remoteAddress).toBe('127.0.0.2');
  });

  test('serves others, and can be stopped, while an address holds as many connections as it is given', async () => {
    const before = requests;
    const { start } = await creation();
    const excess = 100;
    const bodies = Array.from({ length: limitPerAddress + excess }, () => connect(start));
    const headers = Array.from({ length: excess }, () => connect(unfinishedHeader));
    await waitFor('nginx to refuse what is beyond its limit', () => {
      const refused = bodies.filter(({ status }) => status() === 429);
      return refused.length === excess;
    });
    expect(await health('127.0.0.2')).toBe(200);
    expect(requests).toBe(before + 1);

    const held = [...bodies.filter(({ status }) => status() === 0), ...headers];
    const firstEnd = Promise.race(held.map(({ closed }) => closed)).then(() => 'nginx ended a connection');
    const closing = exposed.service.app.close().then(() => 'the API is closed');
    expect(await Promise.race([closing, firstEnd])).toBe('the API is closed');
    for (const { socket } of [...bodies, ...headers]) socket.destroy();
  });
});

describe.runIf(inject('nginx'))('two APIs behind the nginx of docs/operations', () => {
  test('fail no creation while they are replaced one by one', async () => {
    const [port, first, second] = [await freePort(), await freePort(), await freePort()];
    const nginx = await startNginx(sampleFor(port, first, second), port);
    onTestFinished(async () => void (await nginx.stop()));
    const creations = async () => {
      const sent = Array.from({ length: 4 }, () => fetch(`http://127.0.0.1:${port}/`, { method: 'POST' }));
      return (await Promise.all(sent)).map(({ status }) => status);
    };
    const answered = [200, 200, 200, 200];

    const old = await startApi(first);
    expect(await creations()).toEqual(answered);
    const replaced = await startApi(second);
    await stopApi(old);
    expect(await creations()).toEqual(answered);
    await stopApi(replaced);
  });
});

/** As little of an API as nginx needs. It keeps no connection, so that none ends while a request is sent. */
async function startApi(port: number): Promise<Server> {
  const api = createServer((_request, response) => response.setHeader('connection', 'close').end());
  await once(api.listen(port, '127.0.0.1'), 'listening');
  return api;
}

async function stopApi(api: Server): Promise<void> {
  const closed = once(api, 'close');
  api.close();
  await closed;
}

/** The sample with other ports, and without TLS. */
function sampleFor(port: number, ...[first, second]: [number, number]): string {
  const replaced: [RegExp, string][] = [
    [/listen 443 ssl;/, `listen 127.0.0.1:${port};`],
    [/server 127\.0\.0\.1:3000 /, `server 127.0.0.1:${first} `],
    [/server 127\.0\.0\.1:3001 /, `server 127.0.0.1:${second} `],
    [/^ *ssl_.*\n/gm, ''],
  ];
  return replaced.reduce((text, [pattern, by]) => {
    if (text.search(pattern) < 0) throw new Error(`The sample does not contain ${pattern}.`);
    return text.replace(pattern, by);
  }, sample);
}
