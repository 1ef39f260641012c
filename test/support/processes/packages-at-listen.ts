// Loaded into a process before anything else, this writes down which modules are loaded by the time at which the process
// begins to listen: the names of packages, and the paths of files that are no package's.

import { Session } from 'node:inspector';
import { Server } from 'node:net';

const loaded = new Set<string>();
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  const [, inPackage] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  const [, file] = /\/((?:api|shared|prisma)\/[^?]+)/.exec(url) ?? [];
  const name = inPackage ?? file;
  if (name !== undefined) loaded.add(name);
});
session.post('Debugger.enable');

const { listen } = Server.prototype;
Server.prototype.listen = function (this: Server, ...args: unknown[]) {
  process.stdout.write(`loaded when it listens: ${[...loaded].toSorted().join(' ')}\n`);
  return Reflect.apply(listen, this, args);
} as typeof listen;
