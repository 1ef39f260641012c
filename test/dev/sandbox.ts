import { setTimeout as sleep } from 'node:timers/promises';
import { openDatabase } from '#shared/platform/database.ts';
import { sandboxControl } from '../sandbox/clients.ts';
import { sandboxProcessors, webhookEndpoint } from '../sandbox/processors.ts';
import { type KeptProgram, StartError } from './program.ts';

export interface SandboxStart {
  /** Ports of 127.0.0.1 to try, in this order. */
  ports: AsyncIterable<number>;
  launch: (port: number) => Promise<KeptProgram>;
  signal: AbortSignal;
}

export interface RunningSandbox {
  url: string;
  program: KeptProgram;
}

const timeoutMs = 60_000;

/**
 * Starts the sandbox on the first port that it can bind. Another program, even another sandbox, may take a port that was
 * free when it was checked.
 * @throws StartError when no port worked.
 */
export async function startSandbox({ ports, launch, signal }: SandboxStart): Promise<RunningSandbox> {
  for await (const port of ports) {
    const program = await launch(port);
    const url = `http://127.0.0.1:${port}`;
    if (await isServedBy(program, url, signal)) return { url, program };
    await program.stop(({ kill9 }) => kill9());
  }
  throw new StartError('sandbox did not start. See its output above.');
}

/** False when the program ended. */
async function isServedBy(program: KeptProgram, url: string, signal: AbortSignal): Promise<boolean> {
  const giveUpAt = performance.now() + timeoutMs;
  while (program.exits() === 0) {
    if ((await servingProcess(url)) === program.current().pid) return true;
    signal.throwIfAborted();
    if (performance.now() > giveUpAt) throw new StartError(`${url} did not answer within a minute.`);
    await sleep(50);
  }
  return false;
}

/** The process id of the sandbox at a URL; null when none answers. */
async function servingProcess(url: string): Promise<number | null> {
  try {
    const response = await fetch(`${url}/_sandbox/health`, { signal: AbortSignal.timeout(3_000) });
    return ((await response.json()) as { pid?: number }).pid ?? null;
  } catch {
    return null;
  }
}

export interface WebhookConnection {
  databaseUrl: string;
  organizationId: string;
  sandboxUrl: string;
  /** The address of the API for the sandbox. */
  apiUrl: string;
}

/** Makes the sandbox send its webhooks to the API. */
export async function connectWebhooks(connection: WebhookConnection): Promise<void> {
  const { databaseUrl, organizationId, sandboxUrl, apiUrl } = connection;
  const db = openDatabase(databaseUrl, { poolSize: 1 });
  try {
    const accounts = await db.processorAccount.findMany({ where: { organizationId } });
    const webhooks = Object.values(sandboxProcessors).flatMap((processor) =>
      accounts
        .filter((account) => account.processor === processor.name)
        .map(({ id, environment }) =>
          webhookEndpoint(processor, environment, `${apiUrl}/webhooks/${processor.name}/${id}`),
        ),
    );
    await sandboxControl(sandboxUrl).settings({ webhooks });
  } finally {
    await db.$disconnect();
  }
}
