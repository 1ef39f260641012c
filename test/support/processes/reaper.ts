import { spawn } from 'node:child_process';

/** Ends a server when this process ends. */
export interface Reaper {
  /** To be called once the server has ended, because its process id may be reused. */
  dismiss(): void;
}

/**
 * Watches over a server while this process lives. A shell reads from a pipe; when this process ends, even by kill -9, the
 * pipe closes and the shell ends the server.
 * @param pid the server.
 * @param signal what ends the server, such as INT.
 * @param folder removed after the server has gone; null to keep everything.
 */
export function startReaper(pid: number, signal: 'INT' | 'QUIT' | 'KILL', folder: string | null): Reaper {
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', String(pid), signal, folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // A separate process group, so that Ctrl-C does not end it.
    detached: true,
  });
  // Neither the shell nor the pipe keeps this process running.
  shell.unref();
  shell.on('error', () => {});
  (shell.stdin as typeof shell.stdin & { unref(): void }).unref();
  shell.stdin.on('error', () => {});
  return { dismiss: () => void shell.kill('SIGKILL') };
}

// The wait is bounded, because in a container without an init process the server stays a zombie.
const script = `
while read -r _; do :; done
kill -"$2" "$1" 2>/dev/null || true
[ -n "$3" ] || exit 0
left=30
while kill -0 "$1" 2>/dev/null && [ "$left" -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
rm -rf -- "$3"
`;
