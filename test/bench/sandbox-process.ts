import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { type SandboxControl, sandboxControl } from '../sandbox/clients.ts';
import { startProcess } from '../support/processes/child-process.ts';
import { freePort } from '../support/processes/free-port.ts';
import { knownPaymentAmount, knownPayments } from './requests.ts';

export interface SandboxProcess {
  url: string;
  control: SandboxControl;
  stop(): Promise<void>;
}

/** Starts a sandbox that keeps its state in a folder, made where it is missing, and knows the payments of the bench. */
export async function startSandboxProcess(folder: string, autoSettleMs: number): Promise<SandboxProcess> {
  mkdirSync(folder, { recursive: true });
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = ['--port', String(port), '--data-file', join(folder, 'sandbox.journal')];
  const child = startProcess('test/sandbox/main.ts', { args });
  await child.waitForUrl(`${url}/_sandbox/health`);
  const control = sandboxControl(url);
  await control.settings({ autoSettleMs });
  for (const id of knownPayments) await registerPayment(control, id);
  const stop = async () => {
    await child.stop();
  };
  return { url, control, stop };
}

export async function registerPayment(control: SandboxControl, id: string): Promise<void> {
  await control.transaction({ processor: 'stripe', id, amount: knownPaymentAmount, currency: 'usd' });
}
