import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain } from '../../shared/run-main.ts';
import { startProcess } from '../harness/child-process.ts';
import { freePort } from '../harness/free-port.ts';
import { sandboxControl } from '../sandbox/clients.ts';
import { encodeRequest, runLoad } from './load.ts';

// node --import tsx test/bench/sandbox.ts [--seconds 5] [--connections 64]: how many refunds the sandbox alone accepts,
// with a data file, as `npm run dev` and `npm run bench` run it.

const payments = 500;

runMain(async () => {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '5' }, connections: { type: 'string', default: '64' } },
  });
  const folder = mkdtempSync(join(tmpdir(), 'bench-sandbox-'));
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--port', String(port), '--data-file', join(folder, 'sandbox.journal')];
  const sandbox = startProcess('test/sandbox/main.ts', { args });
  try {
    await sandbox.waitForUrl(`${url}/_sandbox/health`);
    const control = sandboxControl(url);
    await control.settings({ autoSettleMs: 0 });
    for (let n = 0; n < payments; n += 1) {
      const id = `ch_bench${n}`;
      await control.transaction({ processor: 'stripe', id, amount: 10 ** 11, currency: 'usd' });
    }
    const run = (seconds: number) =>
      runLoad({ url, connections: Number(values.connections), seconds, next: createRefund });
    await run(1);
    const { latencies, elapsedMs, failures, firstFailure } = await run(Number(values.seconds));
    if (firstFailure !== null) throw new Error(`${failures} refunds were refused: ${firstFailure}`);
    console.log(`${Math.round((latencies.length / elapsedMs) * 1000)} refunds/s`);
  } finally {
    await sandbox.stop();
    rmSync(folder, { recursive: true });
  }
});

let sent = 0;

function createRefund(): string {
  sent += 1;
  const id = `ref_${sent}`;
  return encodeRequest({
    method: 'POST',
    path: '/v1/refunds',
    headers: {
      authorization: 'Bearer sk_test_sandbox',
      'content-type': 'application/x-www-form-urlencoded',
      'idempotency-key': id,
    },
    body: `charge=ch_bench${sent % payments}&amount=1&metadata[refund_id]=${id}`,
  });
}
