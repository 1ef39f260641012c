import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { runMain } from '../../shared/process.ts';
import { encodeRequest, runLoad } from './load.ts';
import { startSandboxProcess } from './pipelines.ts';
import { knownPayments } from './requests.ts';

// node --import tsx test/bench/sandbox.ts [--seconds 5] [--connections 64]: how many refunds the sandbox alone accepts,
// with a data file, as `npm run dev` and `npm run bench` run it.

runMain(async () => {
  const { values } = parseArgs({
    options: { seconds: { type: 'string', default: '5' }, connections: { type: 'string', default: '64' } },
  });
  const folder = mkdtempSync(join(tmpdir(), 'bench-sandbox-'));
  const sandbox = await startSandboxProcess(folder, 0);
  try {
    const connections = Number(values.connections);
    const run = (seconds: number) => runLoad({ url: sandbox.url, connections, seconds, next: createRefund });
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
    body: `charge=${knownPayments[sent % knownPayments.length]}&amount=1&metadata[refund_id]=${id}`,
  });
}
