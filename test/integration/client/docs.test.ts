import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { exposeService } from '../../support/http/connect-client.ts';
import { startProcess } from '../../support/processes/child-process.ts';
import { useClientProject } from '../../support/processes/client-project.ts';
import { freePort } from '../../support/processes/free-port.ts';
import { useService } from '../../support/use-service.ts';

const service = useService();
const project = useClientProject();

const page = readFileSync(new URL('../../../docs/client.md', import.meta.url), 'utf8');
const examples = [...page.matchAll(/^( *)```ts\n(.*?)^\1```$/gms)].map(([, , code = '']) => code);
const [program = ''] = examples;

test('every example of docs/client.md compiles', async () => {
  const files = examples.map((example, index) => {
    const imports = example.includes('{ RefundClient')
      ? ''
      : `import { RefundClient } from 'refund-service/client';\n`;
    const client = example.includes('const client =') ? '' : 'declare const client: RefundClient;\n';
    project.write(`example-${index}.ts`, `${imports}${client}${example}\nexport {};\n`);
    return `example-${index}.ts`;
  });
  expect(files.length).toBeGreaterThan(4);
  expect(await project.compile('--noEmit', '--module', 'nodenext', ...files)).toBe('');
});

test('the program of docs/client.md is short, refunds, waits and verifies webhooks', async () => {
  expect(program.split('\n').filter((line) => line !== '')).toHaveLength(16);
  const stands = new Map([
    ['http://127.0.0.1:3000', await exposeService(service)],
    ['svc_test_...', service.organization.keys.test.plaintext],
    ['4000', String(await freePort())],
  ]);
  let content = program;
  for (const [example, actual] of stands) {
    expect(content).toContain(example);
    content = content.replaceAll(example, actual);
  }
  project.write('program.ts', content);
  expect(await project.compile('--module', 'nodenext', 'program.ts')).toBe('');
  await service.sandbox.settings({ autoSettleMs: 300 });
  const running = startProcess(join(project.folder, 'program.js'));
  await running.waitForOutput(/^refund completed$/m);
  for (const type of ['refund.created', 'refund.completed']) {
    await running.waitForOutput(new RegExp(`^webhook ${type} ref_\\w+$`, 'm'));
  }
  await running.kill9();
});
