import { expect, test } from 'vitest';
import { approvalRefusal } from '../../../shared/refunds/decisions/four-eyes.ts';

const ada = { actor: 'user:usr_ada', person: 'user:usr_ada' };
const grace = { actor: 'user:usr_grace', person: 'user:usr_grace' };
const terminal = { actor: 'cli:root', person: 'cli:root' };
const keyOf = ({ person }: { person: string }, name = 'one') => ({ actor: `key:key_${name}`, person });

test.each([
  [
    'a person',
    ada,
    'herself',
    ada,
    'You requested this refund, so someone else must approve it. You can reject it.',
  ],
  ['a person', ada, 'another person', grace, null],
  ['a person', ada, 'a key of hers', keyOf(ada), /^The person behind this API key requested this refund/],
  ['a person', ada, "another person's key", keyOf(grace), null],
  ['a key', keyOf(ada), 'itself', keyOf(ada), /^This API key requested this refund/],
  ['a key', keyOf(ada), 'its creator', ada, /^An API key of yours requested this refund/],
  ['a key', keyOf(ada), 'another key of its creator', keyOf(ada, 'two'), /^The person behind this API key/],
  ['a key', keyOf(ada), 'another person', grace, null],
  ['a key', keyOf(ada), "another person's key", keyOf(grace, 'two'), null],
  ['a key', keyOf(ada), 'the command line', terminal, null],
  ['a key of the command line', keyOf(terminal), 'the command line', terminal, /^An API key of yours/],
  ['the command line', terminal, 'the command line', terminal, /^You requested/],
])('what %s requested is approved by someone else: %s %s', (_who, requester, _by, approver, refusal) => {
  if (refusal === null) expect(approvalRefusal(requester, approver)).toBeNull();
  else expect(approvalRefusal(requester, approver)).toMatch(refusal);
});
