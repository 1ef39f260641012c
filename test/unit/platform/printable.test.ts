import { expect, test } from 'vitest';
import { createEndpointSchema } from '#api/operations/webhook-endpoints.ts';
import { checkKeyName } from '#shared/organizations/api-keys.ts';
import { policySchema } from '#shared/policies/policy.ts';
import { checkGivenReason } from '#shared/refunds/decisions/approve.ts';

/** What people name and explain things with. */
const accepts: Record<string, (text: string) => boolean> = {
  'the name of a key': (text) => checkKeyName(text) === null,
  'a reason': (text) => checkGivenReason(text) === null,
  'the name of a policy': (name) => policySchema.shape.name.safeParse(name).success,
  'the description of a webhook endpoint': (description) =>
    createEndpointSchema(false).shape.description.safeParse(description).success,
};

test.each(Object.entries(accepts))(
  '%s takes every script, and no marks that hide or reorder text',
  (_what, isAccepted) => {
    for (const text of ['Rückgabe ✓', 'החזר', '返金 🙂']) expect(isAccepted(text), text).toBe(true);
    for (const mark of [
      '\u0007',
      '\n',
      '\u202e',
      '\u2066',
      '\u200b',
      '\u00ad',
      '\u{e0041}',
      '\ue000',
      '\ud800',
    ]) {
      expect(isAccepted(`a${mark}b`), JSON.stringify(mark)).toBe(false);
    }
  },
);
