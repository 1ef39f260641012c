import { spawn } from 'node:child_process';

/** Ends a server that must not outlive this process. */
export interface Reaper {
  /** To be called once the server has ended by itself: its process id may soon belong to someone else. */
  dismiss(): void;
}

/**
 * Keeps watch over a server for as long as this process lives. Its other half is a small shell that reads from a pipe;
 * when this process ends, even by kill -9, the system closes the pipe, and the shell ends the server.
 * @param pid the server.
 * @param signal what ends the server, such as INT.
 * @param folder removed after the server has gone; null to keep everything.
 */
export function startReaper(pid: number, signal: 'INT' | 'QUIT' | 'KILL', folder: string | null): Reaper {
  const shell = spawn('/bin/sh', ['-c', script, 'reaper', String(pid), signal, folder ?? ''], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In a process group of its own, so that Ctrl-C in the terminal does not take it along.
    detached: true,
  });
  // Neither the shell nor the pipe keep this process from ending.
  shell.unref();
  shell.on('error', () => {});
  (shell.stdin as typeof shell.stdin & { unref(): void }).unref();
  shell.stdin.on('error', () => {});
  return { dismiss: () => void shell.kill('SIGKILL') };
}

// The wait is bounded: in a container without an init process the server stays behind as a zombie.
const script = `
while read -r _; do :; done
kill -"$2" "$1" 2>/dev/null || true
[ -n "$3" ] || exit 0
left=30
while kill -0 "$1" 2>/dev/null && [ "$left" -gt 0 ]; do sleep 0.1; left=$((left - 1)); done
rm -rf -- "$3"
`;
