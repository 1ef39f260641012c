import { spawnSync } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../wait-for.ts';
import { type StartedProcess, startProgram } from './child-process.ts';
import { isFree } from './free-port.ts';

/** True when `nginx` is on PATH. */
export function isNginxPresent(): boolean {
  return spawnSync('nginx', ['-v']).status === 0;
}

/**
 * Starts nginx with one worker process. It ends with this process at the latest.
 * @param sites what a file of sites-enabled contains.
 * @param port of 127.0.0.1, on which it listens.
 * @throws Error with its errors when it does not start.
 */
export async function startNginx(sites: string, port: number): Promise<StartedProcess> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-nginx-'));
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, mainConfig(folder, sites));
  const nginx = startProgram('nginx', 'nginx', ['-c', config, '-e', 'stderr'], {
    reaperSignal: 'INT',
    folder,
  });
  let hasEnded = false;
  void nginx.exited.then(() => {
    hasEnded = true;
  });
  await waitFor('nginx to listen', async () => hasEnded || !(await isFree(port)));
  if (hasEnded) throw new Error(`nginx did not start: ${nginx.output()}`);
  return nginx;
}

/** Its files are in the folder, so that any user can run it. */
function mainConfig(folder: string, sites: string): string {
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  return `
    daemon off;
    worker_processes 1;
    pid ${folder}/nginx.pid;
    ${process.getuid?.() === 0 ? 'user root;' : ''}
    events { worker_connections 2048; }
    http {
      access_log off;
      ${paths.map((name) => `${name}_temp_path ${folder}/${name};`).join('\n')}
      ${sites}
    }
  `;
}
