import { createHash } from 'node:crypto';
import { describe, expect, inject, test } from 'vitest';
import { useDeployment } from '../support/faults/use-deployment.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { compiledIn } from '../support/processes/compiled-service.ts';
import { freePort } from '../support/processes/free-port.ts';
import { useScriptedServers } from '../support/processors/scripted-server.ts';
import { newPayment } from '../support/refunds/payments.ts';
import { untilStatus } from '../support/refunds/refund-records.ts';
import { type CollectedSpan, startCollector } from '../support/traces/collector.ts';
import { waitFor } from '../support/wait-for.ts';
import { newEndpoint } from '../support/webhooks/api-endpoints.ts';
import { useReceivers } from '../support/webhooks/receivers.ts';

const client = { traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7' };
const traceparent = `00-${client.traceId}-${client.spanId}-01`;

describe('traces of an API and a worker', () => {
  const serve = useScriptedServers();
  const newReceiver = useReceivers();
  // On a busy machine a call would otherwise be repeated.
  const processes = useDeployment({ settings: {} });

  const start = async (endpoint: string) => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint };
    return await Promise.all([processes.startApi(env), processes.startWorker(env)]);
  };
  const refundOf = async () => ({
    ...{ transactionId: await newPayment(processes.service), amount: 1000, reason: 'other' },
  });

  test('show a refund from the request to the webhook as one trace, exported by the time they exit', async () => {
    const collector = await startCollector(serve);
    const receiver = await newReceiver();
    await newEndpoint(processes.service, { url: receiver.url, events: ['refund.completed'] });
    const [api, worker] = await start(collector.url);
    const created = await api.post('/v1/refunds', await refundOf(), { traceparent });
    const { id } = created.body.data;
    await fetch(`${api.url}/v1/refunds/${id}`, {
      headers: { authorization: api.authorization, traceparent },
    });
    await waitFor('the webhook', () => receiver.received.length === 1);
    expect(await Promise.all([api.process.stop(), worker.stop()])).toEqual(
      Array(2).fill({ code: 0, signal: null }),
    );

    const traceId = createHash('sha256').update(id).digest('hex').slice(0, 32);
    const spans = collector.spans();
    const ofRefund = spans.filter((span) => span.traceId === traceId);
    const nameOf = (spanId: string | undefined) => ofRefund.find((span) => span.spanId === spanId)?.name;
    const lines = ofRefund.map(
      ({ service, name, parentSpanId: parent }) =>
        `${service}: ${name} < ${parent === undefined ? 'nothing' : nameOf(parent)}`,
    );
    expect([...new Set(lines)].sort()).toEqual([
      'refund-service-api: POST /v1/refunds < nothing',
      'refund-service-worker: deliver refund.completed < POST /v1/refunds',
      'refund-service-worker: step send < POST /v1/refunds',
      'refund-service-worker: step settle < POST /v1/refunds',
      'refund-service-worker: stripe createRefund < step send',
      'refund-service-worker: stripe getRefund < step settle',
      'refund-service-worker: wait for a worker < POST /v1/refunds',
    ]);
    const one = (name: string) => ofRefund.find((span) => span.name === name) as CollectedSpan;
    expect(one('POST /v1/refunds')).toMatchObject({
      links: [client],
      attributes: { 'http.response.status_code': 200, 'request.id': created.headers.get('x-request-id') },
    });
    expect(one('step send').attributes).toEqual({
      'refund.id': id,
      'refund.processor': 'stripe',
      'refund.step': 'send',
      'refund.attempt': 1,
      'refund.outcome': 'attempt.accepted',
    });
    expect(one('stripe createRefund').attributes).toEqual({
      'processor.name': 'stripe',
      'processor.operation': 'createRefund',
      'processor.outcome': 'accepted',
    });
    expect(one('deliver refund.completed').attributes).toMatchObject({
      'event.type': 'refund.completed',
      'http.response.status_code': 204,
    });
    // A read belongs to the client's trace alone.
    const ofClient = spans.filter((span) => span.traceId === client.traceId);
    expect(ofClient).toMatchObject([{ name: 'GET /v1/refunds/:id', parentSpanId: client.spanId }]);
  });

  test('that no collector takes cost a line in the log, and nothing else', async () => {
    const [api, worker] = await start(`http://127.0.0.1:${await freePort()}`);
    const { id } = (await api.post('/v1/refunds', await refundOf())).body.data;
    await untilStatus(processes.service, id, 'completed');
    for (const one of [api.process, worker]) {
      expect(await one.stop()).toEqual({ code: 0, signal: null });
      expect(one.output().match(/traces cannot be exported/g)).toHaveLength(1);
    }
  });

  test('load nothing of OpenTelemetry in a worker without an endpoint', async () => {
    const { DATABASE_URL, ENCRYPTION_KEY, DATA_DIR } = processes.service.settings;
    const worker = startProcess(compiledIn(inject('compiledFolder')).entry('worker/main.js'), {
      env: { DATABASE_URL, ENCRYPTION_KEY, DATA_DIR, REDIS_URL: '' },
      preload: 'test/support/processes/loaded-packages.js',
    });
    await worker.waitForOutput(/"working"/);
    await worker.stop();
    const [, list = ''] = /^loaded when it exits: (.*)$/m.exec(worker.output()) ?? [];
    expect(list.split(' ')).toEqual(
      expect.arrayContaining(['bullmq', 'pg', 'shared/platform/telemetry/telemetry.js']),
    );
    expect(list).not.toContain('@opentelemetry/');
  });
});
