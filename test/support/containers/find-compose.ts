import { spawnSync } from 'node:child_process';

/** Docker Compose, as a command and its first arguments: version 2, or else version 1. Null when no engine answers. */
export function findCompose(): string[] | null {
  const succeeds = (command: string, ...args: string[]) => spawnSync(command, args).status === 0;
  if (!succeeds('docker', 'info')) return null;
  const [found] = [['docker', 'compose'], ['docker-compose']].filter(([command = '', ...args]) =>
    succeeds(command, ...args, 'version'),
  );
  return found ?? null;
}
