import type { ServerResponse } from 'node:http';
import { afterEach, describe, expect, test, vi } from 'vitest';
import {
  chargeJson,
  creditXml,
  refundJson,
  transactionXml,
} from '../../support/processors/processor-replies.ts';
import {
  braintreeCredentials,
  connect,
  options,
  stripeCredentials,
} from '../../support/processors/processor-variants.ts';
import { json, useScriptedServers, xml } from '../../support/processors/scripted-server.ts';
import { submissionFor } from '../../support/refunds/refund-records.ts';
import { waitFor } from '../../support/wait-for.ts';

const serve = useScriptedServers();
afterEach(() => void vi.useRealTimers());

/** Sends a byte now and then, for ever: a timeout that starts anew with every byte never ends this. */
function drip(response: ServerResponse, contentType: string): void {
  response.writeHead(200, { 'content-type': contentType });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
}

describe('a deadline', () => {
  test('ends a call whose answer never ends, with its connection', async () => {
    let open = 0;
    const { url } = await serve(({ method, path }, response) => {
      if (method === 'GET' && path.endsWith('/sale1')) return xml(response, 200, transactionXml({}));
      open += 1;
      response.on('close', () => {
        open -= 1;
      });
      drip(response, path.startsWith('/merchants/') ? 'application/xml' : 'application/json');
    });
    const calls = [
      [connect('stripe', stripeCredentials, url), submissionFor('ch_1'), 'pi_1'],
      [connect('braintree', braintreeCredentials, url), submissionFor('sale1'), 'sale2'],
    ] as const;
    for (const [processor, submission, payment] of calls) {
      vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
      const answering = Promise.all([
        processor.createRefund(submission, options),
        processor.getPayment(payment, options),
        processor.getRefund('re_1', submission, options),
        processor.cancelRefund('re_1', submission, options),
      ]);
      await waitFor('the answers to begin', () => open === 4);
      vi.advanceTimersByTime(options.timeoutMs);
      vi.useRealTimers();
      const kinds = (await answering).map(({ kind }) => kind);
      expect(kinds).toEqual(['unknown', 'unavailable', 'unavailable', 'unknown']);
      await waitFor('the connections to end', () => open === 0);
    }
  });

  test('covers all requests of a call', async () => {
    const { url, seen } = await serve(({ path }, response) => {
      const answer = () => {
        if (path.startsWith('/v1/charges')) return json(response, 200, chargeJson({ amount_refunded: 300 }));
        if (path.startsWith('/merchants')) {
          const isSale = path.endsWith('/sale1');
          return xml(response, 200, isSale ? transactionXml({}, Array(40).fill('credit1')) : creditXml());
        }
        const data = [refundJson({ id: `re_${seen.length}` })];
        json(response, 200, { object: 'list', data, has_more: true });
      };
      const timer = setTimeout(answer, 250);
      response.on('close', () => clearTimeout(timer));
    });
    const answers = await Promise.all([
      connect('stripe', stripeCredentials, url).getPayment('ch_1', { timeoutMs: 600 }),
      connect('braintree', braintreeCredentials, url).getPayment('sale1', { timeoutMs: 600 }),
    ]);
    const timeout = { kind: 'unavailable', failure: { code: 'timeout' } };
    expect(answers).toMatchObject([timeout, timeout]);
  });
});
