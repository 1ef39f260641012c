import { spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitFor } from '../wait-for.ts';
import { isFree } from './free-port.ts';
import { startReaper } from './reaper.ts';

export interface RunningNginx {
  stop(): Promise<void>;
}

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
export async function startNginx(sites: string, port: number): Promise<RunningNginx> {
  const folder = mkdtempSync(join(tmpdir(), 'refund-nginx-'));
  const config = join(folder, 'nginx.conf');
  writeFileSync(config, mainConfig(folder, sites));
  const child = spawn('nginx', ['-c', config, '-e', 'stderr'], { stdio: ['ignore', 'ignore', 'pipe'] });
  const reaper = startReaper(child.pid ?? -1, 'INT', folder);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    errors += chunk;
  });
  let hasEnded = false;
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve())).then(() => {
    hasEnded = true;
    reaper.dismiss();
    rmSync(folder, { recursive: true, force: true });
  });
  await waitFor('nginx to listen', async () => hasEnded || !(await isFree(port)));
  if (hasEnded) throw new Error(`nginx did not start: ${errors}`);
  return {
    async stop() {
      child.kill('SIGTERM');
      await ended;
    },
  };
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
