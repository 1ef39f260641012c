import { describe, expect, test } from 'vitest';
import { approvalRefusal, type Circumstances, nextApproval } from '#shared/refunds/decisions/four-eyes.ts';

const person = (name: string) => ({ actor: `user:usr_${name}`, person: `user:usr_${name}` });
const ada = person('ada');
const grace = person('grace');
const terminal = { actor: 'cli:root', person: 'cli:root' };
const keyOf = ({ person }: { person: string }, name = 'one') => ({ actor: `key:key_${name}`, person });

const everyone: Circumstances = {
  days: 7,
  invitations: [],
  sameAddress: [],
  approvers: ['user:usr_ada', 'user:usr_other'],
  isRequesterDeleted: false,
};

test.each([
  [
    'a person',
    ada,
    'herself',
    ada,
    'You requested this refund. Ask another member to approve it. You can reject it.',
  ],
  ['a person', ada, 'another person', grace, null],
  [
    'a person',
    ada,
    'a key of hers',
    keyOf(ada),
    'The person behind this API key requested this refund, so someone else must approve it: with a key that another person created, or in the dashboard. This key can reject it.',
  ],
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
  const given = approvalRefusal(requester, approver, everyone);
  if (refusal === null) expect(given).toBeNull();
  else expect(given).toMatch(refusal);
});

describe('with recent invitations,', () => {
  const invited = (...pairs: string[]): Circumstances['invitations'] =>
    pairs.map((pair) => {
      const [inviter, joined] = pair.split(' > ');
      return [`user:usr_${inviter}`, `user:usr_${joined}`, '2026-12-06T12:00:00.000Z'];
    });

  test.each<[pairs: string[], requester: string, approver: string, isRefused: boolean]>([
    [[], 'self', 'ada', false],
    [['ada > self'], 'self', 'ada', true],
    [['ada > self'], 'ada', 'self', true],
    [['ada > self'], 'self', 'grace', false],
    [['ada > self'], 'ada', 'grace', false],
    [['ada > self'], 'grace', 'self', false],
    // An account that invites another one.
    [['ada > self', 'self > third'], 'third', 'ada', true],
    [['ada > self', 'self > third'], 'ada', 'third', true],
    // Two accounts of the same person.
    [['ada > self', 'ada > other'], 'self', 'other', true],
    [['ada > self', 'grace > other'], 'self', 'other', false],
    [['grace > ada', 'grace > grace', 'ada > self'], 'self', 'grace', true],
  ])('%j: what %s requested cannot be approved by %s: %s', (pairs, requester, approver, isRefused) => {
    const circumstances = { ...everyone, invitations: invited(...pairs) };
    const requesters = [person(requester), keyOf(person(requester), 'asking')];
    const approvers = [person(approver), keyOf(person(approver), 'approving')];
    for (const [one, other] of requesters.flatMap((each) => approvers.map((by) => [each, by] as const))) {
      const refusal = approvalRefusal(one, other, circumstances);
      expect(refusal !== null, `${one.actor} ${other.actor}: ${refusal}`).toBe(isRefused);
    }
  });
});

test('what a deleted user requested is approved by no one', () => {
  const circumstances = { ...everyone, isRequesterDeleted: true };
  const refused = 'The user who requested this refund was deleted, so no one can approve it.';
  expect(approvalRefusal(ada, grace, circumstances)).toBe(`${refused} You can reject it.`);
  expect(approvalRefusal(keyOf(ada), keyOf(grace), circumstances)).toBe(`${refused} This key can reject it.`);
});

describe('those who can approve first', () => {
  const now = new Date('2026-12-01T00:00:00.000Z');
  const members = ['ada', 'self', 'third'].map((name) => `user:usr_${name}`);
  const invited = (name: string, endsAt: string) => ['user:usr_ada', `user:usr_${name}`, endsAt] as const;
  const soon = '2026-12-03T00:00:00.000Z';
  const later = '2026-12-05T00:00:00.000Z';
  const among = (approvers: string[], more: Partial<Circumstances> = {}) =>
    nextApproval(ada.person, { ...everyone, approvers, ...more }, now);

  test('can now, when no invitation connects them', () => {
    const invitations = [invited('self', later)];
    expect(among(members, { invitations })).toEqual({ approvers: ['user:usr_third'], from: null });
  });

  test('can from the end of the first invitation on, when all are connected', () => {
    const invitations = [invited('third', later), invited('self', soon)];
    const first = { approvers: ['user:usr_self'], from: new Date(soon) };
    expect(among(members, { invitations })).toEqual(first);
  });

  test('are none, when the requester is alone or was deleted', () => {
    const none = { approvers: [], from: null };
    expect(among([ada.person])).toEqual(none);
    expect(among(members, { isRequesterDeleted: true })).toEqual(none);
    const sameAddress = [['user:usr_ada', 'user:usr_self']] as const;
    expect(among(members.slice(0, 2), { sameAddress })).toEqual(none);
  });
});
