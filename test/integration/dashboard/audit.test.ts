import { expect, test } from 'vitest';
import { openLog } from '#shared/platform/log.ts';
import { signInMember } from '../../support/dashboard/dashboard-member.ts';
import { useService } from '../../support/use-service.ts';

const logged: string[] = [];
const log = openLog('info', 'test', { write: (line) => logged.push(line) });
const service = useService({ workers: 0, overrides: { log } });

test('logs a refused sign-in with its request id and without the address', async () => {
  const person = await signInMember(service, 'viewer');
  logged.length = 0;
  const page = await person.visitor.signIn(person.email, 'not the password at all');
  expect(page.status).toBe(401);
  const lines = logged.map((line) => JSON.parse(line));
  const refusal = lines.find(({ msg }) => msg === 'attempt refused: wrong');
  expect(refusal).toMatchObject({ level: 40, userId: person.userId, reqId: page.headers['x-request-id'] });
  expect(logged.join('')).not.toContain(person.email);
});
