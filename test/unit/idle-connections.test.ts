import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, onTestFinished, test } from 'vitest';
import { startProgram } from '../support/processes/child-process.ts';

const files = 200;

const server = `
  import { createBoundedServer } from './api/http/pipelining.ts';
  const server = createBoundedServer((_request, response) => response.end('served'), { keepAliveTimeoutMs: 72_000, idleTimeoutMs: 0 });
  server.listen(0, '127.0.0.1', () => console.log('port ' + server.address().port));
`;

test('a process is reached while more connections are idle than it may open files', async () => {
  const node = [
    `ulimit -n ${files}`,
    `exec "${process.execPath}" --import tsx --input-type=module --eval "$0"`,
  ];
  const program = startProgram('server', 'sh', ['-c', node.join('; '), server]);
  onTestFinished(async () => void (await program.kill9()));
  const [, port] = await program.waitForOutput(/port (\d+)/);
  const open = async () => {
    const socket = connect(Number(port), '127.0.0.1').on('error', () => {});
    onTestFinished(() => void socket.destroy());
    await once(socket, 'connect');
    return socket;
  };
  for (let opened = 0; opened < 2 * files; opened += 1) await open();
  const last = await open();
  last.write('GET / HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n');
  expect(await text(last)).toContain('served');
});
