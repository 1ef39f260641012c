import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';

const folder = resolve(import.meta.dirname, '..', '..', '..', 'docs', 'operations');
const promtool = (...args: string[]) => spawnSync('promtool', args, { cwd: folder, encoding: 'utf8' });

const isInstalled = promtool('--version').status === 0;
if (!isInstalled)
  console.warn('promtool is missing (apt-get install prometheus): the alerts are not tested.');

test.skipIf(!isInstalled)(
  'every alert fires with its trouble and is silent without, as promtool says',
  () => {
    for (const command of [
      ['check', 'rules', 'prometheus-rules.yml'],
      ['test', 'rules', 'prometheus-rules.test.yml'],
    ]) {
      const { status, stdout, stderr } = promtool(...command);
      expect(status, `${stdout}${stderr}`).toBe(0);
    }
  },
);
