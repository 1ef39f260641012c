// Prints which modules a process has loaded when it begins to listen and when it exits: names of packages, and paths of other files.

import { writeSync } from 'node:fs';
import { Session } from 'node:inspector';
import { Server } from 'node:net';

const loaded = new Set();
const session = new Session();
session.connect();
session.on('Debugger.scriptParsed', ({ params: { url } }) => {
  const [, inPackage] = /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(url) ?? [];
  const [, file] = /\/((?:api|shared|prisma)\/[^?]+)/.exec(url) ?? [];
  const name = inPackage ?? file;
  if (name !== undefined) loaded.add(name);
});
session.post('Debugger.enable');

const print = (when) => writeSync(1, `loaded when it ${when}: ${[...loaded].toSorted().join(' ')}\n`);

process.on('exit', () => print('exits'));

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  print('listens');
  return Reflect.apply(listen, this, args);
};
