import { createServer, type Server } from 'node:net';
import pg from 'pg';
import { afterEach, expect, test, vi } from 'vitest';
import { isDatabaseUnavailable, StrictClient } from '#shared/platform/database.ts';
import { freePort } from '../../support/processes/free-port.ts';

let server: Server | null = null;
const uncaught = vi.fn();
process.on('uncaughtException', uncaught);

afterEach(() => {
  server?.close();
  process.off('uncaughtException', uncaught);
});

/** A message as PostgreSQL frames it: a letter, the length with itself, the content. */
function message(letter: string, content: string): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(content.length + 4);
  return Buffer.concat([Buffer.from(letter), length, Buffer.from(content, 'latin1')]);
}

// What a process reads at once that stood still while its connection came up and PostgreSQL went down.
const welcomeAndFarewell = Buffer.concat([
  message('R', '\0\0\0\0'),
  message('Z', 'I'),
  message('E', 'SFATAL\0C57P01\0Mterminating connection due to administrator command\0\0'),
]);

test('fails the statement and not the process when a connection is closed while it is handed out', async () => {
  const port = await freePort();
  server = createServer((socket) => {
    socket.once('data', () => socket.end(welcomeAndFarewell));
  });
  await new Promise<void>((resolve) => server?.listen(port, '127.0.0.1', resolve));
  const pool = new pg.Pool({ host: '127.0.0.1', port, user: 'nobody', Client: StrictClient });
  const client = await pool.connect();
  const failure = await client.query('SELECT 1').then(
    () => null,
    (error: unknown) => error,
  );
  client.release(true);
  await pool.end();
  expect(isDatabaseUnavailable(failure)).toBe(true);
  expect(uncaught).not.toHaveBeenCalled();
});
