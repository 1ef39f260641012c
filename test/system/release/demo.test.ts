import { mkdirSync, mkdtempSync, readdirSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { type KeptProgram, keepRunning } from '../../dev/program.ts';
import { startSandbox } from '../../dev/sandbox.ts';
import { startProcess } from '../../support/processes/child-process.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useSandbox } from '../../support/processors/use-sandbox.ts';

describe('the sandbox of npm run dev', () => {
  const { sandbox: another } = useSandbox();
  const programs: KeptProgram[] = [];
  const lines: string[] = [];
  const startOn = (ports: number[]) =>
    startSandbox({
      ports: candidates(ports),
      launch(port) {
        const args = ['--port', String(port)];
        const program = { name: 'sandbox', entry: 'test/sandbox/main.ts', args, env: process.env };
        const kept = keepRunning(
          { ...program, showsOutput: false },
          { say: (line) => lines.push(line), onRestart: () => {} },
        );
        programs.push(kept);
        return kept;
      },
      signal: new AbortController().signal,
    });

  afterEach(async () => {
    await Promise.all(programs.splice(0).map((program) => program.stop(1_000)));
  });

  test('uses the next port when another sandbox has taken the first one', async () => {
    const free = await freePort();
    const { url, program } = await startOn([another.port, free]);
    expect(url).toBe(`http://127.0.0.1:${free}`);
    expect(await (await fetch(`${url}/_sandbox/health`)).json()).toEqual({ ok: true, pid: program.pid() });
    expect(programs).toHaveLength(2);
    expect((await fetch(`${another.url}/_sandbox/health`)).status).toBe(200);
  });

  test('is not restarted forever without a free port', async () => {
    await expect(startOn([another.port])).rejects.toThrow('See its output above');
    expect(lines.join('\n')).toContain('EADDRINUSE');
    expect(programs.map((program) => program.exits())).toEqual([1]);
  });
});

async function* candidates(ports: number[]): AsyncGenerator<number> {
  yield* ports;
}

test('npm run demo completes a refund at each processor and leaves nothing behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'refund-demo-test-'));
  // Shares the cache of the TypeScript loader with other processes.
  const loaderCache = `tsx-${process.getuid?.()}`;
  mkdirSync(join(tmpdir(), loaderCache), { recursive: true });
  symlinkSync(join(tmpdir(), loaderCache), join(folder, loaderCache));
  const demo = startProcess('test/dev/demo.ts', { env: { TMPDIR: folder } });
  expect(await demo.exited, demo.output()).toEqual({ code: 0, signal: null });
  expect(demo.output().match(/through (stripe|braintree): ref_/g)).toHaveLength(2);
  expect(demo.output().match(/refund\.completed/g)).toHaveLength(2);
  expect(readdirSync(folder)).toEqual([loaderCache]);
  rmSync(folder, { recursive: true, force: true });
});
